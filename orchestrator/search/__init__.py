"""Thresholds: the statistics of one search, the searches of a sweep, their table."""
