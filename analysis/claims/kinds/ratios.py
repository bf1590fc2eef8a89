"""Measurements of a metric over a theory's value for the same networks, at all points of some keys together."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.claims.kinds.measuring import Found, said_of, ties
from analysis.claims.networks_used import Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.keys import spoken
from analysis.data.measures import measures
from sweepkit.stats import Interval, mean_interval
from sweepkit.stats.checks import Floats


def ratio_to_theory(
    results: str,
    measure: str,
    of: Where,
    theory: str,
    over: Sequence[str] = (),
    farthest: bool = False,
    prefer: Where | None = None,
) -> Found:
    """Ratio of a measure's mean over seeds to a theory's positive value: its mean over the points of the keys `over`.

    farthest: instead, the factor by which the point farthest from 1 differs from it, at least 1: 1.1 stands for 1/1.1, too. Each
    of the k intervals is then taken at 1 - 0.05/k, so that all hold together at 95%. Standard errors of the theory itself widen
    the interval.
    """
    found = networks(results, of, measure, over, prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    said = said_of(found.frame, measure, theory)
    if said is None or not (said["value"] > 0).all():
        return NotMeasured(f"{theory} has no positive value for these networks: {found.what}")
    frame = found.frame.assign(ratio=found.frame["value"] / said["value"])
    parts = [part for _, part in frame.groupby(list(over))] if over else [frame]
    means = [float(part["ratio"].mean()) for part in parts]
    # Seeds with equal accuracies are known to no more than their test sets tell.
    equal = [ties(part, measures(results)[measure]) * float((part["ratio"] / part["value"]).mean()) for part in parts]
    told = f"ratio of {measure} to {theory}" + (f", {min(means):.3g} to {max(means):.3g}" if over else "")
    if farthest:
        at, interval = _of_farthest(parts, equal)
        told += f"; {means[at]:.3g} at " + ", ".join(f"{spoken(key)} = {parts[at][key].iloc[0]:g}" for key in over)
    else:
        interval = _of_mean(parts, np.array(means), np.array(equal))
    value, low, high = interval[:3]
    error = 1.96 * float((said["error"] / said["value"]).max()) * value
    wider = interval._replace(low=value - np.hypot(value - low, error), high=value + np.hypot(high - value, error))
    return Measured(wider, f"{told}; {found.what}", found.again)


def _of_mean(parts: list[pd.DataFrame], means: Floats, equal: Floats) -> Interval:
    """Mean of the points' means. Networks of one seed may share data at several points, and some points may have fewer seeds:
    each seed stands for what it contributes to the mean."""
    value, n = float(means.mean()), [len(part) for part in parts]
    if min(n) == 1:
        return Interval(value, np.nan, np.nan, 1, "one value")
    shares = [(part["ratio"] - part["ratio"].mean()) / len(part) / len(parts) for part in parts]
    by_seed = pd.concat(shares).groupby(pd.concat(parts)["seed"]).sum()
    return mean_interval(value + len(by_seed) * by_seed, sd_of_ties=float(np.hypot.reduce(equal)) / len(parts))


def _of_farthest(parts: list[pd.DataFrame], equal: list[float]) -> tuple[int, Interval]:
    """The point whose mean is farthest from 1, and its factor."""
    level = 1 - 0.05 / len(parts)
    each = [mean_interval(part["ratio"], level=level, sd_of_ties=tie) for part, tie in zip(parts, equal, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        value, low, high = np.log(np.maximum([one[:3] for one in each], 0)).T
    sizes, least = np.abs(value), np.where((low < 0) & (high > 0), 0, np.minimum(np.abs(low), np.abs(high)))
    at, most = int(sizes.argmax()), np.maximum(np.abs(low), np.abs(high))
    factor, nearest, farthest = (float(np.exp(of.max())) for of in (sizes, least, most))
    return at, Interval(factor, nearest, farthest, min(one.n for one in each), "Bonferroni", spread=each[at].spread)
