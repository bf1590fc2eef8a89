"""Networks whose width grows with the input dimension, N = c d; and samples that grow as powers of sizes, P = c sqrt(N d)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.data.points import Points

RATIO = "width/d"
"""The key in place of the width when networks are compared at one proportion."""


def in_proportion(frame: pd.DataFrame, of: str = "width", to: str = "d") -> pd.DataFrame:
    """The rows in which `of` is one multiple of `to`; of several multiples, the one with most values of `to`."""
    ratio = _ratio(frame, of, to)
    spanned = frame.groupby(ratio)[to].nunique()
    return frame[ratio == spanned.idxmax()].reset_index(drop=True)


def in_power(frame: pd.DataFrame, of: str, powers: Mapping[str, float]) -> pd.DataFrame:
    """The rows in which `of` is one multiple of these powers of other keys; whole numbers may have been rounded.

    Of several multiples, the one with most sizes is taken, then the largest. A search leaves many values of `of` at each size,
    and most of them follow no such law.
    """
    scale = np.prod([frame[key].to_numpy(float) ** power for key, power in powers.items()], axis=0)
    values, sizes = frame[of].to_numpy(float), frame.groupby(list(powers)).ngroup().to_numpy()
    best = np.zeros(len(frame), dtype=bool)
    is_whole = bool((values == values.round()).all())
    for multiple in np.unique(values / scale):
        apart = np.abs(values - multiple * scale)
        rows = apart < 1 if is_whole else apart <= 1e-6 * np.abs(values)  # a rounding of float32, or what a grid writes
        best = rows if len(np.unique(sizes[rows])) >= len(np.unique(sizes[best])) else best
    return frame[best].reset_index(drop=True)


def width_as(ratio: float) -> str:
    """Words such as `N = 2 d`."""
    return f"N = {'' if ratio == 1 else f'{ratio:g} '}d"


def _ratio(frame: pd.DataFrame, of: str, to: str) -> "pd.Series[float]":
    return (frame[of] / frame[to]).astype(float).round(9)


def proportions(points: Points) -> tuple[int, int]:
    """The number of values of d with the most frequent proportion N = c d, and the number with the most frequent width."""
    frame = points.frame
    if not {"width", "d"} <= {*points.keys} or frame[["width", "d"]].isna().any(axis=None):
        return 0, 0
    by = (_ratio(frame, "width", "d"), frame["width"])
    of_ratio, of_width = (int(frame["d"].groupby(values).nunique().max()) for values in by)
    return of_ratio, of_width


def by_proportion(points: Points) -> Points:
    """The points with RATIO as a key in place of the width, which stays a column."""
    keys = [RATIO if key == "width" else key for key in points.keys]
    return points._replace(frame=points.frame.assign(**{RATIO: _ratio(points.frame, "width", "d")}), keys=keys)
