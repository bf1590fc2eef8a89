"""Curves of a measure over one key, such as L, for several values of another, such as d: do they fall together over L / d^e?"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.data.points import test_sizes
from sweepkit.declarations.columns import Metric
from sweepkit.stats import BestExponent, Collapse, Curve, best_exponent, collapse

FEWEST = 2
"""Least number of points of a curve, and of curves, for a collapse."""


class Family(NamedTuple):
    """Curves of at least FEWEST points over `over`, one for each value of `against`."""

    frame: pd.DataFrame
    """Their points, with `error`, the standard error of each mean."""
    over: str
    against: str
    scales: list[float]
    curves: list[Curve]


def family(points: pd.DataFrame, over: str, against: str, measure: Metric) -> Family:
    """The curves of points that differ in `over` and `against` alone. ValueError in a few words if there are not two curves.

    measure: what the means are of. A point of a measure that is no accuracy counts only if its seeds give an error.
    """
    accuracy = measure.is_accuracy
    frame = points.assign(error=standard_errors(points, measure) if accuracy else points["sd"] / points["n"] ** 0.5)
    frame = frame[frame["error"] > 0]
    frame = frame[frame.groupby(against)[over].transform("nunique") >= FEWEST]
    groups = list(frame.groupby(against))
    if len(groups) < FEWEST:
        seeds = "" if accuracy else ", of two seeds or more"
        raise ValueError(
            f"needs {FEWEST} values of {against} with {FEWEST} values of {over} each{seeds}, there are {len(groups)}"
        )
    curves = [Curve(part[over], part["mean"], part["error"], part["n"]) for _, part in groups]
    return Family(frame.reset_index(drop=True), over, against, [float(part[against].iloc[0]) for _, part in groups], curves)


def standard_errors(points: pd.DataFrame, measure: Metric) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The standard error of each point's mean accuracy: from the spread of its seeds, but no less than its test examples leave.

    One seed has no spread, and several seeds have none if all of them classify all examples right.
    """
    examples = points["n"].to_numpy(float) * test_sizes(points, measure)
    p = np.clip(points["mean"].to_numpy(float), 0, 1)
    of_tests = np.maximum(np.sqrt(p * (1 - p) / examples), 1 / examples)
    return np.fmax(points["sd"].to_numpy(float) / np.sqrt(points["n"].to_numpy(float)), of_tests)


class Rescaled(NamedTuple):
    """A family of curves over x, with x in units of a scale of each curve."""

    frame: pd.DataFrame
    """The family's points with a column `rescaled`."""
    quality: Collapse
    unit: str
    """The unit of x, as an axis says it."""
    by: str
    """The unit in short, for a title."""


def rescaled(curves: Family, exponent: float) -> Rescaled:
    """The family with this exponent; `rescaled` is over / (against / its geometric mean)^exponent, which keeps the size of x."""
    middle = middle_of(curves)
    found = collapse(curves.curves, np.asarray(curves.scales) ** exponent)
    x = curves.frame[curves.over] / (curves.frame[curves.against] / middle) ** exponent
    unit = f"({curves.against} / mean {curves.against})^{exponent:.3g}"
    return Rescaled(curves.frame.assign(rescaled=x), found, unit, f"{curves.against}^{exponent:.3g}")


def middle_of(curves: Family) -> float:
    """The geometric mean of `against`, the unit of its powers."""
    return float(np.exp(np.log(curves.scales).mean()))


def in_units(curves: Family, units: "pd.Series[float]", name: str) -> Rescaled:
    """The family in these units, one for each point; all points of a curve have one unit. `name`: the name of the unit."""
    scale_of = dict(zip(curves.frame[curves.against], units, strict=True))
    found = collapse(curves.curves, [scale_of[value] for value in curves.scales])
    return Rescaled(curves.frame.assign(rescaled=curves.frame[curves.over] / units), found, name, name)


def best(curves: Family, n_resamples: int = 1000) -> BestExponent:
    """The exponent of the best collapse; ValueError if there is none within -1..4."""
    return best_exponent(curves.curves, curves.scales, n_resamples=n_resamples)


TOO_NARROW = (
    "S is far above what so many seeds leave by chance: the curves do not fall together within their errors. "
    "The exponent's interval takes for granted that they do, and is too narrow"
)


def doubted(curves: Family, quality: float) -> str:
    """TOO_NARROW if S is above twice its average for curves of so few seeds that collapse perfectly (`Collapse`), else an empty
    text."""
    n_seeds = int(curves.frame["n"].min())
    return TOO_NARROW if quality > 2 * (2.9 if n_seeds <= 3 else 1.4 if n_seeds <= 6 else 1.2) else ""
