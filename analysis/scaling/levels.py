"""The level at which to look for thresholds of a measure: that of the search for the networks, if they show one.

The store keeps the networks that a sweep asked for, not the `find` that asked for them. But a search leaves its mark: its values
of x, the rungs, lie close together about the threshold and far apart elsewhere.

gap    distance in log x of the two points of a curve between which its means reach a level
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.paper import LEVEL
from analysis.data.points import counted, least_accuracy
from analysis.data.source import ResultsError
from analysis.scaling.bound import ONSET
from analysis.scaling.thresholds import curves_of
from console.words import show
from declarations.metric import Metric

SEARCHED = 1 / 3
"""Largest gap that shows a search, as a share of its curve's widest gap. In a grid that is even on a log axis all gaps are alike,
or one is twice another where a value was left out."""
NEAR = 1.25
"""Levels with gaps of up to this many times the narrowest count as equally good: the search's own lies between the means of two
rungs."""
_USUAL = {"alignment_f": ONSET, "final_test_auc": 0.95}
"""Usual levels by measure. Normal outputs of AUC 0.95 have accuracy 0.88 at the best threshold."""


def usual_level(measure: Metric) -> float:
    """The level at which figures draw thresholds of a measure: the paper's for accuracies, NaN if there is none."""
    return LEVEL if measure.is_accuracy else _USUAL.get(measure.name, np.nan)


def check_level(level: Any, measure: Metric) -> None:
    """ResultsError if a measure cannot cross this level."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number):
        raise ResultsError(f"at = {show(level)}: must be a number")
    if not measure.low <= level <= measure.high:
        raise ResultsError(f"at = {level:g}: {measure.name} lies between {measure.low:g} and {measure.high:g}")


class Levels(NamedTuple):
    """Levels of a measure, from `low` to `high` in steps; the level to start at, and why there."""

    low: float
    high: float
    step: float
    start: float
    why: str
    searched: bool = False
    """True if the networks lie as a search for thresholds leaves them."""


def levels(points: pd.DataFrame, measure: Metric, over: str) -> Levels:
    """The levels for the curves over `over` in a frame of `Points`; accuracies start at the paper's level unless a search shows
    another."""
    if points.empty:
        return Levels(0.0, 1.0, 0.01, LEVEL, "nothing was measured")
    low, high, step = _range(points, measure)
    tried = np.round(np.arange(round(low / step), round(high / step) + 1) * step, 10)
    gaps = [_gaps(curve, tried, over, measure.falls) for _, curve in curves_of(points, over)]
    # It is taken if it is nearly as good as any: rungs about a threshold are noisy.
    usual = np.isclose(tried, usual_level(measure))
    crossed = np.array([np.isfinite(gap) for gap in gaps]).reshape(len(gaps), len(tried)).sum(axis=0)
    most = int(crossed.max(initial=0))
    many = f"{most} of {counted(len(gaps), 'curve')}"
    if most:
        middle = np.median([np.minimum(gap, 1.0) for gap in gaps], axis=0)
        narrow = middle <= min(middle.min() * NEAR, SEARCHED)
        if narrow.any():
            why = "networks lie closest together about it, as a search leaves them"
            if (usual & (middle <= min(middle.min() * NEAR**3, SEARCHED))).any():
                return Levels(low, high, step, float(tried[usual][0]), why, True)
            return Levels(low, high, step, _roundest(tried[narrow & (crossed == crossed[narrow].max())]), why, True)
    if measure.is_accuracy:
        return Levels(low, high, step, LEVEL, "the paper's")
    if not most:
        return Levels(
            low, high, step, float(tried[len(tried) // 2]), "the middle of the measured range, as no curve crosses any level"
        )
    best = tried[(crossed == most) & usual] if (usual & (crossed == most)).any() else tried[crossed == most]
    return Levels(low, high, step, _roundest(best), f"{many} cross it, as many as cross any level")


def _range(points: pd.DataFrame, measure: Metric) -> tuple[float, float, float]:
    if measure.is_accuracy:
        return float(np.floor(100 * least_accuracy(points)) / 100), 1.0, 0.01
    least, most = float(points["mean"].min()), float(points["mean"].max())
    step = 10.0 ** np.floor(np.log10((most - least) or abs(most) or 1.0) - 1.5)  # 30 to 300 steps
    low, high = (round(float(end), 10) for end in (np.floor(least / step) * step, np.ceil(most / step) * step))
    return low, high if high > low else low + step, float(step)


def _gaps(curve: pd.DataFrame, tried: "np.ndarray[tuple[int], np.dtype[np.float64]]", over: str, falling: bool) -> np.ndarray:
    """The curve's gap at each level, as a share of its widest gap; infinite if the curve does not cross the level.

    The means are taken as rising: a mean below an earlier one is lifted to it.
    """
    curve = curve.sort_values(over)
    x, y = np.log(curve[over].to_numpy(float)), curve["mean"].to_numpy(float) * (-1 if falling else 1)
    right = np.searchsorted(np.maximum.accumulate(y), tried * (-1 if falling else 1))
    inside = (right > 0) & (right < len(x))
    gap = np.diff(x)
    return np.where(inside, gap[np.clip(right - 1, 0, len(gap) - 1)] / gap.max(), np.inf)


def _roundest(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    """The level with the fewest digits; of several, the one nearest to their middle."""
    middle = float(np.median(values))
    return float(min(values, key=lambda v: (len(f"{v:g}".rstrip("0")), abs(v - middle))))
