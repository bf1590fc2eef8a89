"""The powers of P that decide the onset of variance: the error at infinite width falls as P^-a, and the variance of outputs over
initial weights is P^v/N. That an excess of P^v/N reaches a share of P^-a makes P* ~ N^(1/(a + v)), and N^(1/a) only where the
variance does not know P. Intervals are bootstrapped over data sets, which are drawn for each P by themselves.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sweepkit.stats import Interval, bootstrap_interval

from ..fluctuations.outputs import DATA, SIZE
from .onset import ERROR, EXAMPLES, RESAMPLES, Array, errors


class Power(NamedTuple):
    """Means at each P, and the exponent of P in them."""

    points: pd.DataFrame
    """EXAMPLES, `mean`, `low`, `high` over data sets."""
    exponent: Interval | None
    """None below two P."""


def variances(networks: pd.DataFrame, outputs: Mapping[str, Array]) -> pd.DataFrame:
    """Variance of outputs over the seeds of each width, P and data set, by n - 1, mean over test examples: SIZE, EXAMPLES, DATA,
    ERROR. Data sets of one seed have none."""
    both = errors(networks, outputs, False).merge(errors(networks, outputs, True), on=[SIZE, EXAMPLES, DATA], suffixes=("", "_e"))
    both = both[both["n"] > 1]
    return both.assign(**{ERROR: (both[ERROR] - both[f"{ERROR}_e"]) * both["n"] / (both["n"] - 1)})


def power(of: pd.DataFrame, least: float = 0) -> Power:
    """The means over data sets of ERROR at each P, and the exponent of P in them from the P `least` on."""
    rng = np.random.default_rng(0)
    rows, logs, at = [], [], []
    for P, values in of.groupby(EXAMPLES)[ERROR]:
        of_sets = values.to_numpy(float)
        means = np.r_[of_sets.mean(), of_sets[rng.integers(0, len(of_sets), (RESAMPLES, len(of_sets)))].mean(1)]
        rows.append((P, means[0], *np.quantile(means[1:], [0.025, 0.975])))
        if least <= P:  # type: ignore[operator]
            logs.append(np.log(means))
            at.append(float(np.log(P)))  # type: ignore[arg-type]
    points = pd.DataFrame(rows, columns=[EXAMPLES, "mean", "low", "high"])
    if len(at) < 2:
        return Power(points, None)
    slopes: Any = np.polyfit(at, np.stack(logs), 1)[0]
    return Power(points, bootstrap_interval(slopes[0], slopes[1:])._replace(n=len(at)))
