"""Training of cells: tasks, networks, trainings, engines, streams. Cheap to import: torch and numba load with an engine."""
