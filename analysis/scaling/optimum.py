"""The best value of a key, such as the learning rate of least loss, for each seed, and how it grows with another key."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from sweepkit.stats import Interval, linear_fit, mean_interval

OPEN = ("the least value tried", "the largest value tried")


class Optimum(NamedTuple):
    """The best x of one curve; `at` says at which end of the values tried it lies, "" inside."""

    x: float
    at: str = ""


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
    if not np.isfinite(v).all():
        return Optimum(float(xs[best]))
    curvature, slope, _ = np.polyfit(u - u[1], v, 2)
    return Optimum(float(np.exp(u[1] - slope / (2 * curvature))) if curvature > 0 else float(xs[best]))


def optima(networks: pd.DataFrame, over: str, against: str) -> pd.DataFrame:
    """The optimum over `over` for each value of `against` and each seed: columns `against`, `seed`, `x` and `at`.

    `networks`: one row each with these keys and `value`, which is less where a network is better, and inf where it diverged.
    A seed that lacks some of the values that others have at this `against` has no optimum of its own.
    """
    rows = []
    tried = networks.groupby(against)[over].nunique().to_dict()
    for (size, seed), curve in networks.groupby([against, "seed"]):
        averaged = curve.groupby(over)["value"].mean()
        if len(averaged) < tried[size]:
            continue
        rows.append((size, seed, *optimum(averaged.index, averaged)))
    return pd.DataFrame(rows, columns=[against, "seed", "x", "at"])


def growth_exponent(found: pd.DataFrame, against: str) -> Interval | None:
    """Exponent of x in `against`: the mean over seeds of the slope of each seed's optima on logarithmic axes; None if no seed has
    two. A single seed gives no interval."""
    slopes = [
        linear_fit(np.log(of_seed[against].to_numpy(float)), np.log(of_seed["x"].to_numpy(float))).slope.value
        for _, of_seed in found.groupby("seed")
        if of_seed[against].nunique() > 1
    ]
    return mean_interval(slopes) if slopes else None
