"""The level at which to look for thresholds of a measure: that of a sweep's search, the usual one, or one that curves cross."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.points import least_accuracy
from analysis.data.source import ResultsError
from analysis.data.usual import LEVEL
from analysis.scaling.thresholds import curves_of, falls_along
from analysis.studies.gathered import Gathered
from analysis.studies.loading import studies
from sweepkit.console.words import counted, show
from sweepkit.declarations.columns import Metric
from sweepkit.store.searches import Question

_AUC = {"final_test_auc": 0.95}
"""Normal outputs of AUC 0.95 have accuracy 0.88 at the best threshold."""
_LEVELS = Gathered(lambda: _AUC | {metric: level for study in studies() for metric, level in study.levels.items()})
"""Usual levels by measure."""


def usual_level(measure: Metric) -> float:
    """The level at which figures draw thresholds of a measure: NaN if there is none."""
    return LEVEL if measure.is_accuracy else _LEVELS.get(measure.name, np.nan)


def searched_level(asked: Iterable[Question], over: str, measure: Metric) -> float | None:
    """The level of the first question about this measure along `over`; None if there is none."""
    return next((question.at for question in asked if (question.axis, question.metric) == (over, measure.name)), None)


def check_level(level: Any, measure: Metric) -> None:
    """ResultsError if a measure cannot cross this level."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or np.isnan(level):
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


def levels(
    points: pd.DataFrame,
    measure: Metric,
    over: str,
    asked: Iterable[Question] = (),
    of_paper: float | None = None,
    of_figures: Iterable[tuple[str, Question]] = (),
) -> Levels:
    """The levels for the curves over `over` in a frame of `Points`. They start at that of a question among `asked`, which a sweep
    asked of these networks; without one at that of the first figure of `of_figures`, each with its name, which shows thresholds
    of the measure; else at that of the paper, `of_paper` or that for accuracies, if there is any."""
    if points.empty:
        return Levels(0.0, 1.0, 0.01, LEVEL, "nothing was measured")
    low, high, step = _range(points, measure)
    falling = falls_along(points, over, measure.falls)
    start, why = searched_level(asked, over, measure), "a sweep searched for it"
    if start is None:
        drawn = ((searched_level([one], over, measure), f"that of figure {name}") for name, one in of_figures)
        start, why = next(((at, words) for at, words in drawn if at is not None), (None, ""))
    if start is None:
        start, why = LEVEL if of_paper is None and measure.is_accuracy else of_paper, "the paper's"
    if start is not None:
        return Levels(min(low, start), max(high, start), step, start, why)
    tried = np.round(np.arange(round(low / step), round(high / step) + 1) * step, 10)
    crossing = [_crossed(curve, tried, over, falling) for _, curve in curves_of(points, over)]
    crossed = np.array(crossing).reshape(len(crossing), len(tried)).sum(axis=0)
    most = int(crossed.max(initial=0))
    if not most:
        middle = float(tried[len(tried) // 2])
        return Levels(low, high, step, middle, "the middle of the measured range, as no curve crosses any level")
    usual = np.isclose(tried, usual_level(measure)) & (crossed == most)
    best = tried[usual if usual.any() else crossed == most]
    many = f"{most} of {counted(len(crossing), 'curve')}"
    return Levels(low, high, step, _roundest(best), f"{many} cross it, as many as cross any level")


def _range(points: pd.DataFrame, measure: Metric) -> tuple[float, float, float]:
    if measure.is_accuracy:
        return float(np.floor(100 * least_accuracy(points)) / 100), 1.0, 0.01
    least, most = float(points["mean"].min()), float(points["mean"].max())
    step = 10.0 ** np.floor(np.log10((most - least) or abs(most) or 1.0) - 1.5)  # 30 to 300 steps
    low, high = (round(float(end), 10) for end in (np.floor(least / step) * step, np.ceil(most / step) * step))
    return low, high if high > low else low + step, float(step)


def _crossed(curve: pd.DataFrame, tried: "np.ndarray[tuple[int], np.dtype[np.float64]]", over: str, falling: bool) -> np.ndarray:
    """True for each level that the curve's means cross. Means are taken as rising: one below an earlier one is lifted to it."""
    y = curve.sort_values(over)["mean"].to_numpy(float) * (-1 if falling else 1)
    right = np.searchsorted(np.maximum.accumulate(y), tried * (-1 if falling else 1))
    return (right > 0) & (right < len(y))


def _roundest(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    """The level with the fewest digits; of several, the one nearest to their middle."""
    middle = float(np.median(values))
    return float(min(values, key=lambda v: (len(f"{v:g}".rstrip("0")), abs(v - middle))))
