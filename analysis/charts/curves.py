"""Charts of measured curves with their intervals, the theory's curves and residuals; the app and the figures share them."""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.data.keys import is_label, spoken, title_of, value_of
from analysis.data.points import in_order, task_of
from sweepkit.declarations.columns import Column, Metric
from sweepkit.declarations.keys import KEYS

__all__ = [
    "DASHES", "Look", "colour_of", "colours", "curves_chart", "hues", "log_axis", "styled", "title_of", "with_residuals", "x_of",
]  # fmt: skip

_SEQUENCE = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#9fbf1f", "#d9a500")
"""From viridis, its light end darkened so that it shows on white: lazy is dark, rich is bright."""
_CATEGORIES = (
    "#5566dd", "#e69f00", "#009e73", "#882255", "#33bbee", "#cc79a7", "#004488", "#999933", "#774400", "#661100",
)  # fmt: skip
"""For values that have no order, such as networks: they differ for readers with any colour blindness, on a dark page too."""
MARKS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
"""Marks of curves that are variants of one kind."""
DASHES = ([5, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4], [4, 1], [12, 3, 2, 3, 2, 3], [3, 6])
SHAPES = ("diamond", "square", "triangle-up", "triangle-down", "cross", "triangle-left", "triangle-right", "circle")
"""Marks of theories of which a chart has a single point, which makes no line: one for each theory, as DASHES for lines."""
RESIDUALS = "residual to"
"""The title of a legend of marks that stand for residuals alone."""
APART = 6
"""Pixels between the residuals of one point to two theories, which would else cover each other."""
FEW_SEEDS, WIDE = 4, 0.25
"""A curve with intervals of fewer than FEW_SEEDS seeds that span more than the share WIDE of its axis is drawn with thin bars in
place of a band: Student's t for two seeds is 13 standard errors wide, and a few such bands hide all curves."""

CROWDED = 0.04
"""Share of a logarithmic axis below which two labels would overlap."""
SHORT = 0.05
"""Span of an axis below which two digits after the point are too few."""


@dataclass(frozen=True)
class Look:
    """The axes and options of a chart: `x` is a key that is a number; `colour` and `facet` may be any key."""

    x: str
    colour: str | None = None
    facet: str | None = None
    log_x: bool = False
    log_y: bool = False
    residual: bool = False
    level: float | None = None
    """Where a dashed line lies, if anywhere."""
    along: tuple[str, ...] = ()
    """Keys that change along with `x`, which the title of its axis names."""
    width: int = 560
    height: int = 340
    columns: int = 1
    kinds: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The kinds of values of `colour`, if some are variants of one kind: these have marks of their own."""
    declared: Mapping[str, Column] = field(default_factory=lambda: KEYS, compare=False)
    """The columns of the store, for their titles."""

    def title_of(self, key: str, points: pd.DataFrame) -> str:
        """The title of a key on axes and in legends of these points."""
        return title_of(key, task_of(points), self.declared)

    def title_of_x(self, points: pd.DataFrame) -> str:
        """The title of the abscissa, such as `width m, and P along with it`."""
        title = self.title_of(self.x, points)
        return f"{title}, and {', '.join(map(spoken, self.along))} along with it" if self.along else title


@dataclass(frozen=True)
class _Theories:
    """The theories of a chart. All panels share their legends, in which each theory has a dash and a mark of its own."""

    names: list[str]
    """All theories, in the order of DASHES and SHAPES."""
    lines: list[str]
    """The theories of which some panel has a curve."""
    marks: list[str]
    """The theories of which some panel has a single point, or residuals."""
    marked: str
    """The title of the legend of marks: Vega would join those of all panels if they were not the same."""


def curves_chart(
    points: pd.DataFrame,
    measure: Metric,
    look: Look,
    theory: pd.DataFrame | None = None,
    residuals: pd.DataFrame | None = None,
    raw: pd.DataFrame | None = None,
    centre: str = "mean",
    bare: bool = False,
) -> Any:
    """Points joined by lines, 95% intervals as bands, theory in black, and one panel per value of the facet.

    points: STATISTICS and the keys; theory: columns theory, curve, x, value; residuals: points with `theory` and `residual`; raw:
    one row per network, with `value`; bare: without the look of `styled`, for a chart that is put together of several.
    """
    values = [None] if look.facet is None else in_order(points, look.facet)
    scale = y_scale(points, measure, look, theory, centre)
    theories = _theories(theory, residuals, look)
    panels = []
    for value in values:
        of = {name: _of(frame, look.facet, value) for name, frame in _frames(points, theory, residuals, raw).items()}
        title = "" if look.facet is None else f"{look.title_of(look.facet, points)} = {value_of(look.facet, value)}"
        has_residual = look.residual and "residuals" in of and len(of["residuals"]) > 0
        main = _panel(of, points, measure, look, scale, centre, theories, titled=not has_residual)
        main = main.properties(width=look.width, height=look.height, title=title)
        if has_residual:
            below = _residual_panel(of["residuals"], points, look, _residual_scale(residuals), theories)
            below = below.properties(width=look.width, height=look.height // 3)
            panels.append(alt.vconcat(main, below, spacing=8).resolve_scale(x="shared"))
        else:
            panels.append(main)
    chart = alt.concat(*panels, columns=look.columns) if len(panels) > 1 else panels[0]
    return chart if bare else styled(chart)


WHOLE = 330
"""Most pixels of a label or title in a legend before it is cut: the longest title of a key takes 300."""
LETTER = 6.5
"""Pixels of a letter of an axis' title, on average."""


def in_lines(title: str, pixels: float) -> str | list[str]:
    """A title in as many lines as an axis of this length needs; Vega would let it stand out at both ends."""
    lines = textwrap.wrap(title, max(10, int(pixels / LETTER)))
    return lines if len(lines) > 1 else title


def styled(chart: Any) -> Any:
    """The chart with the quiet look that all charts share."""
    found = chart.copy(deep=False)  # each of Altair's own configure_... copies the whole chart, for a tenth of a page's time
    found.config = alt.Config(
        view=alt.ViewConfig(stroke="#bbb"),
        axis=alt.AxisConfig(gridColor="#eee", domainColor="#888", tickColor="#888", labelFontSize=11, titleFontSize=12),
        legend=alt.LegendConfig(
            labelFontSize=11, titleFontSize=11, symbolStrokeWidth=3, symbolOpacity=1, labelLimit=WHOLE, titleLimit=WHOLE
        ),
        title=alt.TitleConfig(fontSize=13, anchor="start", fontWeight="normal"),
    )
    return found


def colours(n: int) -> list[str]:
    """n colours along the sequence, dark to bright."""
    if n == 1:
        return [_SEQUENCE[2]]
    anchors = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in _SEQUENCE], dtype=float)
    at = np.linspace(0, len(_SEQUENCE) - 1, n)
    mixed = np.stack([np.interp(at, np.arange(len(_SEQUENCE)), anchors[:, i]) for i in range(3)], axis=1)
    return ["#" + "".join(f"{round(v):02x}" for v in row) for row in mixed]


def colour_of(points: pd.DataFrame, key: str | None, task: str | None = None, declared: Mapping[str, Column] = KEYS) -> Any:
    """The encoding of a key as colour: ordinal, in the key's order. `task` is the task of the points; by default the one that
    they name."""
    if key is None:
        return alt.value(_SEQUENCE[2])
    found = hues(points, key, declared)
    scale = alt.Scale(domain=list(found), range=list(found.values()))
    return alt.Color(f"{key}:N", title=title_of(key, task or task_of(points), declared), sort=list(found), scale=scale)


def hues(points: pd.DataFrame, key: str, declared: Mapping[str, Column] = KEYS) -> dict[Any, str]:
    """The colour of each value of a key, in the key's order: along the sequence, or as categories if the values are words."""
    values = in_order(points, key)
    is_words = (column := declared.get(key)) is not None and column.kind == "text" and not is_label(key, declared)
    if len(values) < 2 or not is_words or all(str(value).replace(".", "", 1).isdecimal() for value in values):
        return dict(zip(values, colours(len(values)), strict=True))
    return {value: _CATEGORIES[i % len(_CATEGORIES)] for i, value in enumerate(values)}


def _mark_of(points: pd.DataFrame, look: Look) -> dict[str, Any]:
    """The encoding of the curves' marks: variants of one kind have marks of their own, as do curves whose colours come again."""
    if look.colour is None:
        return {}
    marks, n_of = {}, Counter[str]()
    for value, hue in hues(points, look.colour, look.declared).items():
        groups = {look.kinds.get(value, str(value)), hue}
        marks[value] = MARKS[max(n_of[group] for group in groups) % len(MARKS)]
        n_of.update(groups)
    if {*marks.values()} == {MARKS[0]}:
        return {}
    scale = alt.Scale(domain=list(marks), range=list(marks.values()))
    return {"shape": alt.Shape(f"{look.colour}:N", title=look.title_of(look.colour, points), sort=list(marks), scale=scale)}


def x_of(points: pd.DataFrame, look: Look, title: bool = True) -> Any:
    """The encoding of the abscissa."""
    scale = alt.Scale(type="log" if look.log_x else "linear", nice=False, padding=12, zero=False)
    axis = alt.Axis(grid=False, tickMinStep=1) if pd.api.types.is_integer_dtype(points[look.x]) else alt.Axis(grid=False)
    if look.log_x:
        axis = log_axis(points[look.x])
    return alt.X(f"{look.x}:Q", title=look.title_of_x(points) if title else None, scale=scale, axis=axis)


def log_axis(values: "pd.Series[Any]", **more: Any) -> alt.Axis:
    """A logarithmic axis. Ticks stand at the values if these are few; else at powers of two where values are whole, at 1 and 3
    times powers of ten where they are not, and at powers of ten alone if they span more than four decades.
    Values of which two are nearer than CROWDED of the axis have ticks at powers too: half of their labels would be left out."""
    more = {"grid": False} | more
    distinct = np.unique(values.dropna().to_numpy(float))
    at_values = more.pop("at_values", True)
    apart = np.diff(np.log(distinct)) if distinct[0] > 0 else np.array([])
    is_crowded = bool(len(apart) and apart.min() < CROWDED * apart.sum())
    if distinct[0] < 1e-2 or len(distinct) > 10 or is_crowded or not at_values:
        is_whole, is_long = (distinct % 1 == 0).all(), distinct[-1] / distinct[0] >= 2.0**14
        base = 2.0 if is_whole and not is_long else 10.0
        first, last = np.log([distinct[0], distinct[-1]]) / np.log(base)
        distinct = base ** np.arange(np.floor(first), np.ceil(last) + 1)
        if not is_whole and not is_long:
            distinct = np.sort([*distinct, *(3 * distinct[:-1])])
        if distinct[0] < 1e-2 and is_long:
            more["format"] = "~e"
    options: dict[str, Any] = {"format": "~r", "labelOverlap": True} | more
    return alt.Axis(values=distinct.tolist(), **options)


def _frames(points: pd.DataFrame, *others: pd.DataFrame | None) -> dict[str, pd.DataFrame]:
    names = ("theory", "residuals", "raw")
    return {"points": points} | {name: frame for name, frame in zip(names, others, strict=True) if frame is not None}


def _of(frame: pd.DataFrame, facet: str | None, value: Any) -> pd.DataFrame:
    return frame if facet is None or facet not in frame else frame[frame[facet] == value]


def y_scale(points: pd.DataFrame, measure: Metric, look: Look, theory: pd.DataFrame | None, centre: str) -> Any:
    """One scale for all panels, in which all intervals lie. On a logarithmic axis, only their positive parts do."""
    frames = [points[name] for name in (centre, "low", "high")] + ([] if theory is None or theory.empty else [theory["value"]])
    values = np.concatenate([*(frame.to_numpy(float) for frame in frames), [] if look.level is None else [look.level]])
    values = values[np.isfinite(values)]
    if look.log_y:
        positive = values[values > 0]
        return alt.Scale(
            type="log", domain=[float(positive.min()) / 1.3, float(positive.max()) * 1.3] if len(positive) else [1, 10]
        )
    low, high = float(values.min()), float(values.max())
    if measure.is_accuracy:
        # Chance is shown where some curve is near it; close to 1, the axis keeps to what is there.
        floor = min(0.45, low - 0.02) if low < 0.6 else low - min(0.02, max(0.001, (1 - low) / 3))
        return alt.Scale(domain=[max(floor, 0.0), 1.0], nice=False, zero=False)
    if low == high:
        low, high = low - 0.05, high + 0.05
    return alt.Scale(domain=[low, high], nice=True, zero=False)


def _digits(scale: Any) -> Any:
    """An axis that writes as many digits as its numbers need where the usual two would make them alike, as 0.001 and 0.002 on a
    logarithmic or a short axis. All layers need it: the first one's axis counts."""
    domain = scale.to_dict().get("domain")
    if domain and scale.to_dict().get("type") == "log" and (ticks := _ticks(*domain)):
        return alt.Axis(format="~g", values=ticks)
    is_short = bool(domain) and domain[1] - domain[0] < SHORT
    return alt.Axis(format="~g") if is_short or scale.to_dict().get("type") == "log" else alt.Axis()


def _ticks(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis over half a decade to eight, at powers of ten and round numbers between them; else none. Vega's
    own ticks may leave out the label of a power of ten, where that of 0.9 is too near."""
    decades = float(np.log10(high / low))
    if not 0.5 <= decades <= 8:
        return []
    between = (1, 2, 3, 5, 7) if decades <= 1.3 else (1, 2, 5) if decades <= 2.5 else (1,)
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    return [float(f"{times * power:.3g}") for power in powers for times in between if low <= times * power <= high]


def _panel(
    of: dict[str, pd.DataFrame],
    points: pd.DataFrame,
    measure: Metric,
    look: Look,
    scale: Any,
    centre: str,
    theories: _Theories,
    titled: bool = True,
) -> Any:
    data, x, colour = of["points"], x_of(points, look, titled), colour_of(points, look.colour, declared=look.declared)
    axis = _digits(scale)
    y_title = in_lines(measure.title, look.height)
    y = alt.Y(f"{centre}:Q", title=y_title, scale=scale, axis=axis)
    keys = [key for key in dict.fromkeys([look.x, look.colour, look.facet]) if key]
    numbers = [alt.Tooltip(f"{name}:Q", format=".4g") for name in ("mean", "median", "low", "high", "sd")]
    hover = [*keys, "n:Q", *numbers, *(["diverged:Q"] if data["diverged"].any() else [])]
    # A logarithmic axis has no place for an end that is not positive: the interval is drawn down to the end of the axis.
    ends = data.assign(low=data["low"].mask(data["low"] <= 0, scale.domain[0])) if look.log_y else data
    ends = ends[ends["high"] > 0] if look.log_y else ends
    band = {"x": x, "y": alt.Y("low:Q", title=y_title, scale=scale, axis=axis), "y2": "high:Q", "color": colour}
    # All values lie within a linear axis, whose end may be the measure's own, as for accuracies: no mark is cut in half there.
    cut = look.log_y
    wide = wide_curves(ends, look.colour, scale.domain, look.log_y)
    barred = ends[ends[look.colour].isin(wide)] if look.colour else ends[: len(ends) if wide else 0]
    layers = [
        alt.Chart(ends.drop(index=barred.index)).mark_area(opacity=0.22, clip=True).encode(**band),
        *_rules(ends.drop(index=barred.index), look.colour, band),
        *([alt.Chart(barred).mark_rule(strokeWidth=1, opacity=0.7, clip=True).encode(**band, tooltip=hover)] if wide else []),
        alt.Chart(data).mark_line(strokeWidth=1.5, clip=cut).encode(x=x, y=y, color=colour),
    ]  # fmt: skip
    if "raw" in of:
        dots = alt.Chart(of["raw"]).mark_point(size=9, opacity=0.5, clip=True)
        layers.append(
            dots.encode(
                x=x, y=alt.Y("value:Q", scale=scale, axis=axis), color=colour, tooltip=[*keys, "seed:Q", "value:Q", "cell_id:N"]
            )
        )
    if look.level is not None:
        rule = alt.Chart(pd.DataFrame({"level": [look.level]})).mark_rule(strokeDash=[6, 4], color="#888")
        layers.append(rule.encode(y=alt.Y("level:Q", scale=scale, axis=axis)))
    if "theory" in of and len(of["theory"]):
        layers += _theory_lines(of["theory"], x, scale, look, theories)
    marks = {} if theories.marks else _mark_of(points, look)  # a chart has one legend of marks
    dots = alt.Chart(data).mark_point(filled=True, size=40, opacity=1, clip=cut)
    layers.append(dots.encode(x=x, y=y, color=colour, tooltip=hover, **marks))
    return alt.layer(*layers)


def wide_curves(ends: pd.DataFrame, colour: str | None, axis: Sequence[float], log: bool) -> list[Any]:
    """The values of `colour` (None without one) whose intervals are drawn as bars, as WIDE has it; `axis`: the axis' two ends."""
    low, high, least, most = ends["low"], ends["high"], *axis
    if log:
        low, high, least, most = np.log(low), np.log(high), np.log(least), np.log(most)
    wide = (ends["n"] < FEW_SEEDS) & (high - low > WIDE * (most - least))
    if colour is None:
        return [None] if wide.any() else []
    return list(ends.loc[wide, colour].unique())


def _rules(data: pd.DataFrame, colour: str | None, band: dict[str, Any]) -> list[Any]:
    """The intervals of curves of a single point, at which a band has no width."""
    n = len(data) if colour is None else data[colour].map(data[colour].value_counts())
    alone = data[(n == 1) & data["low"].notna()]
    return [alt.Chart(alone).mark_rule(strokeWidth=3, opacity=0.4, clip=True).encode(**band)] if len(alone) else []


def _theories(theory: pd.DataFrame | None, residuals: pd.DataFrame | None, look: Look) -> _Theories:
    of_curves = pd.DataFrame(columns=["theory"]) if theory is None else theory
    alone = _alone(of_curves, look)
    apart = list(residuals["theory"]) if look.residual and residuals is not None else []
    names = list(dict.fromkeys([*of_curves["theory"], *apart]))
    lines, points = {*of_curves["theory"][~alone]}, {*of_curves["theory"][alone]}
    marked = RESIDUALS if not points else "theory at a point,\nresidual to it" if len(apart) else "theory at a point"
    return _Theories(
        names, [name for name in names if name in lines], [name for name in names if name in {*points, *apart}], marked
    )


def _alone(theory: pd.DataFrame, look: Look) -> "pd.Series[bool]":
    """True for each point of the theory that is the only one of its curve in its panel, so that it makes no line."""
    if theory.empty:
        return pd.Series(False, theory.index)
    curve = ["theory", "curve", *(key for key in (look.facet,) if key in theory and key != look.x)]
    return theory.groupby(curve, dropna=False)[look.x].transform("nunique") == 1


def _theory_lines(theory: pd.DataFrame, x: Any, scale: Any, look: Look, theories: _Theories) -> list[Any]:
    """The theory's curves as lines; a curve of one point, which makes no line, as a mark that tells its theory."""
    dashes = [DASHES[theories.names.index(name) % len(DASHES)] for name in theories.lines]
    dash = alt.StrokeDash(
        "theory:N",
        title="theory",
        sort=theories.lines,
        scale=alt.Scale(domain=theories.lines, range=dashes),
        legend=alt.Legend(symbolType="stroke", symbolSize=300),
    )
    lines = alt.Chart(theory).mark_line(color="black", strokeWidth=1.5, clip=look.log_y)
    hover = ["theory:N", f"{look.x}:Q", alt.Tooltip("value:Q", format=".4g")]
    y = alt.Y("value:Q", scale=scale, axis=_digits(scale))
    alone = theory[_alone(theory, look)]
    shown_lines = [lines.encode(x=x, y=y, strokeDash=dash, detail="curve:N", tooltip=hover)] if len(alone) < len(theory) else []
    if alone.empty:
        return shown_lines
    # Renamed: under one name this legend would merge with that of the lines.
    shape = _shapes("theory at a point", theories)
    points = alt.Chart(alone.rename(columns={"theory": "theory at a point"}))
    marks = points.mark_point(filled=True, size=70, color="black", opacity=1, clip=look.log_y)
    return [*shown_lines, marks.encode(x=x, y=y, shape=shape, tooltip=["theory at a point:N", *hover[1:]])]


def _shapes(field: str, theories: _Theories) -> alt.Shape:
    """The encoding of theories as marks; the legend lists those that have some."""
    shapes = [SHAPES[theories.names.index(name) % len(SHAPES)] for name in theories.marks]
    legend = alt.Legend(symbolFillColor="black", symbolStrokeColor="black", symbolStrokeWidth=0)
    scale = alt.Scale(domain=theories.marks, range=shapes)
    return alt.Shape(f"{field}:N", title=theories.marked.splitlines(), sort=theories.marks, scale=scale, legend=legend)


def _residual_scale(residuals: pd.DataFrame | None) -> Any:
    """One scale for all panels, in which all intervals lie."""
    if residuals is None or residuals.empty:
        return alt.Scale()
    values = residuals[["residual", "residual_low", "residual_high"]].to_numpy(float)
    low, high = min(float(np.nanmin(values)), 0.0), max(float(np.nanmax(values)), 0.0)
    return alt.Scale(domain=[low, high] if low < high else [-0.05, 0.05], nice=True)


def _residual_panel(residuals: pd.DataFrame, points: pd.DataFrame, look: Look, scale: Any, theories: _Theories) -> Any:
    """Measured minus theory with its interval; zero is agreement."""
    x, colour = x_of(points, look), colour_of(points, look.colour, declared=look.declared)
    title = "measured - theory" if look.height >= 300 else "minus theory"
    several = len(theories.marks) > 1 or theories.marked != RESIDUALS
    shape = {"shape": _shapes("residual to", theories)} if several else {}
    hover: Sequence[Any] = [look.x, "residual to:N", alt.Tooltip("residual:Q", format="+.3g"), "n:Q"]
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(color="black", strokeDash=[5, 3])
    axis = _digits(scale)
    low = alt.Y("residual_low:Q", title=title, scale=scale, axis=axis)
    middle = alt.Y("residual:Q", title=title, scale=scale, axis=axis)
    layers = [zero.encode(y=alt.Y("zero:Q", scale=scale, axis=axis))]
    names = list(residuals["theory"].unique())
    for i, name in enumerate(names):
        # Renamed: under one name this legend would merge with that of the theory lines.
        base = alt.Chart(residuals[residuals["theory"] == name].rename(columns={"theory": "residual to"}))
        beside = (i - (len(names) - 1) / 2) * APART
        layers += [
            base.mark_rule(opacity=0.6, clip=True, xOffset=beside).encode(x=x, y=low, y2="residual_high:Q", color=colour),
            base.mark_point(filled=True, size=30, opacity=1, clip=True, xOffset=beside).encode(
                x=x, y=middle, color=colour, tooltip=hover, **shape),
        ]  # fmt: skip
    return alt.layer(*layers)


def with_residuals(points: pd.DataFrame, values: pd.DataFrame, centre: str = "mean") -> pd.DataFrame:
    """The points joined with each theory's values: columns theory, value, residual, residual_low and residual_high.

    The interval of a residual includes the standard error of a theory that is drawn at random.
    """
    joined = values.join(points, on="point")
    error = joined["error"].fillna(0)
    return joined.assign(
        residual=joined[centre] - joined["value"],
        residual_low=joined[centre] - joined["value"] - np.hypot(joined[centre] - joined["low"], 1.96 * error),
        residual_high=joined[centre] - joined["value"] + np.hypot(joined["high"] - joined[centre], 1.96 * error),
    )
