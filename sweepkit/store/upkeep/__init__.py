"""Upkeep of a results directory: check, compact, export, and a summary of its contents."""
