"""Intervals over seeds, thresholds, exponents and collapses, with their uncertainty.

Importing this stays fast: scipy.optimize takes half a second and is imported where it is used.
"""

from sweepkit.stats.collapse import BestExponent, Collapse, Curve, best_exponent, collapse
from sweepkit.stats.fits import (
    FEWEST_OF_LAW,
    Line,
    PowerLaw,
    ThresholdExponent,
    by_decades,
    exponent_of_thresholds,
    linear_fit,
    local_slopes,
    power_law,
)
from sweepkit.stats.intervals import (
    FEW,
    LEAST_APART,
    LEAST_MEDIAN,
    LEAST_NETWORKS,
    Interval,
    after_looks,
    bootstrap_interval,
    jackknife_interval,
    least_equal,
    mean_interval,
    mean_intervals,
    median_interval,
    t_intervals,
    ties_of_shares,
)
from sweepkit.stats.thresholds import Threshold, clear_rise, deciding, threshold, threshold_interval, threshold_of_means

__all__ = [
    "FEW",
    "FEWEST_OF_LAW",
    "LEAST_APART",
    "LEAST_MEDIAN",
    "LEAST_NETWORKS",
    "BestExponent",
    "Collapse",
    "Curve",
    "Interval",
    "Line",
    "PowerLaw",
    "Threshold",
    "ThresholdExponent",
    "after_looks",
    "best_exponent",
    "bootstrap_interval",
    "by_decades",
    "clear_rise",
    "collapse",
    "deciding",
    "exponent_of_thresholds",
    "jackknife_interval",
    "least_equal",
    "linear_fit",
    "local_slopes",
    "mean_interval",
    "mean_intervals",
    "median_interval",
    "power_law",
    "t_intervals",
    "threshold",
    "threshold_interval",
    "threshold_of_means",
    "ties_of_shares",
]
