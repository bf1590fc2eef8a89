"""The promises of training: a network's numbers follow from its cell alone, and engines that train it agree.

Tests make them of each engine, network and optimiser; `orchestrator.testing` makes them of a user's own parts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trainables.cell import Cell
from trainables.checking.tensors import one_thread
from trainables.engines import ENGINES, DescentEngine
from trainables.trainers.base import Trainer
from trainables.trainers.run import PackRun

STEPS = 40
"""Most steps that a network is tried for."""
TESTED = 64
"""Most test examples that it is tried on."""
CLOSE = 1e-9
"""Largest difference in numbers of order 1: float64 keeps 16 digits, of which `STEPS` steps of small networks lose fewer than
4, so it leaves room and hides no error."""

Make = Callable[[Sequence[Cell]], Trainer]
Numbers = Mapping[str, Any]
"""The columns of a network's row in the results."""


def shortened(cell: Cell) -> Cell:
    """The cell with `STEPS` steps and two evaluations, in float64, whose rounding hides no error. TypeError for a cell that does
    not learn by gradient descent."""
    training = cell.descent
    half = max(1, min(STEPS, training.steps) // 2)
    changed = {"steps": 2 * half, "eval_every": half, "test_size": min(TESTED, training.test_size), "dtype": "float64"}
    plain = {name: type(training).model_fields[name].default for name in ("eval_at", "final_test_size")}
    return cell.model_copy(update={"training": training.model_copy(update=changed | plain)})


def check_training(cells: Sequence[Cell], make: Make | None = None) -> list[str]:
    """The promises that training these cells breaks, a line each; [] if it keeps them.

    They are shortened and trained as one pack: again, each alone, in another order, interrupted before and after the first
    evaluation.

    Args:
        cells: Networks that learn by gradient descent, of one shape, so that they can share a pack.
        make: Makes the trainer of a pack; by default each engine that trains them on a CPU is tried, and all are compared.

    Example:
        >>> from trainables.cell import cell_of
        >>> from trainables.tasks import SameDifferent
        >>> check_training([cell_of(SameDifferent(L=3, d=4), width=8, gamma=1.0, seed=seed) for seed in range(3)])
        []
    """
    cells = [shortened(cell) for cell in cells]
    engines = {e.name: e.trainer for e in ENGINES.values() if isinstance(e, DescentEngine) and all(map(e.trains, cells))}
    found, first = list[str](), dict[str, list[Numbers]]()
    with one_thread():
        for name, maker in (engines if make is None else {"": make}).items():
            numbers = _trained(maker, cells)
            for words, theirs, most in _tries(maker, cells):
                found += _differ(f"{name} {words}".strip(), numbers, theirs, most)
            for other, theirs in first.items():
                found += _differ(f"{name} and {other}", numbers, theirs)
            first = first or {name: numbers}
    return found


def _tries(make: Make, cells: Sequence[Cell]) -> list[tuple[str, list[Numbers], float]]:
    before, between = cells[0].eval_every // 3, cells[0].eval_every + cells[0].eval_every // 3
    return [
        ("again", _trained(make, cells), 0.0),
        ("each alone", [_trained(make, [cell])[0] for cell in cells], CLOSE),
        ("in another order", _trained(make, cells[::-1])[::-1], CLOSE),
        ("interrupted", _resumed(make, cells, before), CLOSE),
        ("interrupted later", _resumed(make, cells, between), CLOSE),
    ]


def _trained(make: Make, cells: Sequence[Cell]) -> list[Numbers]:
    run = PackRun(cells, make(cells))
    run.advance(float("inf"))
    return _numbers(run)


def _resumed(make: Make, cells: Sequence[Cell], step: int) -> list[Numbers]:
    """Stopped after this step, and taken up by another trainer."""
    first, second = (PackRun(cells, make(cells)) for _ in range(2))
    while first.step < step:
        first._train(step - first.step)
    second.load(first.state())
    second.advance(float("inf"))
    return _numbers(second)


def _numbers(run: PackRun) -> list[Numbers]:
    rows = [result.summary() | result.lists({"curves", "neurons"}) for result in run.results()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def _differ(words: str, ours: Sequence[Numbers], theirs: Sequence[Numbers], most: float = CLOSE) -> list[str]:
    """A line for the first number in which a network differs."""
    for c, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        for name in sorted(one.keys() | other.keys()):
            a, b = one.get(name), other.get(name)
            if not _apart(a, b) <= most:
                return [f"{words}: network {c + 1} has {name} {_short(b)} instead of {_short(a)}"]
    return []


def _apart(a: Any, b: Any) -> float:
    """The largest difference, relative for numbers above 1; infinite between words, and between something and nothing."""
    if a == b:
        return 0.0
    try:
        x, y = (np.asarray(value, np.float64) for value in (a, b))
        if x.shape != y.shape or (np.isnan(x) != np.isnan(y)).any():
            return np.inf
        return float(np.nanmax(np.abs(x - y) / np.maximum(1, np.abs(y)), initial=0))
    except (TypeError, ValueError):
        return np.inf


def _short(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)[:60]
