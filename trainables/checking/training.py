"""The promises of training: a network's numbers follow from its cell alone, and engines that train it agree.

Tests make them of each engine, network and optimiser; `orchestrator.testing` makes them of a user's own parts.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from trainables.cell import Cell
from trainables.checking.tensors import one_thread
from trainables.engines import ENGINES, DescentEngine
from trainables.trainers.base import Trainer
from trainables.trainers.run import PackRun

STEPS = 40
"""Most steps that a network is tried for."""
EXAMPLES = 64
"""Most examples of a batch and of a test that it is tried on."""
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
    changed = {"steps": 2 * half, "eval_every": half, "test_size": min(EXAMPLES, training.test_size), "dtype": "float64"}
    if isinstance(batch := getattr(training, "batch", None), int) and batch > EXAMPLES:
        changed["batch"] = EXAMPLES
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
            of = f" (engine {name})" if name else ""
            tried = ((how, _differ(numbers, theirs(), most)) for how, theirs, most in _tries(maker, cells))
            found += islice((f"{how}, {said}{of}" for how, said in tried if said), 1)  # one fault shows in all
            for other, theirs in first.items():
                if said := _differ(numbers, theirs, CLOSE):
                    found.append(f"trained by engine {name} and by {other}, {said}")
            first = first or {name: numbers}
    return found


def _tries(make: Make, cells: Sequence[Cell]) -> list[tuple[str, Callable[[], list[Numbers]], float]]:
    before, between = cells[0].eval_every // 3, cells[0].eval_every + cells[0].eval_every // 3
    return [
        ("trained twice", lambda: _trained(make, cells), 0.0),
        ("trained in a pack and alone", lambda: [_trained(make, [cell])[0] for cell in cells], CLOSE),
        ("trained in a pack and in another order", lambda: _trained(make, cells[::-1])[::-1], CLOSE),
        ("trained in one go and interrupted", lambda: _resumed(make, cells, before), CLOSE),
        ("trained in one go and interrupted after an evaluation", lambda: _resumed(make, cells, between), CLOSE),
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


def _differ(ours: Sequence[Numbers], theirs: Sequence[Numbers], most: float) -> str:
    """The first number in which a network differs by more; empty if there is none."""
    for c, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        for name in sorted(one.keys() | other.keys()):
            a, b = one.get(name), other.get(name)
            pairs = list(zip(a, b, strict=True)) if isinstance(a, list) and isinstance(b, list) and len(a) == len(b) else [(a, b)]
            for k, (x, y) in enumerate(pairs):
                if not _apart(x, y) <= most:
                    place = f"[{k}]" if len(pairs) > 1 else ""
                    return f"network {c + 1} of {len(ours)} has {name}{place} {_short(x)} and {_short(y)}"
    return ""


def _apart(a: Any, b: Any) -> float:
    """The difference of two numbers, relative above 1; infinite between words, and between something and nothing."""
    if a == b:
        return 0.0
    if not (isinstance(a, float) and isinstance(b, float)):
        return np.inf
    if np.isnan(a) and np.isnan(b):
        return 0.0
    return abs(a - b) / max(1.0, abs(b))


def _short(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)[:60]
