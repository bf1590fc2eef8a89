"""The best value of a key, such as the learning rate of least loss, for each seed, and how it grows with another key.

All seeds try the same values, so that the error of a grid does not average out over seeds: it is added to theirs.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sweepkit.stats import Interval, linear_fit, mean_interval

OPEN = ("the least value tried", "the largest value tried")


class Optimum(NamedTuple):
    """The best x of one curve; `at` says at which end of the values tried it lies, "" inside."""

    x: float
    at: str = ""
    step: float = 0.0
    """How far the grid leaves log x open: a step of it where a parabola runs through three values, two where none does."""


def optimum(x: Iterable[float], y: Iterable[float]) -> Optimum:
    """The x > 0 of least y; networks that diverged have y = inf.

    Inside, a parabola in log x runs through y at the best x and its two neighbours. Beside values that diverged the best x
    stands as it is.
    """
    order = np.argsort(np.asarray(list(x), float))
    xs, ys = np.asarray(list(x), float)[order], np.asarray(list(y), float)[order]
    best = int(np.argmin(ys))
    if best in (0, len(xs) - 1):
        return Optimum(float(xs[best]), OPEN[best > 0])
    near = slice(best - 1, best + 2)
    u, v = np.log(xs[near]), ys[near]
    between = float(u[2] - u[0])
    if not np.isfinite(v).all():
        return Optimum(float(xs[best]), step=between)
    curvature, slope, _ = np.polyfit(u - u[1], v, 2)
    if curvature <= 0:
        return Optimum(float(xs[best]), step=between)
    return Optimum(float(np.exp(u[1] - slope / (2 * curvature))), step=between / 2)


def edge(x: Iterable[float], y: Iterable[float]) -> Optimum:
    """The edge of stability among x > 0: the geometric mean of the largest x below which no y is inf, and the next one."""
    order = np.argsort(np.asarray(list(x), float))
    xs, ys = np.asarray(list(x), float)[order], np.asarray(list(y), float)[order]
    first = int(np.argmax(~np.isfinite(ys))) if not np.isfinite(ys).all() else len(xs)
    if first in (0, len(xs)):
        return Optimum(float(xs[0 if first == 0 else -1]), OPEN[first > 0])
    return Optimum(float(np.sqrt(xs[first - 1] * xs[first])), step=float(np.log(xs[first] / xs[first - 1])))


def optima(
    networks: pd.DataFrame, over: str, against: str, of: Callable[[Iterable[float], Iterable[float]], Optimum] = optimum
) -> pd.DataFrame:
    """The optimum over `over`, or its `edge`, for each value of `against` and each seed: columns `against`, `seed`, `x`, `at` and
    `step`.

    `networks`: one row each with these keys and `value`, which is less where a network is better, and inf where it diverged.
    A seed that lacks some of the values that others have at this `against` has no optimum of its own.
    """
    rows = []
    tried = networks.groupby(against)[over].nunique().to_dict()
    for (size, seed), curve in networks.groupby([against, "seed"]):
        averaged = curve.groupby(over)["value"].mean()
        if len(averaged) < tried[size]:
            continue
        rows.append((size, seed, *of(averaged.index, averaged)))
    return pd.DataFrame(rows, columns=[against, "seed", "x", "at", "step"])


def growth_exponent(found: pd.DataFrame, against: str) -> Interval | None:
    """Exponent of x in `against`: the mean over seeds of the slope of each seed's optima on logarithmic axes; None if no seed has
    two. A single seed gives no interval.

    Its ends lie farther out, in quadrature, by the 95% of an error of the grid that is uniform within a step at each `against`.
    """
    slopes = [
        linear_fit(np.log(of_seed[against].to_numpy(float)), np.log(of_seed["x"].to_numpy(float))).slope.value
        for _, of_seed in found.groupby("seed")
        if of_seed[against].nunique() > 1
    ]
    if not slopes:
        return None
    size = found.groupby(against)["step"].mean()
    u = np.log(size.index.to_numpy(float))
    shares = (u - u.mean()) / ((u - u.mean()) ** 2).sum()
    return mean_on_grid(slopes, float(np.hypot.reduce(shares * size.to_numpy(float))))


def mean_on_grid(values: ArrayLike, step: float) -> Interval:
    """Mean of values that one grid gives to no more than a step: to its interval the 95% of an error uniform within that step is
    added in quadrature, as seeds share the grid. Values closer together than a step are equal, or in groups, by the grid alone.
    """
    mean = mean_interval(values)
    value, low, high = mean[:3]
    low, high = (value + side * float(np.hypot(end - value, 1.96 * step / 12**0.5)) for side, end in ((-1, low), (1, high)))
    return mean._replace(low=low, high=high, spread=mean.spread if np.ptp(values) > step else "")
