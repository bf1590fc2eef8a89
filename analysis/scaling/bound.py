"""The large-deviation bound beside thresholds P* of measured networks: 2-layer erf networks, target He_3 [Rubin25 App. B].

d, N   input dimension, width
E      energy of the bound at an alignment: P* ~ kappa E has an open constant, so only its growth is compared
"""

from collections.abc import Mapping
from typing import Any, get_args

import pandas as pd

from analysis.data.points import in_order
from analysis.scaling.predictions import Prediction
from analysis.theory.large_deviation import Scaling, Size, as_scaling, energy, slope
from declarations.omitted import FIRST_SAMPLER

MEASURE, OVER = "alignment_f", "P"
ONSET = 0.1
"""A_f at which networks begin to learn; grids/nstar_he3_quick.yaml searches for it and says why."""
SOURCE = "bound over these sizes"
MEANING = "bound: slope of the large-deviation bound over the very d and N of these thresholds [Rubin25 App. B]"


def scaling_of(values: Mapping[str, Any] | pd.DataFrame, measure: str, over: str) -> Scaling | None:
    """The scaling of networks that the bound applies to; None if it does not apply, or if the keys that decide this have several
    values."""
    if (measure, over) != (MEASURE, OVER):
        return None
    found = {key: _only(values[key]) for key in ("task", "network", "training", "scaling") if key in values}
    known = (found.get("task"), found.get("network"), found.get("training") or FIRST_SAMPLER)
    if known != ("he3", "erf2", FIRST_SAMPLER) or found.get("scaling") is None:
        return None
    return as_scaling(str(found["scaling"]))


def _only(values: Any) -> Any:
    if not isinstance(values, pd.Series):
        return values
    distinct = values.unique()
    return distinct[0] if len(distinct) == 1 else None


def slopes(
    frame: pd.DataFrame, measure: str, over: str, against: str, by: str | None, within: tuple[float, float]
) -> dict[Any, Prediction]:
    """By the values of `by` (None without one), the exponent of the bound over the very d and N whose thresholds were reached.

    frame: `scaling.thresholds` against d or width. A value is left out if the bound does not apply to it or fewer than two sizes
    were reached.
    """
    found = {}
    for value in in_order(frame, by) if by else [None]:
        group = frame if by is None else frame[frame[by] == value]
        group = group[group[against].between(*within) & group["threshold"].map(lambda t: t.reached == "reached")]
        scaling = scaling_of(group, measure, over)
        if against not in get_args(Size) or scaling is None or group[against].nunique() < 2:
            continue
        level = group["threshold"].iloc[0].level
        if level > 0:
            exponent = slope(level, group["width"].to_numpy(), group["d"].to_numpy(), scaling, "d" if against == "d" else "width")
            found[value] = Prediction(over, against, round(exponent, 2), SOURCE)
    return found


def energies(frame: pd.DataFrame, scaling: Scaling, level: float) -> "pd.Series[float]":
    """E at this alignment for the width and d of each row. ValueError for level <= 0."""
    sizes = zip(frame["width"].astype(int), frame["d"].astype(int), strict=True)
    return pd.Series([energy(level, N, d, scaling) for N, d in sizes], index=frame.index, dtype=float)
