"""Figures of anyone's own sweep: `curve`, any metric against any parameter or along training, and `map`, a metric over two."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from analysis.asked_chart import asked_points, check_apart, key_named, selected, setting_for
from analysis.charts.maps import heat_map
from analysis.data.choosing import having
from analysis.data.keys import captioned
from analysis.data.points import Points, averaged, described, numeric_keys, with_intervals
from analysis.data.progress.coverage import sweeps
from analysis.data.source import ResultsError
from analysis.drawing import AskedChart, draw
from analysis.figures.drawn import Titled
from analysis.overlays.overlays import Compute
from sweepkit.console.words import capital, counted, listed, show, shown
from sweepkit.declarations.metrics import STATISTICS

LIBRARIES = ("altair", "matplotlib")


def curve(
    results: str, asked: AskedChart, compute: Compute, library: str = "altair", size: Mapping[str, int] | None = None
) -> Titled:
    """The figure `curve`; `size` may hold `width` and `height` of a panel in pixels. ResultsError for a mistake, with what there
    is instead."""
    asked = _of_one_sweep(results, replace(asked, suited=True))
    answer = draw(results, asked, compute, size, size)
    found, measure, look = answer
    chart = found.chart
    if library == "matplotlib":
        from analysis.charts.shown.in_matplotlib import figure

        chart = figure(found.drawn, measure, look, found.caption, centre=asked.centre)
    axes = f"{look.x}-panels-{asked.panels}" if asked.panels else look.x
    return Titled(answer.title, found.caption, chart, found.frame, _file_name(asked.sweep, measure.name, axes))


def _unfit(points: Points, key: str) -> str:
    """Words about a key that is no logarithmic axis because it holds 0 or less, and about the values that can be drawn."""
    column = points.frame[key].dropna() if key in points.keys else pd.Series()
    if not pd.api.types.is_numeric_dtype(column) or not (column <= 0).any():
        return ""
    above = sorted(column[column > 0].unique())
    held = f"it holds {shown(column.min())}; "
    return f"{held}choose the others, {key} = {listed(map(shown, above))}, or draw a curve; " if len(above) > 1 else held


def colour_map(results: str, asked: AskedChart) -> Titled:
    """The figure `map`: the metric `asked.y` as colour over `asked.x` and `asked.by`, numbers above 0 with several values.

    The default is the two with most values."""
    asked = _of_one_sweep(results, asked)
    selection = selected(results, asked.sweep, asked.where)
    points = asked_points(results, selection, asked.y)
    offered = numeric_keys(points)
    check_apart(x=asked.x, by=asked.by)
    named = [None if key is None else key_named(results, key).replace("gamma_label", "gamma") for key in (asked.x, asked.by)]
    if wrong := [key for key in named if key is not None and key not in offered]:
        raise ResultsError(
            f"a map over {show(wrong[0])}: {_unfit(points, wrong[0])}"
            f"axes must be numbers above 0 with several values, as they are logarithmic: {listed(offered)}"
        )
    free = sorted((key for key in offered if key not in named), key=lambda key: -points.frame[key].nunique())
    if len(free) < named.count(None):
        raise ResultsError(f"a map needs two parameters that are numbers above 0 with several values; there is {listed(offered)}")
    x, y = (key or free.pop(0) for key in named)
    there = having(having(points, x), y)
    setting = setting_for(there._replace(frame=there.frame[(there.frame[x] > 0) & (there.frame[y] > 0)]), (x, y))
    frame = with_intervals(setting.frame, points.measure, asked.centre)
    told = described(setting.values, captioned(setting.values, points.declared))
    parts = [told, averaged(frame, asked.centre, intervals=False), counted(int(frame["n"].sum()), "network")]
    if setting.others:
        parts.append(f"{counted(setting.others, 'other configuration')} not shown")
    shown = frame.assign(mean=frame[asked.centre])
    chart = heat_map(shown, points.measure, x, y)
    title = f"{capital(points.measure.title)} over {x} and {y}"
    caption = "; ".join(part for part in parts if part) + "."
    return Titled(title, caption, chart, frame[[x, y, *STATISTICS]], _file_name(asked.sweep, points.measure.name, f"{x}-{y}"))


def _of_one_sweep(results: str, asked: AskedChart) -> AskedChart:
    """The question about the store's only sweep, if it has one and none is named."""
    names = sweeps(results) if asked.sweep is None else []
    return replace(asked, sweep=names[0]) if len(names) == 1 else asked


def _file_name(sweep: str | None, measure: str, axes: str) -> str:
    return re.sub(r"[^\w.-]+", "_", "-".join([sweep or "all", measure, axes]))
