"""The language of a grid: YAML with its lines, axes, conditions, overrides, and the report of everything that is wrong."""
