"""Closed forms of the distance of a network from rich learning."""
