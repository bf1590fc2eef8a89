"""Spread of outputs over initial weights at fixed data, and how it falls with the width. One data seed is one data set.

f       outputs at the test examples that all networks of a data set share, one per seed of the weights
spread  variance of f over seeds (n - 1), mean over test examples
shift   mean of f over seeds less the output at infinite width; its square along the narrowest networks' own shift, (shift of half
        of the seeds) . (shift of the narrowest by the other half), has no part of the spread
Data sets are independent as long as no two of them share a seed of the weights: intervals are Student's t over them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sweepkit.stats import Interval, jackknife_interval, linear_fit, mean_interval
from sweepkit.store.sql import literal
from sweepkit.store.views import run

Array = np.ndarray[Any, Any]
DATA, SIZE, SPREAD, SHIFT = "data_seed", "width", "spread", "shift"
FEWEST = 2
"""Seeds of a data set and width below which there is no spread."""


def outputs_of(results: str, cell_ids: "pd.Series[str]") -> Mapping[str, Array]:
    """Outputs (examples,) of the networks that have some, by id."""
    ids = ", ".join(map(literal, cell_ids))
    sql = f"SELECT cell_id, list(output ORDER BY example) FROM outputs WHERE cell_id IN ({ids or 'NULL'}) GROUP BY cell_id"
    found = run(results, lambda connection: connection.execute(sql).fetchall())
    return {cell_id: np.asarray(values, float) for cell_id, values in found}


def spreads(networks: pd.DataFrame, outputs: Mapping[str, Array]) -> pd.DataFrame:
    """The spread for each data set and width that has FEWEST seeds with outputs: DATA, SIZE, SPREAD and `n`."""
    rows = []
    for data_and_size, of in held(networks, outputs).groupby([DATA, SIZE]):
        if len(of) >= FEWEST:
            values = np.stack([outputs[cell_id] for cell_id in of["cell_id"]])
            rows.append((*data_and_size, float(values.var(axis=0, ddof=1).mean()), len(of)))
    return pd.DataFrame(rows, columns=[DATA, SIZE, SPREAD, "n"])


def shifts(networks: pd.DataFrame, infinite: pd.DataFrame, outputs: Mapping[str, Array]) -> pd.DataFrame:
    """The shift for each data set and width along that of the narrowest: DATA, SIZE, SHIFT and `n`."""
    limits = held(infinite, outputs)
    limit = {data: outputs[cell_id] for data, cell_id in zip(limits[DATA], limits["cell_id"], strict=True)}
    rows = []
    for data, of_data in held(networks, outputs).groupby(DATA):
        if data not in limit:
            continue
        halves = {}
        for size, of in of_data.sort_values("seed").groupby(SIZE):
            values = np.stack([outputs[cell_id] for cell_id in of["cell_id"]]) - limit[data]
            if len(values) >= 2 * FEWEST:
                halves[size] = values[::2].mean(0), values[1::2].mean(0), len(values)
        if halves:
            one, other, _ = next(iter(halves.values()))  # the narrowest: groups are sorted
            rows += [(data, size, float((a @ other + b @ one) / (2 * len(a))), n) for size, (a, b, n) in halves.items()]
    return pd.DataFrame(rows, columns=[DATA, SIZE, SHIFT, "n"])


class Fall(NamedTuple):
    """How a quantity falls with the width."""

    exponent: Interval | None
    """Mean over data sets of the slopes on logarithmic axes; None if no data set has all widths, or there is only one width."""
    local: pd.DataFrame
    """Slopes between neighbouring widths: SIZE, their geometric mean, and `slope`, `low`, `high` over data sets."""


def fall(found: pd.DataFrame, of: str) -> Fall:
    """The fall of column `of`, each data set a value of its own; data sets that lack a width count nowhere."""
    table = found.pivot_table(index=DATA, columns=SIZE, values=of).dropna()
    sizes = table.columns.to_numpy(float)
    if table.empty or len(sizes) < 2:
        return Fall(None, _local(sizes, []))
    logs, x = np.log(table.to_numpy(float)), np.log(sizes)
    slopes = [linear_fit(x, row).slope.value for row in logs]
    local = [mean_interval(step) for step in (np.diff(logs, axis=1) / np.diff(x)).T]
    return Fall(mean_interval(slopes), _local(sizes, local))


def fall_of_means(found: pd.DataFrame, of: str) -> Fall:
    """The fall of the mean over data sets, for a quantity that noise makes negative in single ones. Intervals are those of the
    jackknife, which leaves out a data set at a time. Without an exponent if a mean is not positive."""
    table = found.pivot_table(index=DATA, columns=SIZE, values=of).dropna()
    sizes, n = table.columns.to_numpy(float), len(table)
    none = Fall(None, _local(sizes, []))
    if n < 3 or len(sizes) < 2 or (table.mean() <= 0).any():
        return none
    values, x = table.to_numpy(float), np.log(sizes)
    left = (values.sum(0) - values) / (n - 1)
    if (left <= 0).any():
        return none
    whole, left = np.log(values.mean(0)), np.log(left)
    exponent = jackknife_interval(linear_fit(x, whole).slope.value, np.array([linear_fit(x, row).slope.value for row in left]))
    steps, steps_left = (np.diff(logs, axis=-1) / np.diff(x) for logs in (whole, left))
    return Fall(exponent, _local(sizes, [jackknife_interval(step, of) for step, of in zip(steps, steps_left.T, strict=True)]))


def _local(sizes: Array, slopes: list[Interval]) -> pd.DataFrame:
    """`Fall.local` of the slopes from each width to the next."""
    rows = [(at, *one[:3]) for at, one in zip(np.sqrt(sizes[:-1] * sizes[1:]), slopes, strict=False)]
    return pd.DataFrame(rows, columns=[SIZE, "slope", "low", "high"])


def shared_seeds(networks: pd.DataFrame) -> bool:
    """True if two data sets have a seed of the weights in common, so that they are not independent."""
    return bool((networks.groupby("seed")[DATA].nunique() > 1).any())


def held(networks: pd.DataFrame, outputs: Mapping[str, Array]) -> pd.DataFrame:
    """The networks that have outputs."""
    found: pd.DataFrame = networks[networks["cell_id"].isin(list(outputs))]
    return found
