"""Several networks and trainings in one chart: a key that one of them does not have makes no difference of setting."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from analysis.data.parts import parts_alone, with_parts
from analysis.data.points import Points, varying
from analysis.data.selection import VERSION, Value
from sweepkit.declarations.columns import Column, Key

PARTS = ("task", "network", "training")
"""Keys that name the parts of a cell, each of which brings keys of its own."""

_ALL_HAVE = (*PARTS, "loss")
"""Keys that every network has: a row without one has the default of its task."""


def named(points: Points) -> Points:
    """The points with the network and the training by name, where their rows have none."""
    parts = [key for key in ("network", "training") if key in points.keys]
    if not parts:
        return points
    frame, lost = (rows.assign(**with_parts(rows)[parts]) for rows in (points.frame, points.lost))
    return points._replace(frame=frame, lost=lost)


def lacking(frame: pd.DataFrame, key: str, declared: Mapping[str, Column]) -> "pd.Series[bool]":
    """Rows of a part that lacks the key: no row of the part has a value. The part is the task, network or training that the key
    belongs to.

    A network that is sampled has other keys than one of the same name that is trained.
    """
    column = declared.get(key)
    part = column.part if isinstance(column, Key) and key not in _ALL_HAVE else None
    if part not in PARTS or frame[key].notna().all():
        return pd.Series(False, frame.index)
    parts = [name for name in (("network", "training") if part == "network" else (part,)) if name in frame]
    has = frame[key].notna()
    if not parts:
        return pd.Series(not has.any(), frame.index)
    by_name = parts_alone(frame)
    return ~has.groupby([by_name[name] for name in parts], dropna=False).transform("any").astype(bool)


def fitting(frame: pd.DataFrame, values: Mapping[str, Value], declared: Mapping[str, Column]) -> "pd.Series[bool]":
    """Rows that have these values, or whose parts do not have the key. None means no value. `frame`: all compared rows."""
    found = pd.Series(True, frame.index)
    for key, value in values.items():
        if value is None:
            found &= frame[key].isna()
        elif key == VERSION:
            found &= frame[key].map(lambda version, value=value: _agree(str(version), str(value)))
        else:
            found &= (frame[key] == value) | lacking(frame, key, declared)
    return found


def differing(frame: pd.DataFrame, keys: Iterable[str], declared: Mapping[str, Column]) -> list[str]:
    """Keys with several values among the rows whose parts have them; `gamma` is left out beside its label, as in `varying`."""
    return [key for key in varying(frame, keys) if _differs(frame, key, declared)]


def _differs(frame: pd.DataFrame, key: str, declared: Mapping[str, Column]) -> bool:
    if key == VERSION:
        versions = [str(version) for version in frame[key].unique()]
        return any(not _agree(one, other) for one in versions for other in versions)
    return bool(frame[key][~lacking(frame, key, declared)].nunique(dropna=False) > 1)


def _agree(one: str, other: str) -> bool:
    """Whether two versions agree in every part that both name."""
    ours, theirs = _told(one), _told(other)
    return all(ours[name] == theirs[name] for name in ours.keys() & theirs.keys())


def _told(version: str) -> dict[str, str]:
    """By part, the versions in a text such as `langevin 2, 3`. A version without a name stands under an empty name."""
    pairs = [text.rpartition(" ") for text in version.split(", ")]
    return {name: number for name, _, number in pairs}


def own(points: pd.DataFrame, keys: Iterable[str], axes: Iterable[str], declared: Mapping[str, Column]) -> list[str]:
    """Keys of the training that have a single value within each of the networks or trainings on the axes: they belong to what is
    compared, as a learning rate or a precision does. So do a network's own keys, such as the depth that it has by default where
    networks are compared, its only training, and a training's only network."""
    compared = [key for key in ("network", "training") if key in axes]
    if not compared:
        return []
    groups = points.groupby(compared, dropna=False)
    parts = {"training", *(["network"] if "network" in compared else [])}
    of_parts = [key for key in keys if isinstance(column := declared.get(key), Key) and column.part in parts]
    others = [key for key in ("network",) if key in keys and key not in axes and "training" in axes]
    return [key for key in (*of_parts, *others) if key not in axes and groups[key].nunique(dropna=False).max() == 1]


def of_commonest_version(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of one version for each task, network and training, if a setting fits several: the version of most rows."""
    if VERSION not in frame:
        return frame
    parts = [key for key in PARTS if key in frame]
    kept = frame.groupby(parts, dropna=False)[VERSION].transform(_commonest) if parts else _commonest(frame[VERSION])
    return frame[(frame[VERSION] == kept) | frame[VERSION].isna()]


def _commonest(versions: "pd.Series[Any]") -> Any:
    counts = versions.value_counts()
    return counts.index[0] if len(counts) else None


def most_parts(frame: pd.DataFrame, rest: Iterable[str], axes: Iterable[str], declared: Mapping[str, Column]) -> pd.DataFrame:
    """The rows at those values of shared keys at which most of the compared networks and trainings have points.

    A key of `rest` is shared if all rows have it."""
    compared = [key for key in PARTS if key in axes and key in frame]
    shared = [key for key in rest if key != VERSION and not lacking(frame, key, declared).any()]
    if not compared or not shared or len(frame[compared].drop_duplicates()) < 2:
        return frame
    told = frame[compared].astype(str).agg(" ".join, axis=1)
    n = told.groupby([frame[key] for key in shared], dropna=False).transform("nunique")
    return frame[n == n.max()]
