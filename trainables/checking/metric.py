"""Check of a metric before anything trains: it gives a number within its bounds, and the same number again."""

import numbers
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from trainables.cell import Cell
from trainables.checking.part import Checked, Finding, Wrong, collected
from trainables.checking.task import N
from trainables.checking.tensors import noise, one_thread
from trainables.checking.values import fresh_generator, reseeded, same, shown
from trainables.metrics import Probe, Requested
from trainables.metrics.base import MOST, Probed
from trainables.tasks.base import Array
from trainables.tensors import as_inputs, as_tensors, features_of, settled


def check_metric(asked: Requested, cell: Cell) -> list[Finding]:
    """Findings on the metric's value for the cell's network near initialisation. Task and network must have passed their
    checks."""
    with one_thread():
        return collected(_of_metric(asked, cell))


def _of_metric(asked: Requested, cell: Cell) -> Iterator[Finding]:
    part = Checked(f"metric {asked.name}", asked.measure)
    failing = f"cannot be tried, as network {cell.network.name} fails"  # its check saw other seeds and settings
    probe = part.call("", lambda: _probe(cell), failing)
    before = part.call("", lambda: _copied(probe), failing)
    with reseeded(1):
        value = part.call("", lambda: asked.measure(probe))
    if not same(before, _copied(probe)):
        raise Wrong(part.finding("", "changed the probe's arrays in place; wanted a copy to be changed"))
    with reseeded(2):
        again = part.call("", lambda: asked.measure(probe))
    is_list = asked.metric.per in MOST
    if value is not None and not (_are_numbers(value) if is_list else isinstance(value, numbers.Real | np.bool_)):
        wanted = "an array (k,) of numbers" if is_list else "a number"
        raise Wrong(part.finding("", f"gave {shown(value)}; wanted {wanted}, or None where it is undefined"))
    if not same(value, again):
        hint = "it may use no random numbers but those of a generator of its own with a fixed seed"
        yield part.finding("", f"gave {shown(value)} and then {shown(again)} for the same network; wanted one value: {hint}")
    low, high = asked.metric.low, asked.metric.high
    values = [] if value is None else [float(one) for one in np.atleast_1d(value)]
    if any(np.isfinite(one) and not asked.allows(one) for one in values):
        yield part.finding("", f"gave {shown(value)}; wanted a number between its low = {low:g} and high = {high:g}")


def _are_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and np.issubdtype(value.dtype, np.number)


def _probe(cell: Cell) -> Probe:
    """A probe of the cell's network with perturbed weights, because at the initial weights a centred output is 0."""
    network, task = cell.network, cell.task
    inputs, targets = task.test_examples(fresh_generator(), task.draw_symbols(fresh_generator()), N)
    initial = network.init(fresh_generator(), cell)
    start = as_tensors(cell, initial)
    theta = {name: value + 0.1 * noise(value, 1) for name, value in start.items()}
    parameters = {name: value.numpy() for name, value in theta.items()}

    def at(x: Array) -> Probed:
        seen = as_inputs(cell, x)
        with torch.no_grad():
            f = network.apply(settled(cell, theta), seen, cell)
            if network.is_centred:
                f = f - network.apply(start, seen, cell)
        return Probed((f / cell.epsilon).numpy(), features_of(cell, parameters, x), parameters)

    return Probe(cell, lambda: (inputs, targets), at, at_start=partial(features_of, cell, initial))


def _copied(probe: Probe) -> list[Any]:
    arrays = [probe.inputs, probe.targets, probe.outputs, probe.features, *probe.parameters.values()]
    return [None if a is None else a.copy() for a in arrays]
