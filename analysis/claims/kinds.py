"""Kinds of measurement that analysis/claims.yaml may name."""

from collections.abc import Callable

from analysis.claims.equilibrium import exponent_beside_bound, magnitude_beside_one_neuron, specialised_beside_bound
from analysis.claims.measuring import beside_theory, difference, mean, slope, threshold_exponent, threshold_ratio
from analysis.claims.simulated import SIMULATED
from analysis.claims.verdict import Measured, NotMeasured

_FROM_NETWORKS: tuple[Callable[..., Measured | NotMeasured], ...] = (
    mean, slope, difference, beside_theory, threshold_ratio, threshold_exponent, exponent_beside_bound, specialised_beside_bound,
    magnitude_beside_one_neuron,
)  # fmt: skip


def not_sampled(results: str, why: str) -> NotMeasured:
    """No measurement, as no engine trains networks of this kind. The claim is listed all the same, so that readers miss
    nothing."""
    return NotMeasured(why)


KINDS = {function.__name__: function for function in (*_FROM_NETWORKS, not_sampled)} | SIMULATED
"""The functions that measure, by name."""
