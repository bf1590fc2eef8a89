"""Measures the metrics that a grid asked for, on a trained pack."""

from collections.abc import Sequence
from functools import partial
from math import isfinite, isnan
from typing import TYPE_CHECKING

from console.words import in_a_line
from trainables.cell import Cell
from trainables.metrics.base import Array, Probe, requested_metric
from trainables.result import number
from trainables.streams import stream, stream_owner

if TYPE_CHECKING:
    from trainables.trainers.run import PackRun


def measured(run: "PackRun", c: int, names: Sequence[str]) -> tuple[dict[str, float | None], dict[str, str]]:
    """Values of these metrics for cell c, on the test examples of its last step, and the errors of those that failed.

    The value is None if the metric is undefined or failed: it raised an exception, or gave a value that is infinite or beyond its
    bounds.
    """
    values, failures = dict[str, float | None](), dict[str, str]()
    try:
        probe = probe_of(run, c)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the network is kept, whatever its features raise
        return dict.fromkeys(names), dict.fromkeys(names, in_a_line(error))
    for name in names:
        asked, values[name] = requested_metric(name), None
        try:
            value = asked.measure(probe)
            if value is not None and not isnan(value):
                if not isfinite(value):
                    raise ValueError(f"it gave {value:g}; wanted a finite number, or None where it is undefined")
                if not asked.allows(value):
                    raise ValueError(f"it gave {value:g}, which is not between {asked.metric.low:g} and {asked.metric.high:g}")
                values[name] = number(value)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the network is kept, whatever a metric raises
            failures[name] = in_a_line(error)
    return values, failures


def probe_of(run: "PackRun", c: int) -> Probe:
    """The network of cell c of a pack at its probe set, the test examples of the last step."""
    cell = run.cells[c]
    owner = stream_owner(cell)
    symbols = cell.task.draw_symbols(stream(owner, "symbols"))
    inputs, targets = cell.task.test_examples(stream(owner, "test", run.step), symbols, cell.test_size)
    seen = run.trainer.probed(c, inputs)
    return Probe(
        cell, inputs, targets, seen.outputs, seen.features, seen.parameters,
        at=partial(run.trainer.probed, c), at_start=partial(_features_at_start, cell),
    )  # fmt: skip


def _features_at_start(cell: Cell, x: Array) -> Array | None:
    from trainables.tensors import features_of  # torch, which the driver of a sweep does without

    return features_of(cell, cell.network.init(stream(stream_owner(cell), "weights"), cell), x)
