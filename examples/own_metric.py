"""A user's own metric. Its grid has `metrics: [own_metric.py]` and `save: [sparsity]`."""

from trainables.metrics import Probe, metric


@metric(title="share of inactive neurons", low=0, high=1)
def sparsity(probe: Probe) -> float | None:
    """Share of the last hidden layer's activations that are 0, at fresh test examples."""
    return None if probe.features is None else float((probe.features == 0).mean())
