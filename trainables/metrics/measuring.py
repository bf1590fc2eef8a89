"""Measures the metrics that a grid asked for, on a pack: at each evaluation, and when it is trained."""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from math import isfinite, isnan
from typing import Any, Protocol

import numpy as np

from sweepkit.console.words import in_a_line
from trainables.cell import Cell
from trainables.metrics.base import MOST, Array, Probe, Probed, Requested, requested_metric
from trainables.result import number
from trainables.streams import initial_parameters, stream, stream_owner, tests_of
from trainables.tasks.base import Task


class Measurable(Protocol):
    """A trainer, as measurements see it."""

    def probed(self, c: int) -> Callable[[Array], Probed]:
        """The network of cell c as it is now: its values at inputs that it is called with."""


class Run(Protocol):
    """A pack in training, `trainables.trainers.run.PackRun`, as measurements see it."""

    @property
    def cells(self) -> Sequence[Cell]: ...

    @property
    def step(self) -> int: ...

    @property
    def trainer(self) -> Measurable: ...

    def watched(self, c: int) -> dict[str, tuple[Array, str]]:
        """Metrics of cell c that were measured at each evaluation, and the errors that ended their measurement."""


Value = float | list[float | None] | None
"""A metric's value, or its values per evaluation, eigenfunction or example; None where it is undefined."""


def measured(run: Run, c: int, names: Sequence[str]) -> tuple[dict[str, Value], dict[str, str]]:
    """Values of these metrics of trained cell c, and the errors of those that failed, each by the metric's name.

    They are measured on the test examples of the last step; those of a metric per evaluation were measured at each of them.
    The value is None if the metric is undefined or failed: it raised an exception, or gave a value that is infinite or beyond its
    bounds.
    """
    watched = run.watched(c)
    values, failures = values_of(run, c, [name for name in names if name not in watched])
    for name, (curve, error) in watched.items():
        values[name] = [number(value) for value in curve]
        if error:
            failures[name] = error
    return values, failures


def values_of(run: Run, c: int, names: Sequence[str]) -> tuple[dict[str, Value], dict[str, str]]:
    """Values of these metrics for cell c as it is now, and the errors of those that failed, each by the metric's name."""
    return values_at(lambda: probe_of(run, c), names)


def values_at(probed: Callable[[], Probe], names: Sequence[str]) -> tuple[dict[str, Value], dict[str, str]]:
    """Values of these metrics at a probe, which is made if there are any, and the errors of those that failed."""
    if not names:
        return {}, {}
    values, failures = dict[str, Value](), dict[str, str]()
    try:
        probe = probed()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the network is kept, whatever its features raise
        return dict.fromkeys(names), dict.fromkeys(names, in_a_line(error))
    for name in names:
        asked, values[name] = requested_metric(name), None
        try:
            value = asked.measure(probe)
            if value is None:
                continue
            if asked.metric.per in MOST:
                found = np.asarray(value, float)[: MOST[asked.metric.per]]
                wrong = ~(np.isnan(found) | np.isfinite(found) & asked.allows(found))
                values[name] = [_checked(asked, one) if bad else number(one) for one, bad in zip(found, wrong, strict=True)]
            else:
                values[name] = _checked(asked, value)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the network is kept, whatever a metric raises
            failures[name] = in_a_line(error)
    return values, failures


def _checked(asked: Requested, value: Any) -> float | None:
    """The value as a row holds it, None for NaN. ValueError if it is infinite or beyond the metric's bounds."""
    if isnan(value):
        return None
    if not isfinite(value):
        raise ValueError(f"it gave {value:g}; wanted a finite number, or None where it is undefined")
    if not asked.allows(value):
        raise ValueError(f"it gave {value:g}, which is not between {asked.metric.low:g} and {asked.metric.high:g}")
    return number(value)


def probe_of(run: Run, c: int) -> Probe:
    """The network of cell c of a pack at its probe set, the test examples of the last step."""
    cell = run.cells[c]
    network = cache(partial(run.trainer.probed, c))  # its weights are put together once, if a metric asks
    examples = partial(_test_examples, cell, run.step)
    return Probe(cell, examples, at=lambda x: network()(x), at_start=partial(_features_at_start, cell))


def _test_examples(cell: Cell, step: int) -> tuple[Array, Array]:
    # Outputs of several answers an example are many: an evaluation passes them in parts, a probe has them at once.
    n = cell.test_size if cell.task.n_answers == 1 else min(cell.test_size, cell.batch)
    inputs, targets = _drawn(stream_owner(cell), cell.task, step, n)
    return inputs.copy(), targets.copy()  # a user's metric may change them


@lru_cache(maxsize=1)  # a pack's networks that differ in gamma follow each other, and have the same
def _drawn(owner: str, task: Task, step: int, n: int) -> tuple[Array, Array]:
    return tests_of(owner, task, task.draw_symbols(stream(owner, "symbols")), step, n)


def _features_at_start(cell: Cell, x: Array) -> Array | None:
    from trainables.tensors import features_of  # torch, which the driver of a sweep does without

    return features_of(cell, initial_parameters(cell), x)
