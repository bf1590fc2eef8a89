"""Two arms compared: networks that differ in one key alone, such as gamma = 1 and gamma = 0.1, paired by their seeds.

What both arms share at one seed, such as the symbols that it draws, cancels in a difference. So its interval is often narrower
than those of the arms, and two arms whose intervals overlap may differ clearly.

Networks are rows with `arm`, one of ARMS, `seed`, `value`, and the keys that are axes.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from analysis.scaling.thresholds import FEWEST_OF_CURVE
from sweepkit.stats import FEWEST_OF_LAW, Interval, deciding, jackknife_interval, linear_fit, mean_interval, threshold
from sweepkit.stats.checks import Floats

ARMS = ("first", "second")
"""The two arms."""
FEWEST = 2
"""Fewest seeds for an interval."""


class Comparison(NamedTuple):
    """Both arms and their difference, or the ratio of the first to the second, with its interval over pairs."""

    first: float
    second: float
    interval: Interval
    """NaN where an arm has no value; its bounds are NaN with fewer than FEWEST seeds, and where leaving out a seed takes a
    threshold out of the range. Its n is the number of seeds."""
    n_thresholds: int = 0
    """The number of sizes at which both arms reach the level, for a difference of exponents."""


def pairs_of(networks: pd.DataFrame, keys: Iterable[str]) -> pd.DataFrame:
    """One row for each seed at which both arms have a network with equal `keys`: these, `seed`, and the value of each arm."""
    on = [*keys, "seed"]
    one, other = (networks.loc[networks["arm"] == arm, [*on, "value"]].rename(columns={"value": arm}) for arm in ARMS)
    return one.merge(other, on=on)


def of_means(pairs: pd.DataFrame, ratio: bool = False) -> Comparison:
    """The means of the arms over `pairs_of` one configuration, compared: their difference by Student's t over pairs, or their
    ratio by the jackknife of its logarithm, which needs positive means."""
    one, other = (pairs[arm].to_numpy(float) for arm in ARMS)
    means = float(one.mean()), float(other.mean())
    if not ratio:
        return Comparison(*means, mean_interval(one - other))
    n = len(pairs)
    return Comparison(*means, _times(_interval(_log_ratio_of_means(pairs), _left_out(pairs, _log_ratio_of_means), n)))


def of_thresholds(networks: pd.DataFrame, over: str, level: float, falling: bool = False) -> Comparison:
    """The thresholds over `over` of both arms, and the ratio of the first to the second.

    Its interval is the jackknife's of its logarithm, which leaves out a seed at a time in both arms. They need not be measured at
    the same `over`, as searches choose different ones. Where fewer seeds stand beside a threshold than there are, Student's t is
    that of these.
    """
    first, second = (_threshold(networks, arm, over, level, falling) for arm in ARMS)

    def ratio(part: pd.DataFrame) -> float:
        return _log_ratio(part, over, level, falling)

    found = _interval(ratio(networks), _left_out(networks, ratio), _beside(networks, over, (first, second)))
    return Comparison(first, second, _times(found))


def of_exponents(networks: pd.DataFrame, over: str, against: str, level: float, falling: bool = False) -> Comparison:
    """The exponents in `against` of the thresholds over `over`, and the first minus the second.

    Both are slopes of equal weights through those sizes at which both arms reach the level, so that the difference is the slope
    of the ratio of thresholds. Its interval is the jackknife's over seeds, or Student's t for the scatter of the ratios about
    their line where that is more than the seeds explain. NaN with fewer than three sizes.
    """
    thresholds = {
        size: [_threshold(part, arm, over, level, falling) for arm in ARMS] for size, part in networks.groupby(against, sort=True)
    }
    used = [size for size, both in thresholds.items() if np.isfinite(both).all()]
    if len(used) < FEWEST_OF_LAW:
        return Comparison(np.nan, np.nan, Interval(np.nan, np.nan, np.nan, 0), len(used))
    x = np.log(np.array(used, float))
    first, second = (_slope(x, np.log([thresholds[size][i] for size in used])) for i in range(len(ARMS)))
    among = networks[networks[against].isin(used)]

    def ratios(part: pd.DataFrame) -> Floats:
        return np.array([_log_ratio(part[part[against] == size], over, level, falling) for size in used])

    whole, left = ratios(among), _left_out(among, ratios)
    n = min(_beside(among[among[against] == size], over, thresholds[size]) for size in used)
    interval = _interval(_slope(x, whole), np.array([_slope(x, row) for row in left]), n)
    line = linear_fit(x, whole)
    if np.isfinite(interval.low):
        errors = ((len(left) - 1) / len(left) * ((left - left.mean(0)) ** 2).sum(0)) ** 0.5
        misfit = ((whole - line.curve(x)) ** 2 / np.maximum(errors, 1e-12) ** 2).sum() / (len(x) - 2)
        if misfit > 1:
            interval = interval._replace(low=line.slope.low, high=line.slope.high, method="scatter")
    return Comparison(first, second, interval, len(used))


def _slope(x: Floats, y: Any) -> float:
    return linear_fit(x, y).slope.value if np.isfinite(y).all() else np.nan


def _threshold(networks: pd.DataFrame, arm: str, over: str, level: float, falling: bool) -> float:
    curve = networks[networks["arm"] == arm].groupby(over)["value"].agg(["mean", "size"])
    if len(curve) < FEWEST_OF_CURVE:
        return np.nan
    return threshold(curve.index, curve["mean"], level, increasing=not falling, weights=curve["size"])


def _beside(networks: pd.DataFrame, over: str, thresholds: Iterable[float]) -> int:
    """The fewest seeds at the values of `over` on both sides of each arm's threshold."""
    fewest = []
    for arm, value in zip(ARMS, thresholds, strict=True):
        n = networks[networks["arm"] == arm].groupby(over)["seed"].nunique()
        if len(n) and np.isfinite(value):
            fewest.append(int(n.to_numpy()[deciding(n.index, value, np.nan, np.nan)].min()))
    return min(fewest, default=0)


def _log_ratio(networks: pd.DataFrame, over: str, level: float, falling: bool) -> float:
    one, other = (_threshold(networks, arm, over, level, falling) for arm in ARMS)
    return float(np.log(one / other)) if np.isfinite([one, other]).all() else np.nan


def _log_ratio_of_means(pairs: pd.DataFrame) -> float:
    one, other = (float(pairs[arm].mean()) for arm in ARMS)
    return float(np.log(one / other)) if one > 0 and other > 0 else np.nan


def _left_out(rows: pd.DataFrame, estimate: Callable[[pd.DataFrame], Any]) -> Floats:
    """The estimate without each seed in turn, which leaves out all networks of that seed."""
    return np.array([estimate(rows[rows["seed"] != seed]) for seed in sorted(rows["seed"].unique())])


def _interval(value: float, left: Floats, n: int) -> Interval:
    """The jackknife's interval, as wide as n seeds have it; without bounds where some estimate is not known."""
    if n < FEWEST or not np.isfinite([value, *left]).all():
        return Interval(value, np.nan, np.nan, n, "no interval", "seeds")
    found = jackknife_interval(value, left)
    wider = float(stdtrit(n - 1, 0.975) / stdtrit(found.n - 1, 0.975))
    low, high = (value + wider * (end - value) for end in (found.low, found.high))
    return found._replace(low=low, high=high, n=n, counts="seeds")


def _times(found: Interval) -> Interval:
    """The interval of a ratio, from that of its logarithm."""
    value, low, high = (float(np.exp(end)) for end in found[:3])
    return found._replace(value=value, low=low, high=high)
