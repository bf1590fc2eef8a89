"""Measurements on pairs of networks that share their data: the difference that one key makes."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from analysis.claims.kinds.measuring import Found, ties
from analysis.claims.networks_used import Networks, Where, either, like, networks, note_seeds
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.measures import measures
from sweepkit.stats import Interval, mean_interval


def difference(
    results: str,
    measure: str,
    of: Where,
    a: Where,
    b: Where,
    along: Sequence[str] = ("L", "d"),
    prefer: Where | None = None,
) -> Found:
    """Mean of the measure at `a` minus at `b`, over pairs of networks that agree in the seed and the keys `along` and so share
    data."""
    found = networks(results, {**of, **either(a, b)}, measure, (*along, *a), prefer)
    pairs = _pairs(found, a, b, along)
    if isinstance(pairs, NotMeasured):
        return pairs
    # Networks of one seed at several L are independent: each pair counts.
    interval = mean_interval(pairs, sd_of_ties=ties(found.frame, measures(results)[measure]))
    return Measured(
        interval, f"difference over {len(pairs)} pairs that share {', '.join(along)} and seed; {found.what}", found.again
    )


def largest_difference(
    results: str, measure: str, of: Where, a: Where, b: Where, among: Sequence[str], prefer: Where | None = None
) -> Found:
    """Largest of the mean differences between `a` and `b`, one for each set of values of the keys `among`.

    Each of the k intervals is taken at 1 - 0.05/k, so that all of them hold together at 95%, and with them that of the largest.
    """
    found = networks(results, {**of, **either(a, b)}, measure, (*among, *a), prefer)
    pairs = _pairs(found, a, b, among)
    if isinstance(pairs, NotMeasured):
        return pairs
    groups = [part for _, part in pairs.groupby(level=list(among)) if len(part) > 1]
    if not groups:
        return NotMeasured(f"one pair only at each {', '.join(among)}: {found.what}")
    equal = ties(found.frame, measures(results)[measure])
    each = [mean_interval(part, level=1 - 0.05 / len(groups), sd_of_ties=equal) for part in groups]
    value, low, high = (max(float(interval[end]) for interval in each) for end in range(3))
    at = int(np.argmax([interval.value for interval in each]))
    part = groups[at]
    where = ", ".join(f"{key} = {part.index.get_level_values(key)[0]}" for key in among)
    told = f"largest of {len(groups)} differences, at {where}; {found.what}"
    return Measured(Interval(value, low, high, len(part), "Bonferroni", spread=each[at].spread), told, found.again)


def turn(results: str, measure: str, of: Where, over: str, prefer: Where | None = None) -> Found:
    """Product of the mean changes of the measure from the least of three values of `over` to the middle one, and from there to
    the greatest: negative if the measure turns, so that it does not order the three. Changes are of networks that share the seed.

    Both changes' intervals are taken at 1 - 0.05/2, so that they hold together at 95%, and with them that of the product.
    """
    found = networks(results, of, measure, (over,), prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    at = sorted(found.frame[over].unique())
    if len(at) != 3:
        return NotMeasured(f"networks of {len(at)} {over}, where three are needed: {found.what}")
    changes = [_pairs(found, {over: high}, {over: low}, ()) for low, high in pairwise(at)]
    if lacking := [change for change in changes if isinstance(change, NotMeasured)]:
        return lacking[0]
    equal = ties(found.frame, measures(results)[measure])
    each = [mean_interval(change, level=1 - 0.05 / 2, sd_of_ties=equal) for change in changes]
    ends = [a * b for a in each[0][1:3] for b in each[1][1:3]]
    spread = each[0].spread or each[1].spread
    interval = Interval(
        each[0].value * each[1].value, min(ends), max(ends), min(one.n for one in each), "Bonferroni", spread=spread
    )
    told = ", ".join(
        f"{one.value:.3g} ({one.low:.3g} to {one.high:.3g}) from {low:g} to {high:g}"
        for one, (low, high) in zip(each, pairwise(at), strict=True)
    )
    return Measured(interval, f"product of the changes {told}; {found.what}", found.again)


def _pairs(found: Networks, a: Where, b: Where, along: Sequence[str]) -> "pd.Series[float] | NotMeasured":
    """The differences by the keys `along` and the seed."""
    if found.frame.empty:
        return NotMeasured(found.what)
    left, right = (like(found.frame, side).set_index([*along, "seed"])["value"] for side in (a, b))
    if left.empty or right.empty:
        return NotMeasured(f"networks of one side only: {found.what}")
    pairs = (left - right).dropna()
    note_seeds(pairs.index.get_level_values("seed").nunique())
    shared = " and ".join(filter(None, [", ".join(along), "seed"]))
    return NotMeasured(f"no two networks that share {shared}") if pairs.empty else pairs
