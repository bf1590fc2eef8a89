"""Tests of one's own tasks, networks and metrics, in pytest or anywhere: `from orchestrator.testing import check_grid`."""

from orchestrator.grid.load import Grid
from orchestrator.plan.checks import check_own_parts
from orchestrator.python.calls import Gridlike


def check_grid(grid: Gridlike) -> None:
    """Check a grid's own parts as a sweep does before it starts; then train, for some steps each, a network of each pair of task
    and network, and see whether its numbers follow from its parameters alone: again, alone and in a pack, in another
    order, interrupted, and by each engine that trains it.

    Networks that do not learn by gradient descent are checked as before a sweep, and not trained. Nothing is stored.

    Args:
        grid: A Grid, or the path, the text or the dictionary of one; sizes as small as you like, for it trains on the CPU.

    Raises:
        GridError: A part is wrong: what it returned, and what is wanted.
        AssertionError: A network's numbers depend on more than its parameters, with the first number that differs.

    Example:
        >>> check_grid("examples/parity_grid.yaml")
    """
    from trainables.checking.training import check_training
    from trainables.training import Descent

    made = grid if isinstance(grid, Grid) else Grid.load(grid)
    check_own_parts(made, range(len(made.cells)))
    tried = {
        (type(p.cell.task), type(p.cell.network)): p.cell for p in reversed(made.cells) if isinstance(p.cell.training, Descent)
    }
    broken = [
        f"{cell.describe()}: {line}"
        for cell in tried.values()
        for line in check_training([cell.model_copy(update={"seed": cell.seed + k}) for k in range(3)])
    ]
    assert not broken, "\n".join(broken)
