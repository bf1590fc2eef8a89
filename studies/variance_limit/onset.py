"""The onset of variance: the number P* of examples from which a network of finite width is worse than one of infinite width.

N       `width`; E(N, P) mean test error over data sets and seeds of the weights; E_inf(P) that at infinite width, same data
K       size of an ensemble, the mean of K networks' outputs. Its error is the mean of theirs less the variance (1/K) of outputs,
        exactly and whatever the targets, at the same test examples
P*      the first P at which E(N, P)/E_inf(P) exceeds a factor, between two P on logarithmic axes
Intervals are bootstrapped over data sets, which are drawn for each P by themselves.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sweepkit.stats import FEWEST_OF_LAW, Interval, bootstrap_interval, linear_fit

from ..fluctuations.outputs import DATA, SIZE, held

Array = np.ndarray[Any, Any]
EXAMPLES, ERROR = "P", "error"
RESAMPLES = 400


def errors(networks: pd.DataFrame, outputs: Mapping[str, Array], ensemble: bool) -> pd.DataFrame:
    """Mean error of single networks for each width, P and data set, or that of the ensemble of all its seeds: SIZE, EXAMPLES,
    DATA, ERROR and `n`, the networks. `networks` have their test error as `value`."""
    rows = []
    for at, of in held(networks, outputs).groupby([SIZE, EXAMPLES, DATA]):
        spread = np.stack([outputs[cell_id] for cell_id in of["cell_id"]]).var(axis=0).mean() if ensemble else 0.0
        rows.append((*at, float(of["value"].mean() - spread), len(of)))
    return pd.DataFrame(rows, columns=[SIZE, EXAMPLES, DATA, ERROR, "n"])


class Onset(NamedTuple):
    """P* by width with its law."""

    ratios: pd.DataFrame
    """SIZE, EXAMPLES and `ratio`, E(N, P)/E_inf(P), with `low` and `high`."""
    points: pd.DataFrame
    """SIZE, `mean`, `low`, `high`: P* where it is within the P tried; inf beyond the largest P, 0 below the least."""
    local: pd.DataFrame
    """Slopes between neighbouring widths that have P*: SIZE, their geometric mean, and `slope`, `low`, `high`."""
    exponent: Interval | None
    """The slope of log P* in log N; None below FEWEST_OF_LAW widths that have P*."""
    draws: "pd.DataFrame"
    """P* of each resample, a column for each width."""


def onset(of: pd.DataFrame, limit: pd.DataFrame, factor: float) -> Onset:
    """P* of the networks with errors `of`, beside those at infinite width: EXAMPLES, DATA and ERROR."""
    both = of.merge(limit[[EXAMPLES, DATA, ERROR]], on=[EXAMPLES, DATA], suffixes=("", "_limit"))
    sizes = sorted(both[SIZE].unique())
    rng = np.random.default_rng(0)
    curves: dict[Any, list[tuple[float, Array]]] = {size: [] for size in sizes}
    for P in np.sort(both[EXAMPLES].unique()):
        at = both[both[EXAMPLES] == P]
        table = at.pivot_table(index=DATA, columns=SIZE, values=ERROR)
        infinite = at.groupby(DATA)["error_limit"].first()
        # All widths of one P share the draw of data sets, as they share the data.
        drawn = rng.integers(0, len(table), (RESAMPLES, len(table)))
        for size in table:
            own = table[size].dropna()
            if len(own) == len(table):
                a, b = table[size].to_numpy(float), infinite.reindex(table.index).to_numpy(float)
                means = a[drawn].mean(1) / b[drawn].mean(1)
                curves[size].append((float(P), np.r_[a.mean() / b.mean(), means]))
    rows, found = [], {}
    for size, curve in curves.items():
        x, y = np.array([P for P, _ in curve]), np.stack([ratios for _, ratios in curve])
        rows += [(size, P, r[0], *np.quantile(r[1:], [0.025, 0.975])) for P, r in zip(x, y, strict=True)]
        found[size] = np.array([crossing(x, ratios, factor) for ratios in y.T])
    points = [(size, p[0], *np.quantile(p[1:], [0.025, 0.975], method="nearest")) for size, p in found.items()]
    reached = [size for size in sizes if np.isfinite(found[size][0]) and found[size][0] > 0]
    ends = {size: (min(P for P, _ in curves[size]), max(P for P, _ in curves[size])) for size in reached}
    # A resample without P* counts as the end of the range: the least that is known of it.
    logs = np.log(np.stack([np.clip(found[size], *ends[size]) for size in reached])) if reached else np.zeros((0, 1))
    n = np.log(np.array(reached, float))
    # The first column is of all data sets, the others are of resamples.
    slopes = np.diff(logs, axis=0) / np.diff(n)[:, None]
    middles = np.exp((n[:-1] + n[1:]) / 2)
    local = [(at, *bootstrap_interval(one[0], one[1:])[:3]) for at, one in zip(middles, slopes, strict=True)]
    laws = [linear_fit(n, one).slope.value for one in logs.T] if len(reached) >= FEWEST_OF_LAW else []
    law = bootstrap_interval(laws[0], laws[1:]) if laws else None
    return Onset(
        pd.DataFrame(rows, columns=[SIZE, EXAMPLES, "ratio", "low", "high"]),
        pd.DataFrame(points, columns=[SIZE, "mean", "low", "high"]),
        pd.DataFrame(local, columns=[SIZE, "slope", "low", "high"]),
        None if law is None else law._replace(n=len(reached)),
        pd.DataFrame({size: np.exp(one) for size, one in zip(reached, logs, strict=True)}),
    )


def crossing(P: Array, ratios: Array, factor: float) -> float:
    """The first P at which ratios exceed the factor, on the line through the P before and it in logarithms; 0 if they do at the
    least P, inf if they never do."""
    above = ratios > factor
    if not above.any():
        return np.inf
    i = int(above.argmax())
    if i == 0:
        return 0.0
    low, high = np.log(ratios[i - 1 : i + 1])
    return float(np.exp(np.interp(np.log(factor), [low, high], np.log(P[i - 1 : i + 1]))))
