"""The figure of deep linear networks: modes along training beside theory, their half times against strength and start, and
the alignment of the kernel before the loss moves. [Saxe14, Atanasov22]"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.along import cells_of
from analysis.charts.curves import colours, log_axis, styled
from analysis.data.networks.evaluations import crossings, evaluations_of
from analysis.data.points import seeds
from analysis.data.selection import Value, grid_keys
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from sweepkit.console.words import counted
from sweepkit.declarations.metrics import MODES
from sweepkit.stats import local_slopes, mean_interval
from sweepkit.store.views import declared

from .mode_times import predicted, strength, time_per_step

ALIGNMENT, LOSS, TIME, STRENGTH = "curve_target_alignment", "train_loss", "t", "strength of the mode"
_TEACHER: Mapping[str, Value] = {"task": "modes", "activation": "linear"}
_GAUSSIAN: Mapping[str, Value] = {**_TEACHER, "start": "gaussian", "correlation": 0.0}
RANDOM, BALANCED, LAZY = "Gaussian start", "balanced start", "lazy"
STRENGTHS = (
    Case(RANDOM, {**_GAUSSIAN, "depth": 1, "rank": 4, "gamma": 1.0, "init_scale": 0.001}, ()),
    Case(BALANCED, {**_TEACHER, "start": "balanced", "rank": 3}, ("depth", "init_scale", "steps")),
    Case(LAZY, {**_GAUSSIAN, "depth": 1, "rank": 4, "gamma": 0.01}, ()),
)
STARTS = (
    Case("2 layers", {**_GAUSSIAN, "depth": 1, "rank": 4, "gamma": 1.0}, ("init_scale",)),
    *(Case(f"{depth + 1} layers", {**_GAUSSIAN, "depth": depth, "rank": 1}, ("init_scale",)) for depth in (2, 3, 4)),
)
SILENT = (Case("silent alignment", {**_TEACHER, "depth": 1, "rank": 1, "init_scale": 0.001}, ("correlation",)),)


class _Trained(NamedTuple):
    """The networks of a case: one row each with its keys, and their evaluations with the share of each mode."""

    case: Case
    networks: pd.DataFrame
    along: pd.DataFrame


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    if any(name not in declared(results) for name in (*MODES, ALIGNMENT)):
        return Missing("no networks whose grid saves modes")
    strengths, starts, silent = (list(found(results, sweep, cases, "final_train_loss")) for cases in (STRENGTHS, STARTS, SILENT))
    if not strengths:
        return Missing("no networks of task modes from a small start with modes of several strengths")
    by_strength = [_trained(results, one) for one in strengths]
    halves = pd.concat([_halves(one) for one in by_strength], ignore_index=True)
    rows = [_modes(pd.concat([_curves(one) for one in by_strength], ignore_index=True))]
    said, last, frames, drawn = [], [], [halves.assign(figure="half times by strength")], by_strength
    if halves["mean"].notna().any():
        rows.append(_of_strength(halves))
        said.append(_slopes(halves[halves["series"] != LAZY], STRENGTH, "half time ~ strength^b"))
    if starts:
        by_start = [_trained(results, one) for one in starts]
        frame = pd.concat([_by_start(one) for one in by_start], ignore_index=True)
        frames.append(frame.assign(figure="half times by start"))
        drawn = drawn + by_start
        if frame["mean"].notna().any():
            last.append(_of_start(frame))
            said.append(_slopes(frame, "init_scale", "half time ~ start^b"))
    if silent:
        aligned = [_trained(results, one, (ALIGNMENT, LOSS)) for one in silent]
        frame = pd.concat([_aligned(one) for one in aligned], ignore_index=True)
        last.append(_alignment(frame))
        frames.append(frame.assign(figure="alignment"))
        drawn = drawn + aligned
    n = len({cell for one in drawn for cell in one.networks["cell_id"]})
    how = "Half times are means with 95% intervals, bands the least and the greatest; dashed: theory, for deep Gaussian starts"
    how += " start^-(L-2) through the smallest; t = 2 x rate x steps"
    slopes = "; ".join(filter(None, said)) or "none, as training is too short"
    caption = f"{strengths[0].told}; {counted(n, 'network')}. Local slopes: {slopes}. {how}."
    rows += [alt.hconcat(*last, spacing=25).resolve_scale(color="independent")] if last else []
    chart = styled(alt.vconcat(*rows, spacing=30).resolve_scale(color="independent"))
    sql = ";\n\n".join(one.sql for one in (*strengths, *starts, *silent))
    return Drawn(chart, pd.concat(frames, ignore_index=True), caption, sql)


def _trained(results: str, one: Found, metrics: tuple[str, ...] = ()) -> _Trained:
    """The networks of a case; of each depth those from the smallest start, unless starts are an axis of their own."""
    networks = seeds(results, one.selection, None, grid_keys(results))
    if one.case in STRENGTHS:
        networks = networks[networks["init_scale"] == networks.groupby("depth")["init_scale"].transform("min")]
    names = metrics or MODES[: int(networks["rank"].iloc[0])]
    along = evaluations_of(results, names, cells_of(one.selection))[0]
    return _Trained(one.case, networks, along[along["cell_id"].isin(networks["cell_id"])])


def _keys(networks: pd.DataFrame) -> dict[str, Any]:
    """Keys of the first of these networks."""
    return {str(key): value for key, value in networks.iloc[0].items()}


def _series(case: str, keys: Mapping[str, Any]) -> str:
    return case if case == LAZY else f"{keys['depth'] + 1:g} layers, {case}"


def _modes_of(keys: Mapping[str, Any]) -> tuple[tuple[int, str], ...]:
    return tuple(enumerate(MODES[: int(keys["rank"])], 1))


def _curves(one: _Trained) -> pd.DataFrame:
    """Mean share of each mode by time, and the theory's."""
    rows = []
    for _, of in one.networks.groupby("depth"):
        keys, along = _keys(of), one.along[one.along["cell_id"].isin(of["cell_id"])]
        for mode, metric in _modes_of(keys):
            mean = along.groupby("step")[metric].agg(["mean", "min", "max", "size"]).reset_index()
            mean = mean.iloc[:: max(1, len(mean) // 120)]
            names: dict[str, Any] = {CASE: _series(one.case.title, keys), STRENGTH: f"{strength(keys, mode):g}"}
            rows.append(mean.assign(**names, what="measured", **{TIME: mean["step"] * time_per_step(keys)}))
            shares = 1 / (1 + np.exp(-np.linspace(-6, 6, 121)))
            times = predicted(keys, metric, shares)
            if times is not None:
                rows.append(pd.DataFrame({**names, "what": "theory", TIME: times, "mean": shares}))
    return pd.concat(rows, ignore_index=True)


def _halves(one: _Trained) -> pd.DataFrame:
    """Half time of each mode, with its interval, and the theory's."""
    rows = []
    for _, of in one.networks.groupby("depth"):
        keys = _keys(of)
        for mode, metric in _modes_of(keys):
            rows.append({"series": _series(one.case.title, keys), STRENGTH: strength(keys, mode), **_half(one, of, metric)})
    return pd.DataFrame(rows)


def _half(one: _Trained, of: pd.DataFrame, metric: str) -> dict[str, Any]:
    """Mean half time of these networks, with its interval and the theory's; NaN if none gets there."""
    keys = _keys(of)
    times = of["cell_id"].map(crossings(one.along, metric, 0.5)).dropna() * time_per_step(keys)
    said = predicted(keys, metric, 0.5)
    interval = mean_interval(times) if len(times) else None
    value, low, high = (np.nan,) * 3 if interval is None else interval[:3]
    return {"mean": value, "low": low, "high": high, "n": len(times), "theory": np.nan if said is None else float(said)}


def _by_start(one: _Trained) -> pd.DataFrame:
    """Half times of the mode of strength 1 by the start; where the theory leaves a factor open, through the smallest start."""
    rows = []
    for scale, of in one.networks.groupby("init_scale"):
        keys = _keys(of)
        for mode, metric in _modes_of(keys):
            if strength(keys, mode) == 1:
                rows.append({"series": one.case.title, "init_scale": scale, **_half(one, of, metric)})
    frame = pd.DataFrame(rows, columns=["series", "init_scale", "mean", "low", "high", "n", "theory"])
    there = frame[frame["mean"].notna()]
    if len(there) and there["theory"].isna().all():
        first, power = there.iloc[0], 1 - int(one.networks["depth"].iloc[0])
        frame["theory"] = first["mean"] * (frame["init_scale"] / first["init_scale"]) ** power
    return frame


def _aligned(one: _Trained) -> pd.DataFrame:
    """Alignment by the loss that is left, a mean at each evaluation."""
    along = one.along.merge(one.networks[["cell_id", "correlation"]], on="cell_id")
    return along.groupby(["correlation", "step"], as_index=False).agg(
        loss=(LOSS, "mean"), mean=(ALIGNMENT, "mean"), low=(ALIGNMENT, "min"), high=(ALIGNMENT, "max"), n=(LOSS, "size")
    )


def _slopes(frame: pd.DataFrame, over: str, told: str) -> str:
    """Local slopes between neighbours on logarithmic axes, in words."""
    slopes = _local(frame, over)
    said = [f"{name} {', '.join(f'{slope:.2f}' for slope in of['mean'])}" for name, of in slopes.groupby("series", sort=False)]
    return f"{told}, {'; '.join(said)}" if said else ""


def _modes(curves: pd.DataFrame) -> Any:
    """A panel for each kind of network: shares of the modes by time."""
    panels, names = [], sorted(curves[STRENGTH].unique(), key=float, reverse=True)
    colour = alt.Color(f"{STRENGTH}:N", sort=names, scale=alt.Scale(domain=names, range=colours(len(names))))
    for case, of in curves.groupby(CASE, sort=False):
        last = float(of.loc[of["what"] == "measured", TIME].max())
        x = alt.X(f"{TIME}:Q", title="t", scale=alt.Scale(domain=[0, last], nice=False))
        y = alt.Y("mean:Q", title="share learnt", scale=alt.Scale(domain=[0, 1.05], nice=False))
        measured, said = (of[(of["what"] == what) & (of[TIME] <= last)] for what in ("measured", "theory"))
        base = alt.Chart(measured).encode(x=x, color=colour)
        line = base.mark_line(clip=True).encode(y=y, tooltip=[STRENGTH, TIME, "mean", "size"])
        band = base.mark_area(opacity=0.2, clip=True).encode(y=alt.Y("min:Q"), y2="max:Q")
        dashed = alt.Chart(said).mark_line(strokeDash=[4, 3], color="black", strokeWidth=1, clip=True)
        dashed = dashed.encode(x=x, y=y, detail=f"{STRENGTH}:N", order=f"{TIME}:Q")
        panels.append(alt.layer(band, line, dashed).properties(width=230, height=150, title=str(case)))
    return alt.concat(*panels, columns=3, spacing=20)


def _of_strength(halves: pd.DataFrame) -> Any:
    inverse = halves.assign(inverse=1 / halves[STRENGTH])
    return _both(inverse, "inverse", "1/strength of the mode", "half time by strength")


def _of_start(frame: pd.DataFrame) -> Any:
    return _both(frame, "init_scale", "initial scale", "half time by start, strength 1")


def _both(frame: pd.DataFrame, over: str, axis: str, title: str) -> Any:
    """Half times and, if there are neighbours, their local slopes."""
    left, slopes = _loglog(frame, over, axis).properties(width=330, height=230, title=title), _local(frame, over)
    return left if slopes.empty else alt.hconcat(left, _slope_chart(slopes, over, axis), spacing=25)


def _colour(frame: pd.DataFrame) -> Any:
    return alt.Color("series:N", title=None, sort=list(dict.fromkeys(frame["series"])), legend=alt.Legend(labelLimit=260))


def _loglog(frame: pd.DataFrame, over: str, title: str) -> Any:
    frame = frame[frame["mean"].notna()]
    x = alt.X(f"{over}:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=12), axis=log_axis(frame[over]))
    y = alt.Y("mean:Q", title="half time t", scale=alt.Scale(type="log", nice=False),
              axis=log_axis(frame["mean"], at_values=False))  # fmt: skip
    base = alt.Chart(frame).encode(x=x, color=_colour(frame))
    points = base.mark_point(filled=True, size=40).encode(y=y, tooltip=["series", over, alt.Tooltip("mean:Q", format=".4g"), "n"])
    bars = base.transform_filter("datum.low > 0").mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q")
    dashed = alt.Chart(frame[frame["theory"].notna()]).mark_line(strokeDash=[5, 3]).encode(
        x=x, y=alt.Y("theory:Q", scale=alt.Scale(type="log", nice=False)), color=_colour(frame)
    )  # fmt: skip
    return alt.layer(dashed, bars, points)


def _local(frame: pd.DataFrame, over: str) -> pd.DataFrame:
    """Local slopes of measured and theory's half times between neighbours, at their geometric means."""
    rows = [pd.DataFrame(columns=["series", over, "mean", "theory"])]
    for series, of in frame[frame["mean"].notna()].groupby("series", sort=False):
        of = of.sort_values(over)
        (at, measured), (_, theory) = (local_slopes(of[over], of[what]) for what in ("mean", "theory"))
        rows.append(pd.DataFrame({"series": series, over: at, "mean": measured, "theory": theory}))
    return pd.concat(rows[1:] or rows, ignore_index=True)


def _slope_chart(slopes: pd.DataFrame, over: str, title: str) -> Any:
    x = alt.X(f"{over}:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=12),
              axis=log_axis(slopes[over], at_values=False))  # fmt: skip
    base = alt.Chart(slopes).encode(x=x, color=_colour(slopes))
    points = base.mark_point(filled=True, size=40).encode(y=alt.Y("mean:Q", title="local slope"), tooltip=["series", "mean"])
    dashed = base.transform_filter("isValid(datum.theory)").mark_line(strokeDash=[5, 3]).encode(y="theory:Q")
    return alt.layer(dashed, points).properties(width=230, height=230, title="local slopes")


def _alignment(aligned: pd.DataFrame) -> Any:
    names = sorted(aligned["correlation"].unique())
    frame = aligned.assign(correlation=aligned["correlation"].map("{:g}".format))
    shown = [f"{name:g}" for name in names]
    colour = alt.Color("correlation:N", title="correlation of inputs", sort=shown,
                       scale=alt.Scale(domain=shown, range=colours(len(shown))))  # fmt: skip
    x = alt.X("loss:Q", title="loss over that of the start", scale=alt.Scale(domain=[0, 1.02], reverse=True, nice=False))
    base = alt.Chart(frame).encode(x=x, color=colour, order="step:Q")
    line = base.mark_line(clip=True).encode(y=alt.Y("mean:Q", title="alignment of features with targets"))
    return line.properties(width=300, height=230, title="silent alignment")


DEEP_LINEAR = Figure(
    "DeepLinear", "Deep linear networks learn a mode at a time: half times by depth, strength and start, and silent alignment",
    "[Saxe14], [Atanasov22]", ("deep_linear_quick", "deep_linear"), _draw,
)  # fmt: skip
