"""The drawing of a figure that a study declares as data (`analysis.studies.along.Along`)."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.along import groups_along
from analysis.charts.curves import colours, log_axis, styled
from analysis.data.keys import captioned, spoken, title_of
from analysis.data.measures import measures
from analysis.data.points import described, seeds, unusual, with_intervals
from analysis.data.selection import grid_keys
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import STEP, Along, Case
from analysis.studies.declared import Declared
from analysis.studies.loading import part
from sweepkit.console.words import counted, nearest, shown
from sweepkit.declarations.columns import Column, Metric
from sweepkit.stats import mean_interval, power_law
from sweepkit.store.views import declared
from sweepkit.studies import FILE, StudyError

SERIES, X, T, THEORY = "series", "x", "t", "theory"
SAMPLED = 64
"""Most steps between two evaluations over which theory is averaged."""
FINE = 100
"""Points of a smooth curve of theory."""
SPAN = 8
"""An axis is logarithmic if its ends are further apart than this factor."""


def figure_of(study: Declared, along: Along) -> Figure:
    """The figure that the study declares."""
    theories = {case.theory: _function(study, along, case) for case in along.cases if case.theory}
    draw = partial(_draw, along, theories)
    return Figure(along.name, along.title, study.source, tuple(map(study.grid_word, study.grids)), draw)


def _function(study: Declared, along: Along, case: Case) -> Callable[..., Any]:
    module = part(study.folder, "theory")
    function = getattr(module, case.theory, None)
    where = f"{study.folder / FILE}: figure {along.name}, case {case.title!r}: theory {case.theory!r}"
    if not callable(function):
        raise StudyError(f"{where} is no function of theory.py")
    there = {*case.where, *along.case_axes(case), *([T] if along.is_along_training else [])}
    needed = [name for name, one in inspect.signature(function).parameters.items() if one.default is one.empty]
    if lacking := [name for name in needed if name not in there]:
        raise StudyError(f"{where}: no value of its argument {lacking[0]!r}: name it in the case, or as an axis")
    return function


def _draw(along: Along, theories: dict[str, Callable[..., Any]], results: str, sweep: str | None) -> Drawn | Missing:
    known = declared(results)
    metric = known.get(along.metric)
    if not isinstance(metric, Metric):
        return Missing(f"no networks with metric {along.metric}{nearest(along.metric, measures(results)) or ''}".rstrip(";"))
    ends = (f"final_{metric.name}", metric.name, metric.name.removeprefix("curve_"), "final_train_loss", "best_test_acc")
    at_end = next((name for name in ends if name in measures(results)), metric.name) if along.is_along_training else metric.name
    cases = [case._replace(axes=along.case_axes(case)) for case in along.cases]
    held = list(found(results, sweep, cases, at_end))
    if not held:
        return Missing(f"no networks of its cases: {'; '.join(case.title for case in along.cases)}")
    frame = pd.concat([_measured(results, along, metric, one) for one in held], ignore_index=True)
    lines = [pd.DataFrame(columns=[CASE, SERIES, X, "mean"])]
    for one in held:
        if one.case.theory:
            line, at_points = _theory(along, one, frame[frame[CASE] == one.case.title], theories[one.case.theory])
            lines.append(line)
            frame.loc[at_points.index, THEORY] = at_points
    theory = pd.concat([line for line in lines if len(line)] or lines, ignore_index=True)
    caption = _caption(results, along, metric, held, frame, len(theory) > 0)
    return Drawn(_charts(along, metric, frame, theory, known), frame, caption, ";\n\n".join(one.sql for one in held))


def _caption(results: str, along: Along, metric: Metric, held: Sequence[Found], frame: pd.DataFrame, has_theory: bool) -> str:
    n = counted(sum(int(one.setting.frame["n"].sum()) for one in held), "network")
    parts = [f"{_told(held)}; {n}"]
    if along.slopes_from is not None and along.is_along_training:
        slopes = "; ".join(_slope(along, title, of) for title, of in frame.groupby(CASE, sort=False))
        parts.append(f"Slopes from {along.slopes_from:g} on: {slopes}")
    elif along.slopes_from is not None:
        parts.append("; ".join(_exponent(results, along, metric, one) for one in held))
    if along.guide is not None:
        parts.append(f"Dashed: {along.x}^{along.guide:g}")
    if along.level is not None:
        parts.append(f"Dashed: {along.level:g}")
    if has_theory:
        how = ", as means since the evaluation before, like what is measured" if _is_mean_since(along) else ""
        parts.append(f"Dashed: the theory{how}")
    return ". ".join(parts) + "."


def _measured(results: str, along: Along, metric: Metric, one: Found) -> pd.DataFrame:
    """The points of a case: CASE, SERIES, X, its axes, mean, low, high, n."""
    axes = list(one.case.axes)
    if along.is_along_training:
        keys = list(dict.fromkeys([*axes, *([along.factor] if along.factor else [])]))
        points = with_intervals(groups_along(results, one.selection, metric, keys)[0], metric)
        x = points[STEP] * (points[along.factor] if along.factor else 1)
        kept = [*axes, STEP]
    else:
        points, kept = one.setting.frame, axes
        x = points[along.x]
    title, by = one.case.title, one.case.by
    series = points[by].map(lambda value: f"{title}, {spoken(by)} = {shown(value)}") if by else title
    points = points.assign(**{CASE: title, SERIES: series, X: x})
    return points[list(dict.fromkeys([CASE, SERIES, X, *kept, "mean", "low", "high", "n"]))].sort_values(
        [*([by] if by else []), X]
    )


def _is_mean_since(along: Along) -> bool:
    return along.is_along_training and along.metric in ("train_loss", "train_acc")


def _theory(
    along: Along, one: Found, frame: pd.DataFrame, function: Callable[..., Any]
) -> tuple[pd.DataFrame, "pd.Series[float]"]:
    """The theory of a case: a curve for each series, once where it does not tell them apart; and its value at each point."""
    names = list(inspect.signature(function).parameters)
    drawn: dict[Any, tuple[Any, Any]] = {}
    parts, at_points = [], []
    for series, of in frame.groupby(SERIES, sort=False):
        row = of.iloc[0]
        held = [key for key in names if key in one.case.axes and key != along.x]
        fixed = {key: one.case.where[key] for key in names if key in one.case.where} | {key: row[key] for key in held}
        key = (*fixed.items(), *of[X], *of.get(STEP, ()))
        if key not in drawn:
            drawn[key] = (_along_training if along.is_along_training else _over_key)(along, of, function, fixed)
            parts.append(pd.DataFrame({CASE: one.case.title, SERIES: series, X: drawn[key][0], "mean": drawn[key][1]}))
        said = dict(zip(*drawn[key], strict=True))
        at_points.append(of[X].map(lambda x, said=said: said.get(x)))
    return pd.concat(parts, ignore_index=True), pd.concat(at_points).astype(float)


def _along_training(along: Along, frame: pd.DataFrame, function: Callable[..., Any], fixed: dict[str, Any]) -> tuple[Any, Any]:
    """The theory at each evaluation. What is measured as a mean over the steps since the evaluation before, each before its
    update, has the mean of the theory over these steps; of many steps, over SAMPLED of them."""
    at = frame.sort_values(STEP)
    ends, x = at[STEP].to_numpy(int), at[X].to_numpy(float)
    if not _is_mean_since(along):
        return x, np.broadcast_to(function(**fixed, t=x), x.shape)
    per_step, starts = x[-1] / ends[-1], np.concatenate([[0], ends[:-1]])
    steps = [_sampled(start, end) for start, end in zip(starts, ends, strict=True) if end > 0]
    at = np.concatenate(steps) * per_step
    values = np.broadcast_to(function(**fixed, t=at), at.shape)
    means = [part.mean() for part in np.split(values, np.cumsum([len(part) for part in steps])[:-1])]
    return x[ends > 0], np.array(means)


def _sampled(start: int, end: int) -> "np.ndarray[Any, Any]":
    """The steps from start to end - 1, or the middles of SAMPLED equal parts of them."""
    n = end - start
    return np.arange(start, end, dtype=float) if n <= SAMPLED else start + n * (np.arange(SAMPLED) + 0.5) / SAMPLED - 0.5


def _over_key(along: Along, frame: pd.DataFrame, function: Callable[..., Any], fixed: dict[str, Any]) -> tuple[Any, Any]:
    low, high = float(frame[X].min()), float(frame[X].max())
    xs = np.geomspace(low, high, FINE) if low > 0 else np.linspace(low, high, FINE)
    if pd.api.types.is_integer_dtype(frame[X]):
        xs = np.round(xs).astype(int)
    xs = np.union1d(xs, frame[X])
    return xs, [float(function(**fixed, **{along.x: x.item()})) for x in xs]


def _told(held: Sequence[Found]) -> str:
    """Words for the settings: of the first case in full, of the others where they differ from it."""
    first = held[0].setting.values
    told = [held[0].told]
    for one in held[1:]:
        values = {key: value for key, value in one.setting.values.items() if key not in first or first[key] != value}
        named = described({key: values[key] for key in captioned(unusual(values, one.declared), one.declared)})
        told.append(f"{one.case.title}: {named}" if named else one.case.title)
    return "; ".join(told)


def _slope(along: Along, title: Any, frame: pd.DataFrame) -> str:
    of = frame[(frame[X] >= along.slopes_from) & (frame["mean"] > 0)]
    if of[X].nunique() < 2:
        return f"{title} none, as {'training is too short' if along.is_along_training else 'there are too few points'}"
    return f"{title} {power_law(of[X], of['mean']).exponent.value:.2f}"


def _is_wide(values: "pd.Series[float]") -> bool:
    """True if an abscissa is logarithmic: its ends are far apart, and its values are not evenly spaced."""
    at = np.unique(values.to_numpy(float))
    gaps = np.diff(at)
    return bool(at[0] > 0 and at[-1] > SPAN * at[0] and gaps.max() > 2 * gaps.min())


def _scaled(values: "pd.Series[Any]", is_log: bool) -> dict[str, Any]:
    scale = alt.Scale(type="log" if is_log else "linear", nice=False, zero=False, padding=10)
    return {"scale": scale, "axis": log_axis(values, at_values=False) if is_log else alt.Axis(grid=False)}


def _title_of_x(along: Along, known: Mapping[str, Column]) -> str:
    if along.x_title:
        return along.x_title
    if along.is_along_training:
        return "training step" if along.x == STEP else along.x
    return title_of(along.x, None, known)


def _exponent(results: str, along: Along, metric: Metric, one: Found) -> str:
    """The mean over seeds of each one's exponent: a seed starts from the same weights at all values of the key, so that its
    values are alike."""
    networks = seeds(results, one.selection, metric.name, grid_keys(results))
    networks = networks[(networks["value"] > 0) & (networks[along.x] >= along.slopes_from)]
    by, told = one.case.by, []
    for value, group in networks.groupby(by) if by else [(None, networks)]:
        n = group[along.x].nunique()
        each = [of for _, of in group.groupby("seed") if of[along.x].nunique() == n > 1]
        name = f"{one.case.title}, {spoken(by)} = {shown(value)}" if by else one.case.title
        if not each:
            told.append(f"{name}: no exponent, as no seed has a value everywhere")
            continue
        mean = mean_interval([power_law(of[along.x], of["value"]).exponent.value for of in each])
        how = f"{mean.low:.2f} to {mean.high:.2f}, {mean.n} seeds" if mean.n > 1 else "one seed"
        told.append(f"{name}: {along.x}^{mean.value:.2f} ({how})")
    return "; ".join(told)


def _charts(along: Along, metric: Metric, frame: pd.DataFrame, theory: pd.DataFrame, known: Mapping[str, Column]) -> Any:
    if not along.panels:
        return styled(_chart(along, metric, frame, theory, known).properties(width=480, height=340))
    panels = []
    for case, of in frame.groupby(CASE, sort=False):
        of = of.assign(**{SERIES: of[SERIES].str.removeprefix(f"{case}, ")})
        panel = _chart(along, metric, of, theory[theory[CASE] == case], known)
        panels.append(panel.properties(width=360, height=260, title=str(case)))
    return styled(alt.concat(*panels, columns=2, spacing=25).resolve_scale(color="independent"))


def _guides(along: Along, points: pd.DataFrame) -> pd.DataFrame:
    """For each series the power of the abscissa through its last point."""
    parts = []
    for (case, series), of in points.groupby([CASE, SERIES], sort=False):
        last = of.nlargest(1, X).iloc[0]
        values = last["mean"] * (of[X] / last[X]) ** along.guide
        parts.append(pd.DataFrame({CASE: case, SERIES: series, X: of[X], "mean": values}))
    return pd.concat(parts, ignore_index=True)


def _chart(along: Along, metric: Metric, frame: pd.DataFrame, theory: pd.DataFrame, known: Mapping[str, Column]) -> Any:
    is_power = along.guide is not None  # a straight line on logarithmic axes
    log_x = _is_wide(frame[X]) or (is_power and bool((frame[X] > 0).all()))
    points = frame[frame["mean"] > 0] if metric.logarithmic else frame
    theory = theory[~(theory["mean"] <= 0)] if metric.logarithmic else theory  # NaN breaks a line
    log_y = metric.logarithmic and len(points) > 0
    log_y = log_y and (is_power or float(points["mean"].max()) > SPAN * float(points["mean"].min()))
    x = alt.X(f"{X}:Q", title=_title_of_x(along, known), **_scaled(points[X], log_x))
    y = alt.Y("mean:Q", title=along.y_title or metric.title, **_scaled(points["mean"], log_y))
    if log_y:  # intervals, too, fit between the axes
        seen = pd.concat([points["mean"], points["high"], points["low"][points["low"] > 0]])
        least = float(seen.min()) / 1.2
        points = points.assign(low=points["low"].where(points["low"] > 0, least))  # an interval that reaches 0 ends at the axis
        y = y.scale(type="log", nice=False, domain=[least, 1.2 * float(seen.max())])
    series = list(dict.fromkeys(points[SERIES]))
    scale = alt.Scale(domain=series, range=colours(len(series)))
    base = alt.Chart(points).encode(
        x=x,
        color=alt.Color(f"{SERIES}:N", title=None, scale=scale, legend=alt.Legend(labelLimit=300)),
        tooltip=[SERIES, X, *(alt.Tooltip(f"{name}:Q", format=".4g") for name in ("mean", "low", "high")), "n"],
    )
    bars = base.mark_rule(clip=True).encode(y=alt.Y("low:Q"), y2="high:Q")
    joined = base.mark_line(point={"size": 20}).encode(y=y)
    dots = base.mark_point(filled=True, size=40).encode(y=y)
    # Points beside a curve of theory are not joined: a line would hide it.
    layers = [joined] if along.is_along_training else [bars, dots] if len(theory) else [bars, joined]
    if along.is_along_training and len(theory) == 0:
        band = base.mark_area(opacity=0.2, strokeWidth=0, clip=True)
        layers = [band.encode(y=alt.Y("low:Q"), y2="high:Q"), base.mark_line().encode(y=y)]
    lines = [theory] if len(theory) else []
    lines += [_guides(along, points)] if along.guide is not None and len(points) else []
    for line in lines:
        dashed = alt.Chart(line).mark_line(strokeDash=[5, 3], color="black", clip=True, invalid="break-paths-filter-domains")
        layers.append(dashed.encode(x=x, y=y, detail=[f"{CASE}:N", f"{SERIES}:N"]))
    if along.level is not None:
        layers.append(alt.Chart(pd.DataFrame({"mean": [along.level]})).mark_rule(strokeDash=[5, 3]).encode(y=y))
    return alt.layer(*layers)
