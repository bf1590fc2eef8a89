"""Measures the metrics that a grid asked for, on a trained pack."""

from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING

from trainables.metrics.base import Probe, requested_metric
from trainables.result import number
from trainables.streams import stream, stream_owner

if TYPE_CHECKING:
    from trainables.trainers.run import PackRun


def measured(run: "PackRun", c: int, names: Iterable[str]) -> dict[str, float | None]:
    """Values of these metrics for cell c, on the test examples of its last step; None where a metric is undefined."""
    probe = probe_of(run, c)
    found = {name: requested_metric(name).measure(probe) for name in names}
    return {name: None if value is None or not isfinite(value) else number(value) for name, value in found.items()}


def probe_of(run: "PackRun", c: int) -> Probe:
    """The network of cell c of a pack at its probe set, the test examples of the last step."""
    cell = run.cells[c]
    owner = stream_owner(cell)
    symbols = cell.task.draw_symbols(stream(owner, "symbols"))
    inputs, targets = cell.task.test_examples(stream(owner, "test", run.step), symbols, cell.test_size)
    seen = run.engine.probed(c, inputs)
    return Probe(cell, inputs, targets, seen.outputs, seen.features, seen.parameters)
