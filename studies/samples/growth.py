"""Samples seen until networks in training come within bounds, such as a test error of half, and how they grow with a size."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.data.networks.evaluations import Bounds, first_within
from sweepkit.stats import FEWEST_OF_LAW, Interval, linear_fit, mean_interval

SAMPLES = "samples"


def samples_until(networks: pd.DataFrame, evaluations: pd.DataFrame, bounds: Bounds) -> pd.DataFrame:
    """The networks with `samples`: batch times the step at which the bounds hold first, read between that evaluation and the one
    before as the geometric mean of the two; inf where they never hold.

    networks: one row each with `cell_id` and `batch`; evaluations: those of `evaluations_of`.
    """
    before = evaluations.groupby("cell_id")["step"].shift()
    first = first_within(evaluations.assign(before=before.fillna(evaluations["step"])), bounds)
    between = ((first["step"] * first["before"]) ** 0.5).reindex(networks["cell_id"])
    steps = between.fillna(np.inf).to_numpy(float)
    return networks.assign(**{SAMPLES: networks["batch"] * steps})


class SampleGrowth(NamedTuple):
    """How samples grow with a size: their geometric mean at each, with 95% intervals, and the exponent."""

    means: pd.DataFrame
    """Columns: the size, mean, low, high, n; only sizes at which all networks have come within the bounds."""
    slopes: pd.DataFrame
    """Their `spanning_slopes`."""
    exponent: Interval | None
    """The slope of the line through all networks on logarithmic axes; None below FEWEST_OF_LAW sizes."""
    late: pd.DataFrame
    """Sizes, and how many networks of how many have not come within the bounds there."""


def growth(found: pd.DataFrame, against: str) -> SampleGrowth:
    """The growth of `samples` with the key `against`. A size with networks that never came within the bounds is left out whole:
    without its late ones its mean would be too small."""
    rows, late = [], []
    for size, of in found.groupby(against):
        lost = int(np.isinf(of[SAMPLES]).sum())
        if lost:
            late.append({against: size, "late": lost, "n": len(of)})
            continue
        mean = mean_interval(np.log(of[SAMPLES]))
        value, low, high = (float(np.exp(end)) for end in mean[:3])
        rows.append({against: size, "mean": value, "low": low, "high": high, "n": mean.n})
    means = pd.DataFrame(rows, columns=[against, "mean", "low", "high", "n"])
    every = found[found[against].isin(means[against])]
    law = None
    if len(means) >= FEWEST_OF_LAW:
        law = linear_fit(np.log(every[against].to_numpy(float)), np.log(every[SAMPLES].to_numpy(float))).slope
    return SampleGrowth(means, spanning_slopes(means, against), law, pd.DataFrame(late, columns=[against, "late", "n"]))


SPAN = 1.9
"""How far apart two sizes are for a slope between them: nearer ones have larger errors, as noise is divided by their distance."""


def spanning_slopes(means: pd.DataFrame, against: str) -> pd.DataFrame:
    """Slopes on logarithmic axes between each size and the next one SPAN times as large, at their geometric mean; columns
    `against`, mean, low, high. Errors of the two values add in quadrature.

    means: `against` in ascending order, mean, low, high; the ends may be NaN.
    """
    log_x, y, below, above = (np.log(means[name].to_numpy(float)) for name in (against, "mean", "low", "high"))
    ends = np.searchsorted(log_x, log_x + np.log(SPAN))
    i, j = np.flatnonzero(ends < len(log_x)), ends[ends < len(log_x)]
    apart = log_x[j] - log_x[i]
    slope = (y[j] - y[i]) / apart
    down, up = y - below, above - y
    return pd.DataFrame(
        {
            against: np.exp((log_x[j] + log_x[i]) / 2), "mean": slope,
            "low": slope - np.hypot(down[j], up[i]) / apart, "high": slope + np.hypot(up[j], down[i]) / apart,
        }
    )  # fmt: skip
