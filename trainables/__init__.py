"""What is trained: tasks, networks, engines and random streams. Cheap to import: torch and numba load with an engine."""
