"""Charts of any measure against any key: the axes that a selection offers, the chart to show first, and the chosen chart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.charts.captions import caption, changing_along, missing_told
from analysis.charts.curves import Look, curves_chart, with_residuals
from analysis.data.choosing import having, label
from analysis.data.comparing import fitting, of_commonest_version
from analysis.data.keys import captioned, with_gamma
from analysis.data.parts import are_at_equilibrium, with_parts
from analysis.data.points import Points, groups, seeds, unmixed, with_intervals
from analysis.data.selection import VERSION, Selection, Value, points_sql
from analysis.overlays import overlays
from sweepkit.declarations.columns import Key
from sweepkit.declarations.metrics import STATISTICS
from sweepkit.stats import FEW
from sweepkit.store.sql import quoted

MOST_POINTS = 4000
"""Most points or raw values in a chart: more are slow to draw and cannot be read."""
MOST_PANELS = 12


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
    look = replace(look, along=changing_along(points, data, look))
    chart = curves_chart(drawn, points.measure, look, theory, residuals, raw, choices.centre)
    keys = with_gamma(axes)
    table = overlays.joined(data[[*keys, *STATISTICS]], values)
    limits = [f"{quoted(look.x)} > 0" if look.log_x else f"{quoted(look.x)} IS NOT NULL"]
    shown_ones = replace(narrowed(selection, frame, held), limits=" AND ".join(limits))
    sql = points_sql(shown_ones, points.measure, keys, FEW)
    layers = Layers(drawn, theory, residuals, raw)
    lost = unmixed(frame, groups(results, selection, "unmixed")) if are_at_equilibrium(frame) else ""
    told = caption(
        points,
        data,
        setting,
        look,
        choices.centre,
        choices.intervals,
        lost,
        missing_told(results, selection, shown_ones, points.measure),
        selection,
    )
    return Explored(chart, table, told, missing, sql, layers, shown_ones)


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
