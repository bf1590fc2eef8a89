"""Tests of one's own parts of grids, in pytest or anywhere: `from orchestrator.testing import check_grid`."""

import warnings
from collections.abc import Hashable

from orchestrator.grid.load import Grid
from orchestrator.plan.checks import check_own_parts, first_of_each
from orchestrator.python.calls import Gridlike
from trainables.cell import Cell
from trainables.training import Descent

SEEDS = 3
"""Networks of each setting."""


def check_grid(grid: Gridlike) -> None:
    """Check a grid's own parts as a sweep does before it starts; then train some of its networks for a few steps, and see whether
    their results follow from their keys and seeds alone: trained again, alone and in a pack, in another order, interrupted, and
    by each engine that trains them.

    Networks that do not learn by gradient descent are checked as before a sweep, and not trained. Of the others one is tried of
    each combination of parts, words and switches, or some of them if they are many. They train on the CPU in float64, so they
    must compute in the precision of their inputs. Nothing is stored.

    Args:
        grid: A Grid, or the path, the text or the dictionary of one. Sizes that a laptop trains in seconds are enough.

    Raises:
        GridError: A part is wrong: what it returned, and what is wanted.
        AssertionError: A result depends on something else, with the first number that differs; or a network does not compute in
            float64.

    Example:
        >>> check_grid("examples/parity_grid.yaml")
    """
    from trainables.checking.network import check_network
    from trainables.checking.optimiser import check_optimiser
    from trainables.checking.training import check_training, shortened

    made = grid if isinstance(grid, Grid) else Grid.load(grid)
    for line in check_own_parts(made, range(len(made.cells))):
        warnings.warn(line, stacklevel=2)
    broken = []
    for cell in first_of_each((p for p in made.cells if isinstance(p.cell.training, Descent)), _setting):
        tried = shortened(cell)
        told = [finding.message for finding in check_network(tried) + check_optimiser(tried) if finding.is_wrong]
        try:
            told = told or check_training([cell.model_copy(update={"seed": cell.seed + k}) for k in range(SEEDS)])
        except Exception as error:
            error.add_note(f"while {cell.describe()} was trained for a few steps")
            raise
        broken += [f"{cell.describe()}: {line}" for line in told]
    if broken:
        raise AssertionError("\n".join(broken))


def _setting(cell: Cell) -> Hashable:
    """The cell's parts, and those of its keys that are words or switches: numbers are more of the same."""
    return *map(type, cell.parts), tuple((k, v) for k, v in cell.keys().items() if isinstance(v, str | bool))
