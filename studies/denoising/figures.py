"""The figure of linear denoisers: half times against the variance of a component in little and much noise, and components along
training, beside the theory."""

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
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from sweepkit.console.words import counted
from sweepkit.declarations.metrics import MODES
from sweepkit.stats import local_slopes, mean_interval
from sweepkit.store.views import declared

from .theory import time_to_share

VARIANCE, TIME = "strength", "t"
_ONE: Mapping[str, Value] = {"task": "denoising", "network": "linear1"}
_TWO: Mapping[str, Value] = {"task": "denoising", "network": "mlp", "depth": 1, "start": "balanced"}
HALVES = (
    Case("1 layer, little noise", {**_ONE, "training": "gd", "rank": 1, "noise": 0.001}, (VARIANCE,)),
    Case("1 layer, little noise, fresh examples", {**_ONE, "training": "sgd", "rank": 1, "noise": 0.001}, (VARIANCE,)),
    Case("1 layer, much noise", {**_ONE, "training": "gd", "rank": 1, "noise": 64.0}, (VARIANCE,)),
    Case("2 layers, little noise", {**_TWO, "rank": 1, "noise": 0.001}, (VARIANCE,)),
    Case("2 layers, much noise", {**_TWO, "rank": 1, "noise": 64.0}, (VARIANCE,)),
)
SPECTRA = (Case("1 layer", {**_ONE, "rank": 4, "noise": 1.0}, ()), Case("2 layers", {**_TWO, "rank": 4, "noise": 1.0}, ()))


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    if MODES[0] not in declared(results):
        return Missing(f"no networks whose grid saves {MODES[0]}")
    halves, spectra = (list(found(results, sweep, cases, "test_mse")) for cases in (HALVES, SPECTRA))
    if not halves:
        return Missing("no networks of task denoising at two variances of one component")
    half = pd.concat([_half_times(results, one) for one in halves], ignore_index=True)
    if half.empty:
        return Missing("no network of task denoising that has learnt half of its component: train longer")
    slopes = pd.concat([_local(case, of) for case, of in half.groupby(CASE, sort=False)], ignore_index=True)
    frames, rows = [half.assign(figure="half times")], [alt.hconcat(_times(half), _slopes(slopes), spacing=25)]
    if spectra:
        shares = pd.concat([_shares(results, one) for one in spectra], ignore_index=True)
        frames.append(shares.assign(figure="shares"))
        rows.append(alt.hconcat(*(_along(str(case), of) for case, of in shares.groupby(CASE, sort=False)), spacing=25))
    every = (*halves, *spectra)
    n = counted(sum(int(one.setting.frame["n"].sum()) for one in every), "network")
    said = "; ".join(
        f"{case} {', '.join(f'{slope:.2f}' for slope in of['mean'])}" for case, of in slopes.groupby(CASE, sort=False)
    )
    how = "Half times are means with 95% intervals; dashed: theory; t = 2 x rate x steps"
    caption = f"{halves[0].told}; {n}. Local slopes, half time ~ variance^b: {said or 'none'}. {how}."
    chart = styled(alt.vconcat(*rows, spacing=30).resolve_scale(color="independent"))
    return Drawn(chart, pd.concat(frames, ignore_index=True), caption, ";\n\n".join(one.sql for one in every))


def _trained(results: str, one: Found) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The networks of a case, a row each with its keys, and their evaluations."""
    networks = seeds(results, one.selection, None, grid_keys(results))
    return networks, evaluations_of(results, MODES[: int(networks["rank"].iloc[0])], cells_of(one.selection))[0]


def _theory(keys: Mapping[str, Any], share: Any, variance: float) -> Any:
    """The theory's t at which this share of a component is learnt, in networks of these keys."""
    layers = 1 if keys["network"] == "linear1" else int(keys["depth"]) + 1
    w_0 = 0.0 if layers == 1 else float(keys["init_scale"]) ** layers
    return time_to_share(share, variance, float(keys["noise"]), layers, w_0)


def _half_times(results: str, one: Found) -> pd.DataFrame:
    """Half time by variance with its interval, and the theory's."""
    networks, along = _trained(results, one)
    rows = []
    for variance, of in networks.groupby(VARIANCE):
        keys = {str(key): value for key, value in of.iloc[0].items()}
        times = (of["cell_id"].map(crossings(along, MODES[0], 0.5)) * 2 * of["base_lr"]).dropna()
        if len(times):
            value, low, high = mean_interval(times)[:3]
            said = float(_theory(keys, 0.5, float(str(variance))))
            rows.append([one.case.title, variance, value, low, high, len(times), said])
    return pd.DataFrame(rows, columns=[CASE, VARIANCE, "mean", "low", "high", "n", "theory"])


def _local(case: Any, of: pd.DataFrame) -> pd.DataFrame:
    """Local slopes between neighbours, at their geometric means."""
    (at, measured), (_, theory) = (local_slopes(of[VARIANCE], of[what]) for what in ("mean", "theory"))
    return pd.DataFrame({CASE: str(case), VARIANCE: at, "mean": measured, "theory": theory})


def _shares(results: str, one: Found) -> pd.DataFrame:
    """Mean share of each component by time, and the theory's."""
    networks, along = _trained(results, one)
    keys = {str(key): value for key, value in networks.iloc[0].items()}
    shown, parts = 1 / (1 + np.exp(-np.linspace(-6, 6, 121))), []
    for k, metric in enumerate(MODES[: int(keys["rank"])]):
        variance = float(keys[VARIANCE]) / float(keys["ratio"]) ** k
        mean = along.groupby("step")[metric].mean().reset_index(name="mean")
        mean = mean.iloc[:: max(1, len(mean) // 150)]
        names = {CASE: one.case.title, VARIANCE: f"{variance:g}"}
        parts.append(mean.assign(**names, what="measured", **{TIME: mean["step"] * 2 * float(keys["base_lr"])}))
        times = _theory(keys, shown, variance)
        parts.append(pd.DataFrame({**names, "what": "theory", TIME: times, "mean": shown}))
    return pd.concat(parts, ignore_index=True)


def _times(half: pd.DataFrame) -> Any:
    y = alt.Y(
        "mean:Q", title="half time t", scale=alt.Scale(type="log", nice=False), axis=log_axis(half["mean"], at_values=False)
    )
    base = alt.Chart(half).encode(x=_by_variance(half), color=_colour(half))
    points = base.mark_point(filled=True, size=40).encode(y=y, tooltip=[CASE, VARIANCE, alt.Tooltip("mean:Q", format=".4g"), "n"])
    bars = base.transform_filter("datum.low > 0").mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q")
    return alt.layer(_dashed(base, "theory:Q"), bars, points).properties(width=330, height=260, title="half time by variance")


def _slopes(slopes: pd.DataFrame) -> Any:
    base = alt.Chart(slopes).encode(x=_by_variance(slopes, at_values=False), color=_colour(slopes))
    points = base.mark_point(filled=True, size=40).encode(y=alt.Y("mean:Q", title="local slope"), tooltip=[CASE, "mean"])
    return alt.layer(_dashed(base, "theory:Q"), points).properties(width=260, height=260, title="local slopes")


def _along(case: str, shares: pd.DataFrame) -> Any:
    names = sorted(shares[VARIANCE].unique(), key=float, reverse=True)
    measured = shares[shares["what"] == "measured"]
    last = float(measured[TIME].max())
    x = alt.X(f"{TIME}:Q", title="t", scale=alt.Scale(domain=[0, last], nice=False))
    y = alt.Y("mean:Q", title="share learnt", scale=alt.Scale(domain=[0, 1.05], nice=False))
    scale = alt.Scale(domain=names, range=colours(len(names)))
    colour = alt.Color(f"{VARIANCE}:N", title="variance of the component", sort=names, scale=scale)
    line = alt.Chart(measured).mark_line(clip=True).encode(x=x, y=y, color=colour)
    said = alt.Chart(shares[(shares["what"] == "theory") & (shares[TIME] <= last)])
    dashed = said.mark_line(strokeDash=[4, 3], color="black", strokeWidth=1, clip=True)
    dashed = dashed.encode(x=x, y=y, detail=f"{VARIANCE}:N", order=f"{TIME}:Q")
    return alt.layer(line, dashed).properties(width=330, height=200, title=f"{case}, noise of variance 1")


def _by_variance(frame: pd.DataFrame, at_values: bool = True) -> Any:
    scale = alt.Scale(type="log", nice=False, padding=12)
    return alt.X(
        f"{VARIANCE}:Q", title="variance of the component", scale=scale, axis=log_axis(frame[VARIANCE], at_values=at_values)
    )


def _colour(frame: pd.DataFrame) -> Any:
    return alt.Color(f"{CASE}:N", title=None, sort=list(dict.fromkeys(frame[CASE])), legend=alt.Legend(labelLimit=260))


def _dashed(base: Any, theory: str) -> Any:
    return base.mark_line(strokeDash=[5, 3]).encode(y=alt.Y(theory))


DENOISING = Figure(
    "Denoising", "Linear denoisers: half times of components by their variance and the noise, with one layer and with two",
    "derived here, [Saxe14]", ("denoising_quick", "denoising"), _draw,
)  # fmt: skip
