"""Metrics on request at equilibrium: the mean over a few samples of each chain.

A sample's output f is averaged over its readouts if they are integrated out, as in all measures; it is not centred.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from trainables.metrics.base import Probe
from trainables.metrics.measuring import Value, values_at

SAMPLES = 8
"""Samples of each chain on which metrics are measured: far apart in their chain, they tell more than their number of neighbours,
and a metric costs more than an evaluation."""


def chosen(first: int, end: int) -> list[int]:
    """The evaluations to measure at, at most SAMPLES of first, ..., end - 1: evenly spread, the last one among them."""
    n = min(SAMPLES, end - first)
    return [first + (k + 1) * (end - first) // n - 1 for k in range(n)]


@dataclass
class Measured:
    """Metrics of the samples seen so far, by name; it goes into checkpoints."""

    names: tuple[str, ...] = ()
    values: dict[str, list[Value]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """The first error of each metric that failed; it is not measured again."""

    def add(self, probed: Callable[[], Probe]) -> None:
        """Measure the metrics of one sample."""
        values, failures = values_at(probed, [name for name in self.names if name not in self.failures])
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)
        self.failures |= failures

    def means(self, names: Sequence[str]) -> tuple[dict[str, Value], dict[str, str]]:
        """The mean of each of these metrics, and the errors of those that failed."""
        failures = {name: self.failures[name] for name in names if name in self.failures}
        return {name: None if name in failures else mean(self.values.get(name, ())) for name in names}, failures


def mean(values: Sequence[Value]) -> Value:
    """The mean over the samples for which the metric is defined; None if there are none. Of lists the mean of each place, where
    shorter ones end in zeros: the eigenfunctions that they lack are below rounding."""
    numbers = [value for value in values if isinstance(value, float)]
    lists = [np.array(value, np.float64) for value in values if isinstance(value, list)]
    if not lists:
        return float(np.mean(numbers)) if numbers else None
    longest = max(map(len, lists))
    return [float(one) for one in np.mean([np.pad(value, (0, longest - len(value))) for value in lists], axis=0)]
