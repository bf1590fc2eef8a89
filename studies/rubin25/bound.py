"""The large-deviation bound beside thresholds P* of measured networks: 2-layer erf networks, target He_3 [Rubin25 App. B].

d, N   input dimension, width
P*     kappa t / (1 - A_f), t = dE/dA_f for the bound's energy E; its constant is known
"""

from collections.abc import Mapping
from typing import Any, get_args

import pandas as pd

from analysis.data.points import in_order
from analysis.overlays.theory import About
from analysis.scaling.predictions import Prediction
from sweepkit.declarations.keys import FIRST_SAMPLER

from .theory.gaussian_process import lazy_alignment, less_lazy
from .theory.large_deviation import Length, Scaling, Size, as_scaling, n_specialised, samples, slope

MEASURE, OVER = "alignment_f", "P"
AS_ROOT = {"width": 0.5, "d": 0.5}
"""The number of samples that specialisation needs grows with these powers of the sizes [Rubin25 S5, App. E.2]."""
ABOUT = About(("he3",), ("erf2",), (FIRST_SAMPLER,), plain={})
ONSET = 0.1
"""A_f at which networks begin to learn; nstar_he3_quick searches for it and says why."""
SOURCE = "bound over these sizes"
MEANING = "bound: kappa t/(1 - A_f) of the large-deviation bound at the very d and N of these thresholds [Rubin25 App. B]"
BOUND_UNIT = "the bound's P*"
"""Name of the unit in which curves over P collapse."""
LINES: dict[str, Length] = {"the bound": "free", "the paper's, of fixed length": "fixed"}
"""Names of the bound's lines in charts, with the length of a neuron's weights across w* that each takes."""


def scaling_of(values: Mapping[str, Any] | pd.DataFrame, measure: str, over: str) -> Scaling | None:
    """The scaling of networks that the bound applies to; None if it does not apply to all of them, or if they have several."""
    if (measure, over) != (MEASURE, OVER):
        return None
    frame = values if isinstance(values, pd.DataFrame) else pd.DataFrame([values])
    scalings = list(frame["scaling"].unique()) if "scaling" in frame else []
    if len(scalings) != 1 or pd.isna(scalings[0]) or not ABOUT.speaks_of(frame).all():
        return None
    return as_scaling(str(scalings[0]))


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
        group = group[group[against].between(*within) & group["threshold"].map(lambda t: t.is_reached)]
        scaling = scaling_of(group, measure, over)
        if against not in get_args(Size) or scaling is None or group[against].nunique() < 2:
            continue
        level = group["threshold"].iloc[0].level
        if level > 0:
            exponent = slope(level, group["width"].to_numpy(), group["d"].to_numpy(), scaling, "d" if against == "d" else "width")
            found[value] = Prediction(over, against, round(exponent, 2), SOURCE)
    return found


def predicted_samples(frame: pd.DataFrame, scaling: Scaling, level: float, length: Length = "free") -> "pd.Series[float]":
    """P* of the bound at this alignment for the width, d and kappa of each row. ValueError unless 0 < level < 1."""
    sizes = zip(frame["width"].astype(int), frame["d"].astype(int), frame["kappa"].astype(float), strict=True)
    return pd.Series([samples(level, *size, scaling, length) for size in sizes], index=frame.index, dtype=float)


def lines(frame: pd.DataFrame, measure: str, over: str, against: str, by: str | None) -> pd.DataFrame | None:
    """The bound's P* beside `scaling.thresholds` of several sizes, for `threshold_panel`: `against`, `by`, `value`, and `line`,
    a name of LINES. None if the bound applies to none of them."""
    found = []
    for value in in_order(frame, by) if by else [None]:
        group = frame if by is None else frame[frame[by] == value]
        scaling, level = scaling_of(group, measure, over), group["threshold"].iloc[0].level
        if scaling is None or not 0 < level < 1 or len(group) < 2 or group[against].duplicated().any():
            continue
        keys = group[[key for key in (against, by) if key]]
        found += [keys.assign(value=predicted_samples(group, scaling, level, of), line=name) for name, of in LINES.items()]
    return pd.concat(found, ignore_index=True) if found else None


def specialised_neurons(frame: pd.DataFrame, scaling: Scaling) -> "pd.Series[float]":
    """M that the bound asks for in networks of each row's alignment, width, d, P and kappa, less the share of lazy learning; NaN
    where that leaves nothing."""
    columns = ("alignment", "P", "width", "d", "kappa")
    found = []
    for alignment, P, N, d, kappa in zip(*(frame[name] for name in columns), strict=True):
        supplied = less_lazy(float(alignment), lazy_alignment(float(P), int(N), int(d), float(kappa), scaling))
        found.append(n_specialised(supplied, int(N), int(d), scaling) if supplied > 0 else float("nan"))
    return pd.Series(found, index=frame.index, dtype=float)


def multiples(table: pd.DataFrame, bounds: pd.DataFrame, against: str) -> str:
    """Words: how many times the bound's P* the thresholds are that were reached; empty if there are none.

    table: a `threshold_table` of one value of `by`, bounds: its `lines`.
    """
    said = bounds[bounds["line"] == next(iter(LINES))].set_index(against)["value"]
    reached = table[table["state"] == "reached"]
    times = (reached["threshold"].astype(float) / reached[against].map(said)).dropna()
    return f"P* is {times.min():.2f} to {times.max():.2f} times the bound's" if len(times) else ""
