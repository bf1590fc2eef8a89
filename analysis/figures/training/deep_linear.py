"""The figure of deep linear networks: modes along training beside theory, their half times against strength and start, and
the alignment of the kernel before the loss moves. [Saxe14, Atanasov22]"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.along import cells_of
from analysis.charts.curves import colours, log_axis, styled
from analysis.data.networks.evaluations import crossings, evaluations_of
from analysis.data.points import seeds
from analysis.data.selection import Value, grid_keys
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.figures.training.cases import CASE, Case, Found, found
from analysis.scaling.mode_times import MODES, predicted, strength, time_per_step
from console.words import counted
from stats import mean_interval
from store.views import declared

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


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    if any(name not in declared(results) for name in (*MODES, ALIGNMENT)):
        return Missing("no networks whose grid saves modes")
    strengths, starts, silent = (list(found(results, sweep, cases, "final_train_loss")) for cases in (STRENGTHS, STARTS, SILENT))
    if not strengths:
        return Missing("no networks of task modes from a small start with modes of several strengths")
    networks = [_networks(results, one) for one in strengths]
    curves = pd.concat([_curves(results, one, of) for one, of in zip(strengths, networks, strict=True)], ignore_index=True)
    halves = pd.concat([_halves(results, one, of) for one, of in zip(strengths, networks, strict=True)], ignore_index=True)
    rows = [_modes(curves), _of_strength(halves)]
    said = [_slopes(halves, "series", STRENGTH, "half time ~ strength^b", where=halves["series"] != LAZY)]
    last, frames = [], [halves.assign(figure="half times by strength")]
    if starts:
        by_start = pd.concat([_by_start(results, one) for one in starts], ignore_index=True)
        last.append(_of_start(by_start))
        frames.append(by_start.assign(figure="half times by start"))
        said.append(_slopes(by_start, "series", "init_scale", "half time ~ start^b"))
    if silent:
        aligned = pd.concat([_aligned(results, one) for one in silent], ignore_index=True)
        last.append(_alignment(aligned))
        frames.append(aligned.assign(figure="alignment"))
    drawn = [*strengths, *starts, *silent]
    n = len({cell for one in drawn for cell in _networks(results, one)["cell_id"]})
    how = "Half times are means with 95% intervals, bands the least and the greatest; dashed: theory; t = 2 x rate x steps"
    caption = f"{strengths[0].told}; {counted(n, 'network')}. Local slopes: {'; '.join(said)}. {how}."
    rows += [alt.hconcat(*last, spacing=25).resolve_scale(color="independent")] if last else []
    chart = styled(alt.vconcat(*rows, spacing=30).resolve_scale(color="independent"))
    return Drawn(chart, pd.concat(frames, ignore_index=True), caption, ";\n\n".join(one.sql for one in drawn))


def _networks(results: str, one: Found) -> pd.DataFrame:
    """One row per network with its keys; of each depth those from the smallest start, unless starts are an axis of their own."""
    networks = seeds(results, one.selection, None, grid_keys(results))
    smallest = networks.groupby("depth")["init_scale"].transform("min")
    return networks if one.case in STARTS else networks[networks["init_scale"] == smallest]


def _keys(networks: pd.DataFrame) -> dict[str, Any]:
    """Keys of the first of these networks."""
    return {str(key): value for key, value in networks.iloc[0].items()}


def _series(case: str, keys: Mapping[str, Any]) -> str:
    return case if case == LAZY else f"{keys['depth'] + 1:g} layers, {case}"


def _modes_of(keys: Mapping[str, Any]) -> tuple[tuple[int, str], ...]:
    return tuple(enumerate(MODES[: int(keys["rank"])], 1))


def _curves(results: str, one: Found, networks: pd.DataFrame) -> pd.DataFrame:
    """Mean share of each mode by time, and the theory's."""
    rows = []
    for _, of in networks.groupby("depth"):
        keys = _keys(of)
        for mode, metric in _modes_of(keys):
            along = evaluations_of(results, (metric,), cells_of(one.selection))[0]
            along = along[along["cell_id"].isin(of["cell_id"])]
            mean = along.groupby("step")[metric].agg(["mean", "min", "max", "size"]).reset_index()
            mean = mean.iloc[:: max(1, len(mean) // 120)]
            names: dict[str, Any] = {CASE: _series(one.case.title, keys), STRENGTH: f"{strength(keys, mode):g}"}
            rows.append(mean.assign(**names, what="measured", **{TIME: mean["step"] * time_per_step(keys)}))
            shares = 1 / (1 + np.exp(-np.linspace(-6, 6, 121)))
            times = predicted(keys, metric, shares)
            if times is not None:
                rows.append(pd.DataFrame({**names, "what": "theory", TIME: times, "mean": shares}))
    return pd.concat(rows, ignore_index=True)


def _halves(results: str, one: Found, networks: pd.DataFrame) -> pd.DataFrame:
    """Half time of each mode, with its interval, and the theory's."""
    rows = []
    for _, of in networks.groupby("depth"):
        keys = _keys(of)
        for mode, metric in _modes_of(keys):
            rows.append(
                {"series": _series(one.case.title, keys), STRENGTH: strength(keys, mode), **_half(results, one, of, metric)}
            )
    return pd.DataFrame(rows)


def _half(results: str, one: Found, of: pd.DataFrame, metric: str) -> dict[str, Any]:
    """Mean half time of these networks, with its interval and the theory's; NaN if none gets there."""
    keys = _keys(of)
    steps = crossings(evaluations_of(results, (metric,), cells_of(one.selection))[0], metric, 0.5)
    times = of["cell_id"].map(steps).dropna() * time_per_step(keys)
    said = predicted(keys, metric, 0.5)
    interval = mean_interval(times) if len(times) else None
    value, low, high = (np.nan,) * 3 if interval is None else interval[:3]
    return {"mean": value, "low": low, "high": high, "n": len(times), "theory": np.nan if said is None else float(said)}


def _by_start(results: str, one: Found) -> pd.DataFrame:
    """Half times of the mode of strength 1 by the start."""
    networks, rows = _networks(results, one), []
    for _, of in networks.groupby("init_scale"):
        keys = _keys(of)
        for mode, metric in _modes_of(keys):
            if strength(keys, mode) == 1:
                rows.append({"series": one.case.title, "init_scale": keys["init_scale"], **_half(results, one, of, metric)})
    return pd.DataFrame(rows)


def _aligned(results: str, one: Found) -> pd.DataFrame:
    """Alignment by the loss that is left, a mean at each evaluation."""
    networks = _networks(results, one)[["cell_id", "correlation"]]
    along = evaluations_of(results, (ALIGNMENT, LOSS), cells_of(one.selection))[0].merge(networks, on="cell_id")
    return along.groupby(["correlation", "step"], as_index=False).agg(
        loss=(LOSS, "mean"), mean=(ALIGNMENT, "mean"), low=(ALIGNMENT, "min"), high=(ALIGNMENT, "max"), n=(LOSS, "size")
    )


def _slopes(frame: pd.DataFrame, by: str, over: str, told: str, where: Any = True) -> str:
    """Local slopes between neighbours on logarithmic axes, in words."""
    said = []
    for series, of in frame[where & frame["mean"].notna()].groupby(by, sort=False):
        x, y = (np.log(part.to_numpy(float)) for _, part in of.sort_values(over)[[over, "mean"]].items())
        if len(x) > 1:
            said.append(f"{series} {', '.join(f'{slope:.2f}' for slope in np.diff(y) / np.diff(x))}")
    return f"{told}, {'; '.join(said)}"


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
    left = _loglog(inverse, "inverse", "1/strength of the mode").properties(width=330, height=230, title="half time by strength")
    slopes = _local(inverse, "inverse")
    return alt.hconcat(left, _slope_chart(slopes, "inverse", "1/strength of the mode"), spacing=25)


def _of_start(frame: pd.DataFrame) -> Any:
    left = _loglog(frame, "init_scale", "initial scale").properties(width=330, height=230, title="half time by start, strength 1")
    return alt.hconcat(left, _slope_chart(_local(frame, "init_scale"), "init_scale", "initial scale"), spacing=25)


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
    rows = []
    for series, of in frame[frame["mean"].notna()].groupby("series", sort=False):
        of = of.sort_values(over)
        x = np.log(of[over].to_numpy(float))
        slopes = {what: np.diff(np.log(of[what].to_numpy(float))) / np.diff(x) for what in ("mean", "theory")}
        rows.append(pd.DataFrame({"series": series, over: np.exp((x[1:] + x[:-1]) / 2), **slopes}))
    return pd.concat(rows, ignore_index=True)


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
    "[Saxe14], [Atanasov22]", ("grids/deep_linear_quick.yaml",), _draw,
)  # fmt: skip
