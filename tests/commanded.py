"""The grid of a sweep that a text names, such as a line of evidence/sweeps.txt or a command that a page shows."""

from itertools import pairwise
from pathlib import Path

from orchestrator.grid.load import Grid, load_grid
from sweepkit.shipped import grid_file

ROOT = Path(__file__).parents[1]


def grid_of(words: list[str]) -> Grid:
    """The grid of `some_grid key=values ... --only key=values ...`."""
    grid, *rest = words
    only = [after for word, after in pairwise(rest) if word == "--only"]
    return load_grid(grid_file(grid) or ROOT / grid, [word for word in rest if word != "--only" and word not in only], only=only)
