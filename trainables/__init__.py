"""Training of single cells: tasks, networks, trainings, engines, random streams. Cheap to import: torch and numba load with an
engine."""
