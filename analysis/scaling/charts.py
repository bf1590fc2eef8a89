"""Charts of thresholds against a key, of exponents against gamma, and of curves before and after rescaling."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import DASHES, colour_of, in_lines, log_axis, styled
from analysis.data.keys import title_of
from analysis.data.points import in_order, task_of
from analysis.scaling.predictions import Prediction
from analysis.scaling.rescaling import Rescaled
from analysis.scaling.thresholds import Exponent
from sweepkit.console.words import shown
from sweepkit.declarations.columns import Column, Metric
from sweepkit.declarations.keys import KEYS
from sweepkit.stats.thresholds import Reached

NO_SEQUENCE = "#365c8d"
STATES = get_args(Reached)
SHAPES = ("circle", "triangle-up", "triangle-down")
"""Shapes by the states of thresholds."""
OPEN = "an interval that reaches an end of the axis has no end within the measured range"
"""Words for a chart that has such intervals."""
FEW_TICKS = 6
"""Most values of a narrow panel that each have a tick; of more values, as a search leaves them, ticks are at powers."""


def threshold_chart(table: pd.DataFrame, over: str, against: str, *more: Any, **options: Any) -> alt.TopLevelMixin:
    """`threshold_panel` as a whole figure."""
    return styled(threshold_panel(table, over, against, *more, **options))


def threshold_panel(
    table: pd.DataFrame,
    over: str,
    against: str,
    by: str | None = None,
    fits: Mapping[Any, Exponent] | None = None,
    predictions: Mapping[Any, Prediction] | None = None,
    width: int = 400,
    height: int = 380,
    task: str | None = None,
    curves: pd.DataFrame | None = None,
    declared: Mapping[str, Column] = KEYS,
    names: Mapping[float, str] | None = None,
    lines_of_all: Sequence[str] = (),
) -> Any:
    """Thresholds (`scaling.threshold_table`) with intervals on logarithmic axes, fitted laws with bands, predicted slopes dashed.

    A threshold beyond the measured range is a triangle at the end of the range. fits, predictions: by the values of `by` (None
    without one). task: the task of all networks, None if they have several. curves: further dashed lines, with columns for
    `against` and `by`, `value`, and `line`, their name. declared: the columns of the store, for their titles.
    names: the words for values of `against`, such as lazy. lines_of_all: the lines of all panels, if these share a legend.
    """
    low, high = float(table["smallest x"].min()), float(table["largest x"].max())
    at = np.where(
        table["state"] == "reached", table["threshold"], np.where(table["threshold"] > 0, table["largest x"], table["smallest x"])
    )
    words = {STATES[-1]: f"already at the smallest {over}"}
    data = table.assign(
        state=table["state"].replace(words),
        at=at,
        low=_inside(table["low"], at, low, high),
        high=_inside(table["high"], at, low, high),
    )
    log_y = alt.Scale(type="log", nice=False, domain=[low / 1.3, high * 1.3])
    log_x = alt.Scale(type="log", nice=False, padding=18)
    axis = log_axis(data[against])
    if names:
        labels = "".join(f"datum.value == {float(value)!r} ? {name!r} : " for value, name in names.items())
        axis = alt.Axis(grid=False, values=list(names), labelExpr=f"{labels}datum.label")
    x = alt.X(f"{against}:Q", title=title_of(against, task, declared), scale=log_x, axis=axis)
    colour = colour_of(data, by, task, declared) if by else alt.value(NO_SEQUENCE)
    of_state = {words.get(state, state): shape for state, shape in zip(STATES, SHAPES, strict=True)}
    states = [state for state in of_state if (data["state"] == state).any()]
    shape = alt.Shape("state:N", title=f"{over}*", scale=alt.Scale(domain=states, range=[of_state[s] for s in states]))
    y_title = f"threshold {over}*"
    grid = log_axis(pd.Series([low, high]), grid=True, at_values=False)
    y = alt.Y("at:Q", title=y_title, scale=log_y, axis=grid)
    numbers = [alt.Tooltip(f"{name}:Q", format=".4g") for name in ("threshold", "low", "high")]
    hover = [*(key for key in dict.fromkeys([against, by]) if key), *numbers, "seeds:Q", "state:N"]
    layers: list[Any] = [
        alt.Chart(data)
        .mark_rule(strokeWidth=1.5, clip=True)
        .encode(x=x, y=alt.Y("low:Q", scale=log_y), y2="high:Q", color=colour)
    ]
    lines = pd.concat([_laws(data, against, by, fits or {}, predictions or {}), pd.DataFrame() if curves is None else curves])
    if len(lines):
        kinds = list(dict.fromkeys([*lines_of_all, *lines["line"]]))
        theory = [kind for kind in kinds if kind != "fitted"]
        styles = [[1, 0] if kind == "fitted" else DASHES[theory.index(kind) % len(DASHES)] for kind in kinds]
        dashes = alt.Scale(domain=kinds, range=styles)
        base = alt.Chart(lines)
        of_fits = base.transform_filter("datum.line == 'fitted'")
        band = of_fits.mark_area(opacity=0.15, clip=True)
        layers.append(band.encode(x=x, y=alt.Y("band_low:Q", scale=log_y), y2="band_high:Q", color=colour))
        detail = [by] if by else []
        layers.append(
            base.mark_line(strokeWidth=1.5, clip=True).encode(
                x=x, y=alt.Y("value:Q", scale=log_y), color=colour, detail=detail,
                strokeDash=alt.StrokeDash("line:N", title="line", scale=dashes, sort=kinds, legend=alt.Legend(labelLimit=300)),
            )
        )  # fmt: skip
    marks = alt.Chart(data).mark_point(filled=True, size=70, opacity=1, clip=True)
    layers.append(marks.encode(x=x, y=y, color=colour, shape=shape, tooltip=hover))  # fmt: skip
    return alt.layer(*layers).properties(width=width, height=height)


def _inside(bound: "pd.Series[float]", at: Any, low: float, high: float) -> Any:
    """Where an end of an interval is drawn, within the axis; at the point itself if there is no interval."""
    return np.where(bound.isna(), at, np.clip(bound, low / 1.3, high * 1.3))


def has_open(table: pd.DataFrame) -> bool:
    """True if an interval of a threshold has an end beyond the axis."""
    low, high = float(table["smallest x"].min()), float(table["largest x"].max())
    reached = table[table["state"] == "reached"]
    return bool(((reached["low"] < low / 1.3) | (reached["high"] > high * 1.3)).any())


def drawn_prediction(table: pd.DataFrame, value: Any, by: str | None) -> bool:
    """True if the prediction for a value of `by` is drawn: through thresholds that are reached."""
    group = table if by is None else table[table[by] == value]
    return bool((group["state"] == "reached").any())


def has_band(fit: Exponent) -> bool:
    """True if the fitted law is drawn with a band. The band comes from the scatter, so it would contradict an interval that does
    not."""
    low, high = fit.law.band(np.geomspace(fit.law.x_low, fit.law.x_high, 60))
    return bool(fit.interval is fit.law.exponent and np.isfinite(low).all() and np.isfinite(high).all() and (low > 0).all())


def slope_name(said: Prediction) -> str:
    """The name of the line that a prediction draws."""
    return f"slope {said.exponent:g}{', a bound' if said.is_bound else ''} [{said.source}]"


def _laws(
    data: pd.DataFrame, against: str, by: str | None, fits: Mapping[Any, Exponent], predictions: Mapping[Any, Prediction]
) -> pd.DataFrame:
    parts = []
    for value in [None] if by is None else in_order(data, by):
        group, key = (data if by is None else data[data[by] == value]), ({} if by is None else {by: value})
        gamma = {"gamma": group["gamma"].iloc[0]} if by == "gamma_label" and "gamma" in group else {}
        if value in fits:
            law = fits[value].law
            xs = np.geomspace(law.x_low, law.x_high, 60)
            low, high = law.band(xs)
            whole = has_band(fits[value])
            value_at = law.curve(xs)
            band = {"band_low": low if whole else value_at, "band_high": high if whole else value_at}
            parts.append(pd.DataFrame({against: xs, "value": value_at, "line": "fitted", **key, **gamma, **band}))
        reached = group[group["state"] == "reached"]
        if value in predictions and drawn_prediction(data, value, by):
            said = predictions[value]
            xs = np.geomspace(float(group[against].min()), float(group[against].max()), 60)
            middle_x, middle_y = (float(np.exp(np.log(reached[name].astype(float)).mean())) for name in (against, "threshold"))
            values = middle_y * (xs / middle_x) ** said.exponent
            parts.append(pd.DataFrame({against: xs, "value": values, "line": slope_name(said), **key, **gamma}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def exponent_chart(table: pd.DataFrame, by: str, over: str, against: str, **options: Any) -> alt.TopLevelMixin:
    """`exponent_panel` as a whole figure."""
    return styled(exponent_panel(table, by, over, against, **options))


def exponent_panel(
    table: pd.DataFrame,
    by: str,
    over: str,
    against: str,
    width: int = 560,
    height: int = 260,
    task: str | None = None,
    declared: Mapping[str, Column] = KEYS,
) -> Any:
    """`scaling.exponents` with intervals against `by`, in its order; predictions as black ticks."""
    data = table[table["exponent"].notna()]
    order = [shown(value) for value in in_order(table, by)]
    data, said = (f.assign(at=f[by].map(shown)) for f in (data, table[table["predicted"].notna()]))
    x = alt.X(
        "at:N",
        title=title_of(by, task, declared),
        sort=order,
        scale=alt.Scale(domain=order),
        axis=alt.Axis(labelAngle=0, grid=False),
    )
    ends = [*data[["exponent", "low", "high"]].to_numpy(float).ravel(), *said["predicted"], 0.0]
    finite = np.array([end for end in ends if np.isfinite(end)])
    reach = float(np.ptp([*data["exponent"], *said["predicted"], 0.0])) or 1.0  # a huge interval is cut off
    near = [*data["exponent"], *said["predicted"], 0.0]
    domain = [
        max(float(finite.min()), float(np.nanmin(near)) - reach) - 0.35,
        min(float(finite.max()), float(np.nanmax(near)) + reach) + 0.25,
    ]
    y_scale = alt.Scale(domain=domain, nice=False)
    title = f"exponent of {over}* in {against}"
    numbers = [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("exponent", "low", "high")]
    layers = [
        alt.Chart(data).mark_rule(strokeWidth=2, color=NO_SEQUENCE, clip=True).encode(
            x=x, y=alt.Y("low:Q", title=title, scale=y_scale), y2="high:Q"),
        alt.Chart(data).mark_point(filled=True, size=80, opacity=1, color=NO_SEQUENCE, clip=True).encode(
            x=x, y=alt.Y("exponent:Q", title=title, scale=y_scale),
            tooltip=[by, *numbers, "thresholds:Q", "not reached:Q"]),
    ]  # fmt: skip
    if len(said):
        ticks = alt.Chart(said).encode(x=x, y=alt.Y("predicted:Q", title=title, scale=y_scale), tooltip=["prediction:N"])
        layers.append(ticks.mark_tick(color="black", thickness=2, size=44, orient="horizontal", clip=True))
        said = said[said["prediction"] != said["prediction"].shift()]  # one label for a row of equal predictions
        ticks = alt.Chart(said).encode(x=x, y=alt.Y("predicted:Q", title=title, scale=y_scale))
        layers.append(ticks.mark_text(dx=-22, dy=12, align="left", fontSize=11, color="black").encode(text="prediction:N"))
    return alt.layer(*layers).properties(width=width, height=height)


def collapse_chart(
    rescaled: Rescaled, over: str, against: str, measure: Metric, declared: Mapping[str, Column] = KEYS
) -> alt.TopLevelMixin:
    """`collapse_panels` as a whole figure."""
    return styled(alt.hconcat(*collapse_panels(rescaled, over, against, measure, width=340, declared=declared), spacing=24))


def collapse_panels(
    rescaled: Rescaled,
    over: str,
    against: str,
    measure: Metric,
    width: int,
    height: int = 260,
    declared: Mapping[str, Column] = KEYS,
) -> list[Any]:
    """Two panels: the curves over `over`, and over its rescaled value. The points have intervals, `low` to `high`, as in
    `Points`."""
    frame = rescaled.frame
    name = title_of(over, task_of(frame), declared)
    panels = []
    for x, label, panel in (
        (over, name, f"as measured, S = {_quality(rescaled.quality.unscaled_quality)}"),
        ("rescaled", f"{over} / {rescaled.unit}", f"rescaled by {rescaled.by}, S = {_quality(rescaled.quality.quality)}"),
    ):  # fmt: skip
        scale_x = alt.Scale(type="log", nice=False, padding=12)
        on_x = alt.X(f"{x}:Q", title=label, scale=scale_x, axis=log_axis(frame[x], at_values=frame[x].nunique() <= FEW_TICKS))
        scale_y = alt.Scale(domain=_reach(frame["mean"], measure), nice=False)
        by_label = against == "gamma" and "gamma_label" in frame
        colour = colour_of(frame, "gamma_label" if by_label else against, declared=declared)
        base, y_title = alt.Chart(frame), in_lines(measure.title, height)
        layers = [
            alt.Chart(frame.dropna(subset=["low", "high"])).mark_rule(opacity=0.6, clip=True).encode(
                x=on_x, y=alt.Y("low:Q", scale=scale_y), y2="high:Q", color=colour),
            base.mark_line(strokeWidth=1.5).encode(
                x=on_x, y=alt.Y("mean:Q", title=y_title, scale=scale_y), color=colour),
            base.mark_point(filled=True, size=40, opacity=1).encode(
                x=on_x, y=alt.Y("mean:Q", title=y_title, scale=scale_y), color=colour,
                tooltip=[over, against, alt.Tooltip("mean:Q", format=".4f"), alt.Tooltip("low:Q", format=".4f"),
                         alt.Tooltip("high:Q", format=".4f"), "n:Q"]),
        ]  # fmt: skip
        panels.append(alt.layer(*layers).properties(width=width, height=height, title=panel))
    return panels


def _reach(means: "pd.Series[float]", measure: Metric) -> list[float]:
    """Ends of an axis: for accuracies from chance to 1; for other measures a tenth beyond the means, where intervals are cut
    off."""
    low, high = float(means.min()), float(means.max())
    if measure.is_accuracy:
        return [min(0.45, low - 0.02), 1.0]
    beyond = 0.1 * (high - low) or 0.1
    return [low - beyond, high + beyond]


def _quality(s: float) -> str:
    return "no points to compare" if np.isnan(s) else f"{s:.3g}"
