"""The figure of the one-third law: cross entropy along training without and with a margin, and squared error."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.along import groups_along
from analysis.charts.curves import log_axis, styled
from analysis.data.points import with_intervals
from analysis.data.selection import Value
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.figures.training.cases import CASE, Case, Found, found
from analysis.theory.one_third import loss
from sweepkit.console.words import counted
from sweepkit.declarations.metrics import METRICS
from sweepkit.stats import power_law

TIME, LOSS, FIRST = "t", METRICS["train_loss"], 100
_AT_ONE: Mapping[str, Value] = {"task": "halfspace", "batch": 256}
CASES = (
    Case("cross entropy", {**_AT_ONE, "margin": 0.0, "base_lr": 1.0}, ("d",)),
    Case("cross entropy, margin 0.5", {**_AT_ONE, "margin": 0.5, "base_lr": 1.0}, ("d",)),
    Case("squared error", {**_AT_ONE, "margin": 0.0, "loss": "mse"}, ()),
)


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    drawn = list(found(results, sweep, CASES, "final_train_loss"))
    if not drawn:
        return Missing("no networks of task halfspace")
    frame = pd.concat([_along(results, one) for one in drawn], ignore_index=True)
    solved = [_theory(one, frame) for one in drawn if "loss" not in one.case.where]
    theory = pd.concat(solved, ignore_index=True) if solved else pd.DataFrame(columns=[CASE, TIME, "mean"])
    n = counted(sum(int(one.setting.frame["n"].sum()) for one in drawn), "network")
    said = "; ".join(_slope(one.case.title, frame) for one in drawn)
    how = "losses are means since the evaluation before, as is the theory, dashed"
    caption = f"{drawn[0].told}; {n}. Slopes from t = {FIRST} on: {said}; {how}."
    return Drawn(_chart(frame, theory), frame, caption, ";\n\n".join(one.sql for one in drawn))


def _along(results: str, one: Found) -> pd.DataFrame:
    keys = ["base_lr", *one.case.axes]
    means = with_intervals(groups_along(results, one.selection, LOSS, keys)[0], LOSS)
    series = one.case.title + means["d"].map(", d = {:g}".format) if "d" in means else one.case.title
    return means.assign(**{CASE: one.case.title, "series": series, TIME: means["step"] * means["base_lr"]})[
        [CASE, "series", TIME, "step", "mean", "low", "high", "n"]
    ]


def _theory(one: Found, frame: pd.DataFrame) -> pd.DataFrame:
    """The theory at each evaluation, averaged since the one before, as training losses are."""
    ends = np.sort(frame.loc[frame[CASE] == one.case.title, TIME].unique())
    starts = np.concatenate([[0.0], ends[:-1]])
    between = starts[:, None] + (ends - starts)[:, None] * (np.arange(8) + 0.5) / 8
    margin = float(one.case.where["margin"])  # type: ignore[arg-type]
    return pd.DataFrame({CASE: one.case.title, TIME: ends, "mean": loss(between, margin).mean(axis=1)})


def _slope(case: str, frame: pd.DataFrame) -> str:
    of = frame[(frame[CASE] == case) & (frame[TIME] >= FIRST)]
    if of[TIME].nunique() < 2:
        return f"{case} none, as training is too short"
    slope = power_law(of[TIME], of["mean"]).exponent.value
    return f"{case} {slope:.2f}"


def _chart(frame: pd.DataFrame, theory: pd.DataFrame) -> Any:
    x = alt.X(f"{TIME}:Q", title="t = rate x steps", scale=alt.Scale(type="log", nice=False), axis=log_axis(frame[TIME]))
    y = alt.Y("mean:Q", title="training loss", scale=alt.Scale(type="log", nice=False), axis=log_axis(frame["mean"]))
    colour = alt.Color("series:N", title=None, sort=list(dict.fromkeys(frame["series"])), legend=alt.Legend(labelLimit=260))
    line = alt.Chart(frame).mark_line(point={"size": 14}).encode(
        x=x, y=y, color=colour, tooltip=["series", "step", alt.Tooltip("mean:Q", format=".4g"), "n"]
    )  # fmt: skip
    dashed = alt.Chart(theory).mark_line(strokeDash=[5, 3], color="black").encode(x=x, y=y, detail=f"{CASE}:N")
    return styled(alt.layer(line, dashed).properties(width=480, height=340))


ONE_THIRD = Figure(
    "OneThird", "The one-third law: cross entropy where inputs lie at the boundary between labels, and where they do not",
    "derived here", ("grids/one_third_quick.yaml", "grids/one_third.yaml"), _draw,
)  # fmt: skip
