"""Reads a grid: YAML with lines, checked blocks, cells."""
