"""A user's own parts: the files that a grid lists, what is checked of them, and the parts that blocks may name."""
