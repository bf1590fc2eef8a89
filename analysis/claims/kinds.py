"""Kinds of measurement that analysis/claims.yaml may name."""

from collections.abc import Callable

from analysis.claims.equilibrium import (
    exponent_beside_bound,
    layer_beside_energy,
    magnitude_beside_one_neuron,
    specialised_beside_bound,
    threshold_beside_bound,
)
from analysis.claims.measuring import beside_theory, error_beside_theory, mean, slope, threshold_exponent, threshold_ratio
from analysis.claims.pairs import difference, largest_difference
from analysis.claims.pictured import extremes
from analysis.claims.simulated import SIMULATED
from analysis.claims.verdict import Measured, NotMeasured

_FROM_NETWORKS: tuple[Callable[..., Measured | NotMeasured], ...] = (
    mean, slope, difference, largest_difference, beside_theory, error_beside_theory, threshold_ratio, threshold_exponent,
    exponent_beside_bound, specialised_beside_bound, threshold_beside_bound, layer_beside_energy,
    magnitude_beside_one_neuron, extremes,
)  # fmt: skip

KINDS = {function.__name__: function for function in _FROM_NETWORKS} | SIMULATED
"""The functions that measure, by name."""
