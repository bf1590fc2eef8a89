"""Theory of the same-different task and its networks, lazy and rich."""
