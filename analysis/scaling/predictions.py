"""Exponents that theories predict for thresholds, as the studies list them, and theories of thresholds without an exponent."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.studies.gathered import Gathered
from analysis.studies.loading import of_each, part
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


class AtSizes(NamedTuple):
    """A theory of thresholds without an exponent of its own: it gives the threshold of networks of exactly these sizes."""

    meaning: str
    """Words that explain it, for captions."""
    unit: str
    """Name of the unit in which curves collapse by it."""
    applies: Callable[[pd.DataFrame, str, str], bool]
    """True if it is about all networks of a frame of points, for this measure over this key."""
    thresholds: Callable[[pd.DataFrame, float], "pd.Series[float]"]
    """The threshold at a level for the sizes of each row."""
    lines: Callable[[pd.DataFrame, str, str, str, str | None], pd.DataFrame | None]
    """The lines beside `scaling.thresholds` of several sizes, for `threshold_panel`: from the frame, the measure, `over`,
    `against` and `by`; None if it applies to none of them."""
    slopes: Callable[[pd.DataFrame, str, str, str, str | None, tuple[float, float]], dict[Any, "Prediction"]]
    """By the values of `by`, the exponents of these lines within two values of `against`."""


def _all() -> dict[str, list[Any]]:
    modules = [module for _, module in of_each(lambda study: part(study.folder, "predictions"))]
    return {name: [one for module in modules for one in getattr(module, name, ())] for name in ("PREDICTIONS", "AT_SIZES")}


_LISTED = Gathered(_all)
"""All that the studies list under these names in their modules `predictions`."""


def predicted(over: str, against: str, values: Mapping[str, Any]) -> Prediction | None:
    """The prediction for networks whose keys have these values; None if no theory applies."""
    for about, prediction in _LISTED["PREDICTIONS"]:
        if (prediction.over, prediction.against) == (over, against) and about.is_one(values):
            return prediction
    return None


def at_sizes(frame: pd.DataFrame, measure: str, over: str) -> AtSizes | None:
    """The theory of thresholds that applies to the networks of a frame of points; None if there is none."""
    return next((one for one in theories_at_sizes() if one.applies(frame, measure, over)), None)


def theories_at_sizes() -> list[AtSizes]:
    """The theories of thresholds, `AT_SIZES` of the modules `predictions` of studies."""
    return _LISTED["AT_SIZES"]


def compared(interval: Interval, prediction: Prediction) -> str:
    """A few words that say whether the interval agrees with the prediction."""
    if np.isnan(interval.low) or np.isnan(interval.high):
        return "no interval to compare: more seeds or values are needed"
    low, high, said = interval.low, interval.high, prediction.exponent
    if prediction.is_bound:
        where = "lies within" if high <= said else "lies above" if low > said else "reaches across"
        return f"the interval {where} the bound"
    return "the interval contains the prediction" if low <= said <= high else "the interval does not contain the prediction"
