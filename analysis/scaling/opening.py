"""Settings in which there are enough thresholds for a law: what page Scaling opens on."""

from collections.abc import Iterable

import pandas as pd

from analysis.data.choosing import rest_of
from analysis.data.points import Points

ENOUGH = 3
"""Fewest thresholds through which a power law says something: through two, every one is perfect."""


def with_law(points: Points, over: str, against: str, by: str | None = None) -> Points:
    """The points of those settings that have curves over `over` at ENOUGH values of `against` or more, for some value of `by`.
    The frame is empty if there is no such setting."""
    told = [by] if by else []
    rest = rest_of(points, [over, against, *told])
    frame = points.frame
    curves = _distinct(frame, [*rest, *told, against], over)
    laws = _distinct(frame[curves > 1], [*rest, *told], against)
    enough = (laws >= ENOUGH).reindex(frame.index, fill_value=False)
    if rest:
        enough = enough.groupby([frame[key] for key in rest], dropna=False).transform("any")
    return points._replace(frame=frame if not rest and enough.any() else frame[enough])


def first_against(points: Points, over: str, candidates: Iterable[str], usual: str) -> str:
    """The key against which thresholds over `over` are shown first: the usual one, or another one if only that has enough."""
    order = sorted(candidates, key=lambda key: key != usual)
    return next((key for key in order if len(with_law(points, over, key).frame)), usual)


def _distinct(frame: pd.DataFrame, keys: list[str], key: str) -> "pd.Series[int]":
    """For each row, the number of values of `key` among the rows that agree with it in `keys`."""
    if not keys:
        return pd.Series(frame[key].nunique(), frame.index)
    return frame.groupby(keys, dropna=False)[key].transform("nunique")
