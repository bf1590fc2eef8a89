"""Curves with intervals, theory and residuals as a matplotlib figure, from the frames that the Altair charts draw."""

import itertools
from copy import copy
from typing import Any

import numpy as np
import pandas as pd

from analysis.charts.curves import DASHES, Look, colours, hues, log_axis, wide_curves, y_scale
from analysis.charts.explore import Layers
from analysis.data.keys import value_of
from analysis.data.points import in_order
from analysis.data.source import ResultsError
from sweepkit.console.words import shown
from sweepkit.declarations.columns import Metric

DPI = 100
"""Pixels per inch: `Look` counts in pixels, matplotlib in inches."""
LEGEND = 150
"""Width of the legend in pixels."""
ALONE = "Ds^vP<>o"
"""Marks of theories of which there is a single point, in the order of SHAPES."""
MARKS = "sD^vP"
"""Marks of the residuals to each theory, if there are several."""


def figure(layers: Layers, measure: Metric, look: Look, caption: str, title: str | None = None, centre: str = "mean") -> Any:
    """A matplotlib Figure: one panel for each value of the facet, residuals below it, and the title, by default the caption,
    above. ResultsError if matplotlib is not installed."""
    try:
        from analysis.charts.shown.shown_figure import ShownFigure
    except ImportError:
        raise ResultsError(
            "library='matplotlib' needs matplotlib: pip install matplotlib, or leave it out for an Altair chart"
        ) from None
    values = [None] if look.facet is None else in_order(layers.points, look.facet)
    columns = min(look.columns, len(values))
    rows = -(-len(values) // columns)
    has_residuals = look.residual and layers.residuals is not None and len(layers.residuals) > 0
    heights = ([3, 1] if has_residuals else [1]) * rows
    whole = look.height * (4 / 3 if has_residuals else 1) + 60
    legend = LEGEND if look.colour or (layers.theory is not None and len(layers.theory)) else 0
    width = (look.width + 60) * columns + legend
    made = ShownFigure(figsize=(width / DPI, whole * rows / DPI), dpi=DPI, layout="constrained")
    axes = made.subplots(len(heights), columns, squeeze=False, sharex="col", gridspec_kw={"height_ratios": heights})
    step = 2 if has_residuals else 1
    for i, value in enumerate(values):
        row, column = divmod(i, columns)
        main = axes[row * step][column]
        _curves(main, _of(layers, look.facet, value), layers, measure, look, centre)
        if value is not None:
            main.set_title(
                f"{look.title_of(str(look.facet), layers.points)} = {value_of(str(look.facet), value)}",
                loc="left",
                fontsize="medium",
            )
        lowest = axes[row * step + 1][column] if has_residuals else main
        if has_residuals:
            _residuals(lowest, _of(layers, look.facet, value).residuals, layers.points, look)
        lowest.set_xlabel(look.title_of(look.x, layers.points))
        lowest.tick_params(labelbottom=True)
        if look.log_x:
            ticks = log_axis(layers.points[look.x]).to_dict()["values"]
            lowest.set_xticks(ticks, [shown(tick) for tick in ticks])
            lowest.set_xticks([], minor=True)
    for i in range(len(values), rows * columns):
        for part in range(step):
            axes[(i // columns) * step + part][i % columns].set_visible(False)
    mains = [axes[(i // columns) * step][i % columns] for i in range(len(values))]
    _alike(mains)
    if has_residuals:
        _alike([axes[(i // columns) * step + 1][i % columns] for i in range(len(values))])
    named = {name: handle for axis in axes.flat for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)}
    made.named(caption, title, _with_marks(named, layers.residuals if has_residuals else None))
    return made


def _with_marks(named: dict[str, Any], residuals: pd.DataFrame | None) -> dict[str, Any]:
    """The legend's lines by name; those of several theories with the mark of the residuals to each."""
    theories = [] if residuals is None else [*dict.fromkeys(residuals["theory"])]
    marks = dict(zip(theories, itertools.cycle(MARKS))) if len(theories) > 1 else {}
    lines = {}
    for name, handle in named.items():
        lines[name] = copy(handle)
        if name in marks:
            lines[name].set(marker=marks[name], markersize=4, markerfacecolor="#777", markeredgecolor="#777")
    return lines


def _alike(mains: list[Any]) -> None:
    """One scale for all panels."""
    ends = [axis.get_ylim() for axis in mains]
    for axis in mains:
        axis.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))


def _of(layers: Layers, facet: str | None, value: Any) -> Layers:
    """The frames of one panel."""

    def part(frame: pd.DataFrame | None) -> pd.DataFrame | None:
        return frame if frame is None or facet is None or facet not in frame else frame[frame[facet] == value]

    return Layers(*map(part, layers))  # type: ignore[arg-type]


def _hues(points: pd.DataFrame, look: Look) -> dict[Any, str]:
    return hues(points, look.colour, look.declared) if look.colour else {None: colours(1)[0]}


def _barred(data: pd.DataFrame, layers: Layers, measure: Metric, look: Look, centre: str) -> list[Any]:
    """The curves of a panel whose intervals are bars, as in the Altair chart."""
    least, most = y_scale(layers.points, measure, look, layers.theory, centre).domain
    return wide_curves(data.assign(low=data["low"].clip(least)), look.colour, (least, most), look.log_y)


def _curves(axis: Any, panel: Layers, layers: Layers, measure: Metric, look: Look, centre: str) -> None:
    barred = _barred(panel.points, layers, measure, look, centre)
    for value, hue in _hues(layers.points, look).items():
        data = panel.points if look.colour is None else panel.points[panel.points[look.colour] == value]
        data = data.sort_values(look.x)
        x, y = data[look.x].to_numpy(float), data[centre].to_numpy(float)
        name = None if look.colour is None else f"{look.title_of(look.colour, layers.points)} = {value_of(look.colour, value)}"
        axis.plot(x, y, color=hue, marker="o", markersize=4, linewidth=1.2, label=name)
        low, high = data["low"].to_numpy(float), data["high"].to_numpy(float)
        if len(data) == 1:
            axis.vlines(x, low, high, color=hue, alpha=0.4, linewidth=3)
        if value in barred:
            axis.vlines(x, low, high, color=hue, alpha=0.7, linewidth=1)
        else:
            axis.fill_between(x, low, high, color=hue, alpha=0.22, linewidth=0)
        if panel.raw is not None:
            raw = panel.raw if look.colour is None else panel.raw[panel.raw[look.colour] == value]
            axis.scatter(raw[look.x], raw["value"], s=5, color=hue, alpha=0.5)
    if panel.theory is not None and len(panel.theory):
        names = list(dict.fromkeys(layers.theory["theory"])) if layers.theory is not None else []
        named = set[Any]()
        for (theory, _), line in panel.theory.groupby(["theory", "curve"], sort=False, dropna=False):
            number = names.index(theory)
            is_alone = line[look.x].nunique() == 1  # one point makes no line
            # One name for all lines of a theory: a legend that the user makes lists each name that the axis has.
            name = None if theory in named else str(theory)
            named.add(theory)
            axis.plot(
                line[look.x], line["value"], color="black", linewidth=1.2, dashes=DASHES[number % len(DASHES)], markersize=5,
                marker=ALONE[number % len(ALONE)] if is_alone else None, label=name,
            )  # fmt: skip
    if look.level is not None:
        axis.axhline(look.level, color="#888", linestyle="--", linewidth=1)
    axis.set_xscale("log" if look.log_x else "linear")
    axis.set_yscale("log" if look.log_y else "linear")
    axis.set_ylabel(measure.title)
    axis.spines[["top", "right"]].set_visible(False)


def _residuals(axis: Any, residuals: pd.DataFrame | None, points: pd.DataFrame, look: Look) -> None:
    axis.axhline(0, color="black", linestyle="--", linewidth=1)
    axis.set_ylabel("measured\n- theory")
    axis.spines[["top", "right"]].set_visible(False)
    if residuals is None:
        return
    theories = [*dict.fromkeys(residuals["theory"])]
    for theory, mark in zip(theories, itertools.cycle(MARKS if len(theories) > 1 else "o")):
        for value, hue in _hues(points, look).items():
            data = residuals[residuals["theory"] == theory]
            data = data if look.colour is None else data[data[look.colour] == value]
            middle = data["residual"].to_numpy(float)
            ends = np.abs(np.stack([middle - data["residual_low"], data["residual_high"] - middle]))
            axis.errorbar(data[look.x], middle, np.nan_to_num(ends), color=hue, fmt=mark, markersize=3, linewidth=1)
