"""Intervals over seeds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit  # scipy.stats would take a second to import


class Interval(NamedTuple):
    """Mean of n values and its 95% interval; the bounds are NaN for n = 1."""

    mean: float
    low: float
    high: float
    n: int


def mean_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Mean with Student's t interval, which is honest at the few seeds of a sweep; ValueError without values."""
    x = np.asarray(values, dtype=float)
    if len(x) == 0:
        raise ValueError("no values to average")
    mean = float(x.mean())
    if len(x) == 1:
        return Interval(mean, np.nan, np.nan, 1)
    half = float(stdtrit(len(x) - 1, 0.5 + level / 2) * x.std(ddof=1) / np.sqrt(len(x)))
    return Interval(mean, mean - half, mean + half, len(x))
