"""Sweeps from Python: what a notebook calls, the process that trains for it, and what it gets back."""
