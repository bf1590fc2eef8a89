"""Compiled loops: numba infers their types, the docstrings give shapes."""
