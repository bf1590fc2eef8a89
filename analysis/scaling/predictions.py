"""Exponents that theories predict for thresholds, as data: each with the networks it is about and its source."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sweepkit.studies.tong25.theory.of_lazy import LAZY
from sweepkit.studies.tong25.theory.of_same_different import RICH

from analysis.overlays.theory import About
from sweepkit.stats import Interval


class Prediction(NamedTuple):
    """`over`* ~ `against`^exponent."""

    over: str
    against: str
    exponent: float
    source: str
    is_bound: bool = False
    """Whether the exponent is an upper bound rather than the value itself."""

    def __str__(self) -> str:
        return f"{'≤ ' if self.is_bound else ''}{self.exponent:g} [{self.source}]"


PREDICTIONS: tuple[tuple[About, Prediction], ...] = (
    (LAZY, Prediction("L", "d", 2.0, "Theorem 2", is_bound=True)),
    (RICH, Prediction("L", "d", 0.0, "Eq. 3")),
)
"""[Tong25]: the lazy error falls as exp(-L/d^2) or faster; the rich accuracy has no d in it. Each with its networks."""


def predicted(over: str, against: str, values: Mapping[str, Any]) -> Prediction | None:
    """The prediction for networks whose keys have these values; None if no theory applies."""
    for about, prediction in PREDICTIONS:
        if (prediction.over, prediction.against) == (over, against) and about.is_one(values):
            return prediction
    return None


def compared(interval: Interval, prediction: Prediction) -> str:
    """A few words that say whether the interval agrees with the prediction."""
    if np.isnan(interval.low) or np.isnan(interval.high):
        return "no interval to compare: more seeds or values are needed"
    low, high, said = interval.low, interval.high, prediction.exponent
    if prediction.is_bound:
        where = "lies within" if high <= said else "lies above" if low > said else "reaches across"
        return f"the interval {where} the bound"
    return "the interval contains the prediction" if low <= said <= high else "the interval does not contain the prediction"
