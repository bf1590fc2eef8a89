"""All theories that can be set beside a measured point: a new one is a file of `analysis/theory` and its line here."""

from analysis.overlays import of_lazy, of_same_different

THEORIES = (
    *of_same_different.THEORIES,
    *of_lazy.THEORIES,
)
"""In the order in which legends list them."""
