"""The metrics that a grid may ask for by `save:`. Adding one: a file of its own here, and its name in the line below."""

from trainables.metrics.base import Probe, Requested, metric, register, requested_metric, requested_names
from trainables.metrics.participation import participation

_metrics: tuple[Requested, ...] = (participation,)
for _metric in _metrics:
    register(_metric)

__all__ = ["Probe", "Requested", "metric", "register", "requested_metric", "requested_names"]
