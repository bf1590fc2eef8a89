"""Searches for thresholds: the statistics of one search, the searches of a sweep, and their table."""
