"""Measurements of outputs over initial weights at fixed data: their spread and shift by width, and beside the lazy theory."""

import numpy as np
import pandas as pd

from analysis.claims.kinds.declared import kind
from analysis.claims.kinds.measuring import Found
from analysis.claims.networks_used import Networks, Where, either, like, networks
from analysis.claims.verdict import Measured, NotMeasured
from sweepkit.stats import mean_interval

from .outputs import (
    DATA,
    SHIFT,
    SIZE,
    SPREAD,
    Fall,
    fall,
    fall_of_means,
    outputs_of,
    shared_seeds,
    shifts,
    spreads,
)
from .theory import of_hermite

NO_OUTPUTS = "no data set has two networks of a width that differ in their weights alone, with outputs"
SHARED = "data sets share seeds of weights, so that they are not independent"


@kind
def spread_exponent(results: str, of: Where, prefer: Where | None = None) -> Found:
    """Exponent of the width in the spread of outputs over weights: mean over data sets of their slopes."""
    found, table = _spreads(results, of, prefer)
    if isinstance(table, NotMeasured):
        return table
    return _exponent(fall(table, SPREAD), "spread of outputs over weights", table, SPREAD, found)


@kind
def shift_exponent(results: str, of: Where, infinite: Where, prefer: Where | None = None) -> Found:
    """Exponent of the width in the shift of the mean output from that of the `infinite` network, along the narrowest's shift."""
    found, limit = networks(results, of, None, (SIZE, DATA), prefer), networks(results, infinite, None, (DATA,), prefer)
    for side in (found, limit):
        if side.frame.empty:
            return NotMeasured(side.what)
    ids = pd.concat([found.frame["cell_id"], limit.frame["cell_id"]])
    table = shifts(found.frame, limit.frame, outputs_of(results, ids))
    if table.empty:
        return NotMeasured(f"{NO_OUTPUTS}: {found.what}")
    return _exponent(fall_of_means(table, SHIFT), "shift of the mean output", table, SHIFT, found)


@kind
def spread_ratio(results: str, of: Where, a: Where, b: Where, prefer: Where | None = None) -> Found:
    """Spread of networks `a` over that of networks `b`: geometric mean over widths and data sets that both have."""
    found = networks(results, {**of, **either(a, b)}, None, (SIZE, DATA, *a), prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    outputs = outputs_of(results, found.frame["cell_id"])
    sides = [spreads(like(found.frame, side), outputs) for side in (a, b)]
    both = sides[0].merge(sides[1], on=[DATA, SIZE])
    if both.empty:
        return NotMeasured(f"no data set has networks of both sides: {found.what}")
    both["log"] = np.log(both[f"{SPREAD}_x"]) - np.log(both[f"{SPREAD}_y"])
    logs = both.groupby(DATA)["log"].mean()
    interval = mean_interval(logs)
    value, low, high = (float(np.exp(end)) for end in interval[:3])
    told = f"ratio of spreads {both[f'{SPREAD}_x'].mean():.3g} and {both[f'{SPREAD}_y'].mean():.3g} on {len(logs)} data sets"
    return Measured(interval._replace(value=value, low=low, high=high), f"{told}; {found.what}", found.again)


@kind
def spread_beside_lazy(results: str, of: Where, prefer: Where | None = None) -> Found:
    """Spread of the widest networks over what the lazy theory says for task `hermite`, both as means over data sets."""
    found, table = _spreads(results, of, prefer)
    if isinstance(table, NotMeasured):
        return table
    widest = table[table[SIZE] == table[SIZE].max()]
    keys = found.frame.iloc[0]
    said = of_hermite(int(keys["degree"]), int(keys["d"]), int(keys["P"]))
    mean = mean_interval(widest[SIZE] * widest[SPREAD])
    value, error = mean.value / said.value, 1.96 * said.error * mean.value / said.value**2
    low, high = (float(np.hypot((end - mean.value) / said.value, error)) for end in mean[1:3])
    told = (
        f"ratio to theory: width x spread {mean.value:.3g} at width {widest[SIZE].iloc[0]}, theory {said.value:.3g}; {found.what}"
    )
    return Measured(mean._replace(value=value, low=value - low, high=value + high), told, found.again)


def _spreads(results: str, of: Where, prefer: Where | None) -> tuple[Networks, "pd.DataFrame | NotMeasured"]:
    """The networks, and their spreads by data set and width, or why there are none."""
    found = networks(results, of, None, (SIZE, DATA), prefer)
    if found.frame.empty:
        return found, NotMeasured(found.what)
    if shared_seeds(found.frame):
        return found, NotMeasured(f"{SHARED}: {found.what}")
    table = spreads(found.frame, outputs_of(results, found.frame["cell_id"]))
    return found, NotMeasured(f"{NO_OUTPUTS}: {found.what}") if table.empty else table


def _exponent(law: Fall, what: str, table: pd.DataFrame, of: str, found: Networks) -> Found:
    if law.exponent is None:
        return NotMeasured(f"no exponent: one width, or a mean that is not positive; {found.what}")
    means = ", ".join(f"{value:.3g} at {size}" for size, value in table.groupby(SIZE)[of].mean().items())
    return Measured(
        law.exponent, f"exponent b of {what} ~ width^b: {means}; {table[DATA].nunique()} data sets; {found.what}", found.again
    )
