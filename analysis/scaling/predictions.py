"""Exponents that theories predict for thresholds, as data: each with the networks it is about and its source."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from analysis.data.parts import parts_of
from stats import Interval

Values = Mapping[str, Any]


class Prediction(NamedTuple):
    """`over`* ~ `against`^exponent for networks whose keys have the values `of`."""

    over: str
    against: str
    exponent: float
    source: str
    of: Values
    """A value, several, or a range {at_least, at_most} for each key; a network that lacks one of the keys is excluded."""
    is_bound: bool = False
    """Whether the exponent is an upper bound rather than the value itself."""

    def __str__(self) -> str:
        return f"{'≤ ' if self.is_bound else ''}{self.exponent:g} [{self.source}]"


_SPOKEN_OF = {"task": "same_different", "network": "relu2", "training": "sgd", "sigma2": 0, "prefactor": "sqrt_d"}

PREDICTIONS = (
    Prediction("L", "d", 2.0, "Theorem 2", _SPOKEN_OF | {"gamma_label": "lazy"}, is_bound=True),
    Prediction("L", "d", 0.0, "Eq. 3", _SPOKEN_OF | {"gamma": {"at_least": 1}}),
)
"""[Tong25]: the lazy error falls as exp(-L/d^2) or faster; the rich accuracy has no d in it."""


def predicted(over: str, against: str, values: Values, predictions: Iterable[Prediction] = PREDICTIONS) -> Prediction | None:
    """The prediction for networks whose keys have these values; None if no theory applies."""
    values = parts_of(values)
    for prediction in predictions:
        if (prediction.over, prediction.against) == (over, against) and all(
            key in values and _fits(values[key], wanted) for key, wanted in prediction.of.items()
        ):
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
    return "the interval holds the prediction" if low <= said <= high else "the interval does not hold the prediction"


def _fits(value: Any, wanted: Any) -> bool:
    if value is None:
        return False
    if isinstance(wanted, Mapping):
        return bool(wanted.get("at_least", -float("inf")) <= value <= wanted.get("at_most", float("inf")))
    return bool(value in wanted if isinstance(wanted, list | tuple) else value == wanted)
