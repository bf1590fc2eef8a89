"""Charts of any measure against any key: the axes that a selection offers, the chart to show first, and the chosen chart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.charts.curves import Look, curves_chart, with_residuals
from analysis.data.choosing import along_with, having, label
from analysis.data.comparing import differing, fitting, of_commonest_version, own
from analysis.data.keys import captioned, gamma_once, of_data, spoken, with_gamma
from analysis.data.parts import are_at_equilibrium, with_parts
from analysis.data.points import Points, averaged, described, groups, not_default, seeds, settings_of, unmixed, with_intervals
from analysis.data.selection import VERSION, Selection, Value, n_failed, points_sql
from analysis.overlays import overlays
from sweepkit.console.words import counted, listed, shown
from sweepkit.declarations.columns import Key
from sweepkit.declarations.metrics import STATISTICS
from sweepkit.stats import FEW
from sweepkit.store.sql import quoted

MOST_POINTS = 4000
"""Most points or raw values in a chart: more are slow to draw and cannot be read."""
MOST_PANELS = 12
MOST_NAMED = 3
"""Most places without a point, and most keys of the points left out, that a caption names."""


@dataclass(frozen=True)
class Choices:
    """The user's choices for a chart: `setting` fixes all keys that vary beside the axes of `look`."""

    look: Look
    setting: tuple[tuple[str, Value], ...] = ()
    centre: str = "mean"
    intervals: bool = True
    raw: bool = False
    theory: bool = True


class Explored(NamedTuple):
    """A chart, its data, its caption, and the theory values that are still to be computed."""

    chart: Any
    frame: pd.DataFrame
    caption: str
    missing: list[overlays.Later]
    sql: str
    """The query for these points, without their intervals."""
    drawn: "Layers"
    selection: Selection
    """The networks of these points."""


class Layers(NamedTuple):
    """The frames of a chart, as `curves_chart` takes them, for other libraries to draw."""

    points: pd.DataFrame
    theory: pd.DataFrame | None
    residuals: pd.DataFrame | None
    raw: pd.DataFrame | None


class TooMuch(ValueError):
    """More data than a chart can show; the message says how much, and what to do."""


def explore(results: str, selection: Selection, points: Points, choices: Choices) -> Explored | None:
    """The chart of the chosen points; None if there are none. TooMuch if there are too many."""
    look, setting = choices.look, dict(choices.setting)
    axes = [key for key in (look.x, look.colour, look.facet) if key]
    there = having(points, look.x)
    frame = of_commonest_version(there.frame[fitting(there.frame, setting, there.declared)])
    if look.log_x:
        frame = frame[frame[look.x] > 0]
    if frame.empty:
        return None
    _check_size(frame, look, choices.raw)
    frame = frame.reset_index(drop=True)
    plain = with_intervals(frame, points.measure, choices.centre)
    data = legible(plain, axes[1:])
    drawn = data if choices.intervals else data.assign(low=np.nan, high=np.nan)
    theory = residuals = None
    missing: list[overlays.Later] = []
    values = overlays.NOTHING
    if choices.theory or look.residual:
        beside = overlays.beside(plain, points.measure.name, wait=False)
        values, missing = beside
        panels = [key for key in (look.facet,) if key]
        if choices.theory:
            theory = legible(overlays.curves(plain, points.measure.name, look.x, panels, wait=False), panels)
        residuals = with_residuals(drawn, values, choices.centre) if look.residual else None
    raw, held = None, pinned(points, frame, setting, axes)
    if choices.raw:
        found = seeds(results, narrowed(selection, frame, held), points.measure.name, points.keys)
        raw = _of_points(found, points.keys, frame, data[axes])
    look = replace(look, along=_along(points, data, look.x, axes))
    chart = curves_chart(drawn, points.measure, look, theory, residuals, raw, choices.centre)
    keys = with_gamma(axes)
    table = overlays.joined(data[[*keys, *STATISTICS]], values)
    limits = [f"{quoted(look.x)} > 0" if look.log_x else f"{quoted(look.x)} IS NOT NULL"]
    shown_ones = replace(narrowed(selection, frame, held), limits=" AND ".join(limits))
    sql = points_sql(shown_ones, points.measure, keys, FEW)
    layers = Layers(drawn, theory, residuals, raw)
    lost = unmixed(frame, groups(results, selection, "unmixed")) if are_at_equilibrium(frame) else ""
    caption = _caption(points, data, setting, axes, choices, lost, n_failed(results, shown_ones))
    return Explored(chart, table, caption, missing, sql, layers, shown_ones)


def legible(data: pd.DataFrame, axes: Iterable[str]) -> pd.DataFrame:
    """The points or rows, with a word in place of each missing value of the keys that tell curves or panels apart.

    Else they would belong to no group, and would not be drawn."""
    words = {
        key: [label(None if pd.isna(value) else value, key) for value in data[key]] for key in axes if data[key].isna().any()
    }
    return data.assign(**words)


def narrowed(selection: Selection, shown_ones: pd.DataFrame, setting: Mapping[str, Value]) -> Selection:
    """The networks of these points, which are those of a selection that have the values of a setting."""
    return selection.only(_where(shown_ones, setting))


def pinned(points: Points, shown_ones: pd.DataFrame, setting: Mapping[str, Value], axes: Iterable[str]) -> dict[str, Value]:
    """The setting, and the values of further keys that tell these points apart from networks that diverged where none finished,
    such as a learning rate that was too large. A query without them counts those networks in."""
    found = dict(setting)
    if points.lost.empty:
        return found
    left = points.lost[fitting(points.lost, setting, points.declared)]
    keys = [key for key in map(str, points.lost) if isinstance(points.declared.get(key), Key) and left[key].notna().any()]
    for key in captioned([*points.keys, *keys], points.declared):
        held = shown_ones[key].unique().tolist() if key in shown_ones else [None]
        if key in {*setting, *with_gamma(axes)} or len(held) > 1:
            continue
        value = None if pd.isna(held[0]) else held[0]
        same = fitting(left, {key: value}, points.declared)
        if not same.all():
            found[key], left = value, left[same]
    return found


def networks_of(shown_ones: pd.DataFrame, setting: Mapping[str, Value]) -> dict[str, Iterable[Value] | Value]:
    """The values of keys that select the networks of these points. They also fit rows that have no such key."""
    found: dict[str, Iterable[Value] | Value] = {}
    for key, value in setting.items():
        left_out = key in shown_ones and shown_ones[key].isna().any()
        found[key] = (value, None) if value is not None and left_out else value
    return found


def _where(shown_ones: pd.DataFrame, setting: Mapping[str, Value]) -> dict[str, Iterable[Value] | Value]:
    """The setting for a query, limited to the versions of the code that are shown."""
    found = networks_of(shown_ones, setting)
    if VERSION in shown_ones:
        found[VERSION] = [None if pd.isna(version) else version for version in shown_ones[VERSION].unique()]
    return found


def _of_points(found: pd.DataFrame, keys: Sequence[str], points: pd.DataFrame, axes: pd.DataFrame) -> pd.DataFrame:
    """The networks that belong to these points, with the points' words for the axes."""
    parts = [key for key in ("network", "training") if key in keys]
    found = found.assign(**with_parts(found)[parts])

    def told(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
        return [tuple(None if pd.isna(value) else value for value in row) for row in frame[[*keys]].itertuples(index=False)]

    at = dict(zip(told(points), range(len(points)), strict=True))
    place = [at.get(values, -1) for values in told(found)]
    words = axes.iloc[[i for i in place if i >= 0]].reset_index(drop=True)
    return found[[i >= 0 for i in place]].reset_index(drop=True).assign(**words)


def _check_size(frame: pd.DataFrame, look: Look, raw: bool) -> None:
    n_values = int(frame["n"].sum())
    if len(frame) > MOST_POINTS:
        raise TooMuch(
            f"{len(frame):,} points are more than a chart can show ({MOST_POINTS:,}): choose another abscissa or colour"
        )
    if raw and n_values > MOST_POINTS:
        raise TooMuch(f"{n_values:,} networks are more than a chart can show ({MOST_POINTS:,}): switch the raw seeds off")
    if look.facet and frame[look.facet].nunique() > MOST_PANELS:
        n = frame[look.facet].nunique()
        raise TooMuch(f"{n} panels are more than {MOST_PANELS}: choose another parameter for the panels, or use it as colour")


def _caption(
    points: Points,
    data: pd.DataFrame,
    setting: Mapping[str, Value],
    axes: Sequence[str],
    choices: Choices,
    lost: str,
    failed: int,
) -> str:
    """The words below a chart; lost: words about networks at equilibrium that did not mix; failed: networks at these values that
    could not be trained."""
    diverged = int(data["diverged"].sum())
    # Keys with one value in all points belong to the setting, like the chosen ones.
    told = [key for key in _sizes(points, data) if key in data and key not in axes]
    apart = {*axes, "network", "training"}  # `_sizes` tells them where they are not the paper's
    all_have = [key for key in captioned(points.keys, points.declared) if key in data and key not in apart]
    one = {key: data[key].dropna().iloc[0] for key in dict.fromkeys([*told, *all_have]) if _one(points, data, key)}
    # A caption leaves out what networks and trainings have by default.
    named = {*told, *not_default(one | {key: value for key, value in setting.items() if value is not None}, points.declared)}
    same = {key: value for key, value in one.items() if key in named}
    compared = [key for key in ("network", "training") if key in axes]
    belong = own(data, [key for key in told if key not in {*same, *setting}], compared, points.declared)
    parts = [
        described(same | dict(setting)),
        *(_each(data, key, compared) for key in belong if data[key].nunique() > 1),
        averaged(data, choices.centre, choices.intervals),
        ", ".join(filter(None, [counted(int(data["n"].sum()), "network"), lost])),
    ]
    look = choices.look
    parts += [_together(data, key, look.x) for key in _along(points, data, look.x, axes)]
    if look.colour and len(data) > 1 and (data.groupby([key for key in axes if key != look.x])[look.x].nunique() == 1).all():
        parts.append(f"each curve has a single {look.x}, so that no points are joined")
    if choices.intervals and data["low"].isna().any() and data["n"].max() > 1:
        need = "six seeds" if choices.centre == "median" else "two seeds"
        parts.append(f"no interval where there are fewer than {need}")
    if choices.intervals and choices.look.log_y and (data["low"] <= 0).any():
        parts.append("an interval that reaches 0 is drawn down to the end of the axis")
    if diverged:
        parts.append(f"{counted(diverged, 'diverged one')} left out")
    if failed:
        parts.append(f"{failed:,} more failed")
    parts += _lost(points, setting, {key: value for key, value in same.items() if key in points.keys}, axes)
    others = len(points.frame) - len(data)
    if others:
        vary = gamma_once([key for key in setting if points.frame[key].nunique(dropna=False) > 1], points.frame)
        of = listed([spoken(key) for key in vary]) if 0 < len(vary) <= MOST_NAMED else "configurations"
        parts.append(f"{counted(others, 'point')} of other {of} not shown")
    return "; ".join(part for part in parts if part) + "."


def _along(points: Points, data: pd.DataFrame, x: str, axes: Sequence[str]) -> tuple[str, ...]:
    """The keys that change along with `x` in the data, and are no axis."""
    return tuple(key for key in along_with(points._replace(frame=data), x) if key in data and key not in axes)


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
    """Whether all points whose parts have the key have the same value, and some have one."""
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
