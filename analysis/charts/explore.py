"""Charts of any measure against any key: the axes that a selection offers, the chart to show first, and the chosen chart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from analysis.charts.curves import Look, curves_chart, with_residuals
from analysis.data.keys import captioned, gamma_once, is_label, of_data, with_gamma
from analysis.data.measures import measures
from analysis.data.points import (
    STATISTICS,
    Points,
    averaged,
    counted,
    described,
    one_setting,
    seeds,
    settings_of,
    varying,
    with_intervals,
)
from analysis.data.selection import Selection, Value, points_sql
from analysis.overlays import overlays
from console.words import shown  # fmt: skip
from declarations.column import Column
from stats import FEW
from store.sql import quoted
from store.views import run

MOST_POINTS = 4000
"""Most points or raw values in a chart: more are slow to draw and cannot be read."""
MOST_PANELS = 12


def measured(results: str, selection: Selection) -> list[str]:
    """Names of the measures that some selected network has a value of."""
    known = measures(results)
    counts = ", ".join(f"count({measure.sql})" for measure in known.values())
    sql = f"SELECT {counts} FROM {selection.source} WHERE {selection.condition}"
    row = run(results, lambda connection: connection.execute(sql).fetchone()) or ()
    return [name for name, n in zip(known, row, strict=False) if n]


class Keyed(Protocol):
    """Points or networks: a frame, and the names of its columns that are grid keys."""

    @property
    def frame(self) -> pd.DataFrame: ...
    @property
    def keys(self) -> list[str]: ...
    @property
    def declared(self) -> Mapping[str, Column]: ...


class Axes(NamedTuple):
    """Keys for the abscissa, all numbers, and keys that can distinguish curves or panels: labels first, then numbers, then
    texts."""

    numbers: list[str]
    others: list[str]


def axes_of(points: Points) -> Axes:
    """The keys that vary among some points, as axes; each kind in the order of declaration."""

    def is_text(key: str) -> bool:
        return not pd.api.types.is_numeric_dtype(points.frame[key])

    numbers = [key for key in points.keys if not is_text(key) and points.frame[key].nunique() > 1]
    vary = varying(points.frame, points.keys)
    return Axes(numbers, sorted(vary, key=lambda key: (not is_label(key, points.declared), is_text(key))))


def suggested(points: Points, axes: Axes) -> tuple[str, str | None]:
    """Abscissa and colour of a first figure: the number with most values, and a key that varies beside it (None without one).
    ValueError if no number varies."""
    if not axes.numbers:
        raise ValueError("no key that is a number varies")
    # Lazy networks have another gamma at each d, but one label.
    values = {key: "gamma_label" if key == "gamma" and "gamma_label" in points.frame else key for key in axes.numbers}
    x = max(axes.numbers, key=lambda key: points.frame[values[key]].nunique())
    others = [key for key in axes.others if not same_axis(key, x)]
    part = one_setting(points.frame, points.keys, [x, *others[:1]], settings_of(points.frame), points.declared).frame
    return x, next((key for key in others if part[key].nunique() > 1), None)


def suits_log(values: "pd.Series[Any]") -> bool:
    """Whether a logarithmic axis suits values: all positive, and over more than a factor of 20."""
    return bool(values.min() > 0 and values.max() > 20 * values.min())


def same_axis(key: str, other: str) -> bool:
    """Whether two keys are the same axis, as gamma and its label are."""
    return key == other or {key, other} == {"gamma", "gamma_label"}


def rest_of(points: Keyed, chosen: Iterable[str]) -> list[str]:
    """Keys that vary beside the chosen ones. Each must be fixed to one value, as only seeds are averaged over."""
    chosen = list(chosen)
    return [key for key in varying(points.frame, points.keys) if not any(same_axis(key, other) for other in chosen)]


def settled(
    points: Keyed,
    rest: Sequence[str],
    wanted: Mapping[str, Value],
    first: str | None = None,
    prefer: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """A value for each key of `rest`, such that there are points with all of them.

    A wanted value is taken if points have it, that of the key `first` before the others. The other keys are as preferred (without
    `prefer`, as in the paper's setting of the task), or else as in most networks.
    """
    frame = points.frame
    for key in sorted(wanted, key=lambda key: key != first):
        if key in rest and (part := matching(frame, {key: wanted[key]})).any():
            frame = frame[part]
    axes = [key for key in gamma_once(points.keys, rest) if key not in rest]
    prefer = settings_of(frame) if prefer is None else prefer
    return one_setting(frame, points.keys, axes, prefer, points.declared).values if rest else {}


def matching(frame: pd.DataFrame, values: Mapping[str, Value]) -> "pd.Series[bool]":
    """Whether each row has these values; None stands for a missing value."""
    found = pd.Series(True, index=frame.index)
    for key, value in values.items():
        found &= frame[key].isna() if value is None else frame[key] == value
    return found


def values_of(points: Keyed, key: str) -> list[Value]:
    """The sorted values of a key among points: labels of gamma by gamma, None last."""
    frame = points.frame.sort_values("gamma" if key == "gamma_label" and "gamma" in points.frame else key)
    known = frame[key].dropna().unique().tolist()
    return [*known, *([None] if frame[key].isna().any() else [])]


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


class TooMuch(ValueError):
    """More data than a chart can show; the message says how much, and what to do."""


def explore(results: str, selection: Selection, points: Points, choices: Choices) -> Explored | None:
    """The chart of the chosen points; None if there are none. TooMuch if there are too many."""
    look, setting = choices.look, dict(choices.setting)
    axes = [key for key in (look.x, look.colour, look.facet) if key]
    frame = points.frame[matching(points.frame, setting)].dropna(subset=[look.x])
    if look.log_x:
        frame = frame[frame[look.x] > 0]
    if frame.empty:
        return None
    _check_size(frame, look, choices.raw)
    data = with_intervals(frame.reset_index(drop=True), points.measure, choices.centre)
    drawn = data if choices.intervals else data.assign(low=np.nan, high=np.nan)
    theory = residuals = None
    missing: list[overlays.Later] = []
    values = overlays.NOTHING
    if choices.theory or look.residual:
        beside = overlays.beside(data, points.measure.name, wait=False)
        values, missing = beside
        panels = [key for key in (look.facet,) if key]
        theory = overlays.curves(data, points.measure.name, look.x, panels, wait=False) if choices.theory else None
        residuals = with_residuals(drawn, values, choices.centre) if look.residual else None
    raw = None
    if choices.raw:
        fixed = {key: value for key, value in setting.items() if key != "gamma_label" or value is not None}
        raw = seeds(results, selection.only(fixed), points.measure.name, axes)
    chart = curves_chart(drawn, points.measure, look, theory, residuals, raw, choices.centre)
    keys = with_gamma(axes)
    table = overlays.joined(data[[*keys, *STATISTICS]], values)
    limits = [f"{quoted(look.x)} > 0" if look.log_x else f"{quoted(look.x)} IS NOT NULL"]
    shown_ones = replace(selection.only(setting), limits=" AND ".join(limits))
    sql = points_sql(shown_ones, points.measure, keys, FEW)
    return Explored(chart, table, _caption(points, data, setting, axes, choices), missing, sql)


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
        raise TooMuch(f"{n} panels are more than {MOST_PANELS}: choose another key for the panels, or use it as colour")


def _caption(points: Points, data: pd.DataFrame, setting: Mapping[str, Value], axes: Sequence[str], choices: Choices) -> str:
    diverged = int(data["diverged"].sum())
    # Keys with one value in all points belong to the setting, like the chosen ones.
    same = {key: data[key].iloc[0] for key in _sizes(points, data) if _one(data, key) and key not in axes}
    parts = [
        described(same | dict(setting)),
        averaged(data, choices.centre, choices.intervals),
        counted(int(data["n"].sum()), "network"),
    ]
    if choices.intervals and data["low"].isna().any() and data["n"].max() > 1:
        need = "six seeds" if choices.centre == "median" else "two seeds"
        parts.append(f"no interval where there are fewer than {need}")
    if diverged:
        parts.append(f"{counted(diverged, 'diverged one')} left out")
    others = len(points.frame) - len(data)
    if others:
        parts.append(f"{counted(others, 'point')} of other settings not shown")
    return "; ".join(part for part in parts if part) + "."


def _sizes(points: Points, data: pd.DataFrame) -> list[str]:
    """Keys that a caption lists if all points agree in them: the keys of the data, then those of the paper's setting; without
    such a setting, all keys. `training` is left out if it is the paper's."""
    keys, paper = captioned(points.keys, points.declared), settings_of(data)
    named = list(dict.fromkeys([*of_data(keys, points.declared), *paper])) if paper else keys
    usual = "training" in data and set(data["training"]) == {paper.get("training")}
    return [key for key in named if not (key == "training" and usual)]


def _one(frame: pd.DataFrame, key: str) -> bool:
    return key in frame and frame[key].nunique(dropna=False) == 1


def label(value: Value) -> str:
    """A value as select boxes and URLs show it."""
    return "none" if value is None else shown(value)
