"""Captions of charts: what their points have in common, their seeds and intervals, and what is not shown."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from analysis.charts.curves import Look
from analysis.data.choosing import along_with, label
from analysis.data.comparing import differing, fitting, own
from analysis.data.keys import captioned, gamma_once, of_data, spoken
from analysis.data.points import Points, averaged, described, not_default, settings_of
from analysis.data.selection import Selection, Value, tasks_without, without
from sweepkit.console.words import counted, listed, shown
from sweepkit.declarations.columns import Metric

MOST_NAMED = 3
"""Most places without a point, and most keys of the points left out, that a caption names."""


def caption(
    points: Points,
    data: pd.DataFrame,
    setting: Mapping[str, Value],
    look: Look,
    centre: str,
    intervals: bool,
    lost: str,
    missing: Sequence[str],
    selection: Selection,
) -> str:
    """The words below a chart; lost: words about networks at equilibrium that did not mix; missing: those of `missing`."""
    axes = [key for key in (look.x, look.colour, look.facet) if key]
    diverged = int(data["diverged"].sum())
    told, same = setting_told(points, data, setting, axes, selection)
    parts = [
        *told,
        averaged(data, centre, intervals),
        ", ".join(filter(None, [counted(int(data["n"].sum()), "network"), lost])),
    ]
    parts += [_together(data, key, look.x) for key in changing_along(points, data, look)]
    if look.colour and len(data) > 1 and (data.groupby([key for key in axes if key != look.x])[look.x].nunique() == 1).all():
        parts.append(f"each curve has a single {look.x}, so that no points are joined")
    if intervals and data["low"].isna().any() and data["n"].max() > 1:
        need = "six seeds" if centre == "median" else "two seeds"
        parts.append(f"no interval where there are fewer than {need}")
    if intervals and look.log_y and (data["low"] <= 0).any():
        parts.append("an interval that reaches 0 is drawn down to the end of the axis")
    if diverged:
        parts.append(f"{counted(diverged, 'diverged one')} left out")
    parts += _lost(points, setting, {key: value for key, value in same.items() if key in points.keys}, axes)
    return joined([*parts, *others_told(points, data, setting), *missing])


def joined(parts: Iterable[str]) -> str:
    """One sentence of these parts, of which some may be empty."""
    return "; ".join(part for part in parts if part) + "."


def setting_told(
    points: Points, data: pd.DataFrame, setting: Mapping[str, Value], axes: Sequence[str], selection: Selection
) -> tuple[list[str], dict[str, Value]]:
    """Words for all that the points of a chart have in common, and the values of keys among it that were not chosen. A value that
    the selection names is told even if it is a default."""
    # Keys with one value in all points belong to the setting, like the chosen ones.
    told = [key for key in _sizes(points, data) if key in data and key not in axes]
    asked = {key for key, _ in selection.where} - {"task"}
    apart = {*axes, *({"network", "training"} - asked)}  # `_sizes` tells them where they are not the paper's
    all_have = [key for key in captioned(points.keys, points.declared) if key in data and key not in apart]
    one = {key: data[key].dropna().iloc[0] for key in dict.fromkeys([*told, *all_have]) if _one(points, data, key)}
    # A caption leaves out what networks and trainings have by default.
    named = {
        *told,
        *asked,
        *not_default(one | {key: value for key, value in setting.items() if value is not None}, points.declared),
    }
    same = {key: value for key, value in one.items() if key in named}
    compared = [key for key in ("network", "training") if key in axes]
    belong = own(data, [key for key in told if key not in {*same, *setting}], compared, points.declared)
    words = [described(same | dict(setting)), *(_each(data, key, compared) for key in belong if data[key].nunique() > 1)]
    return words, same


def others_told(points: Points, shown_ones: pd.DataFrame, setting: Mapping[str, Value]) -> list[str]:
    """Words for the points that have other values than those chosen for the chart."""
    others = len(points.frame) - len(shown_ones)
    vary = gamma_once([key for key in setting if points.frame[key].nunique(dropna=False) > 1], points.frame)
    of = listed([spoken(key) for key in vary]) if 0 < len(vary) <= MOST_NAMED else "configurations"
    return [f"{counted(others, 'point')} of other {of} not shown"] if others else []


def missing_told(results: str, selection: Selection, shown_ones: Selection, measure: Metric) -> list[str]:
    """Words for networks of the selection that are in no point of a measure: at the values of the chart, and in a sweep those of
    tasks that do not have it."""
    tasks = tasks_without(results, selection, measure)
    failed, not_finite = without(results, shown_ones, measure, tasks)
    return [
        *([f"{failed:,} more failed"] if failed else []),
        *([f"{counted(not_finite, 'further network')} without a finite {measure.title}"] if not_finite else []),
        *(tasks_told(tasks, f"a {measure.title}") if selection.sweep else []),
    ]


def tasks_told(without_it: Mapping[str, int], what: str) -> list[str]:
    """Words for the tasks whose networks do not have it, with their numbers."""
    of = listed(without_it) if len(without_it) <= MOST_NAMED else f"{len(without_it)} other tasks"
    return [f"{counted(sum(without_it.values()), 'network')} of {of} without {what}"] if without_it else []


def changing_along(points: Points, data: pd.DataFrame, look: Look) -> tuple[str, ...]:
    """The keys that change along with the abscissa in the data, and are no axis."""
    axes = (look.x, look.colour, look.facet)
    return tuple(key for key in along_with(points._replace(frame=data), look.x) if key in data and key not in axes)


def _lost(points: Points, setting: Mapping[str, Value], same: Mapping[str, Value], axes: Sequence[str]) -> list[str]:
    """The places of the chart that have no point because all networks there diverged, in words. `same`: values that all points
    have; networks with another one have their place elsewhere."""
    if points.lost.empty:
        return []
    frame = points.lost[fitting(points.lost, setting, points.declared)]
    here = fitting(frame, {key: value for key, value in same.items() if key in frame}, points.declared)
    return [*_none_here(frame[here], axes), *_none_elsewhere(frame[~here], same)]


def _none_elsewhere(frame: pd.DataFrame, same: Mapping[str, Value]) -> list[str]:
    """Words about networks that diverged at values that no point has."""
    if frame.empty:
        return []
    apart = [key for key, value in same.items() if key in frame and (frame[key] != value).all() and frame[key].nunique() == 1]
    where = f" at {described({key: frame[key].iloc[0] for key in apart})}" if apart else " at other configurations"
    n = int(frame["diverged"].sum())
    return [f"{counted(n, 'network')}{where} diverged, and none finished there"]


def _none_here(frame: pd.DataFrame, axes: Sequence[str]) -> list[str]:
    """The places of these axes at which networks diverged and none finished."""
    told = [key for key in axes if key in frame and frame[key].notna().any()]
    if frame.empty or not told:
        return []
    places = frame[told].drop_duplicates()
    first = [described(dict(zip(told, row, strict=True))) for row in places.head(MOST_NAMED).itertuples(index=False)]
    more = f" and {len(places) - MOST_NAMED} others" if len(places) > MOST_NAMED else ""
    diverged = counted(int(frame["diverged"].sum()), "network")
    return [f"no point at {' or '.join(first)}{more}, where none finished and {diverged} diverged"]


def _sizes(points: Points, data: pd.DataFrame) -> list[str]:
    """Keys that a caption lists if all points agree in them: the keys of the data, then those of the paper's setting; without
    such a setting, all keys. `network` and `training` are left out if they are the paper's."""
    keys, paper = captioned(points.keys, points.declared), settings_of(data)
    named = list(dict.fromkeys([*of_data(keys, points.declared), *paper])) if paper else keys
    usual = [key for key in ("network", "training") if key in data and set(data[key]) == {paper.get(key)}]
    return [key for key in named if key not in usual]


def _one(points: Points, data: pd.DataFrame, key: str) -> bool:
    """True if all points whose parts have the key have the same value, and some have one."""
    return not differing(data, [key], points.declared) and bool(data[key].notna().any())


def _together(data: pd.DataFrame, key: str, x: str) -> str:
    """`P changes along with width: 512 to 2048`."""
    values = data.sort_values(x)[key].tolist()
    first, last = ("the default" if pd.isna(value) else label(value, key) for value in (values[0], values[-1]))
    return f"{spoken(key)} changes along with {x}: {first} to {last}"


def _each(data: pd.DataFrame, key: str, compared: list[str]) -> str:
    """`base_lr = 0.1 of sgd, 0.001 of adam`."""
    groups = data.dropna(subset=[key]).groupby(compared)[key].first()
    names = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in groups.index]
    return f"{key} = " + ", ".join(f"{shown(value)} of {name}" for value, name in zip(groups, names, strict=True))
