"""What is trained: tasks, networks, engines and random streams. Importing the package is cheap: torch and numba load with an engine."""
