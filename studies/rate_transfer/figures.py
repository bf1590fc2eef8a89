"""The figure of learning rates across sizes: does that of narrow or shallow networks serve wide or deep ones? [Yang22]"""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import colour_of, log_axis, styled
from analysis.data.points import seeds
from analysis.data.selection import grid_keys
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.scaling.optimum import growth_exponent, optima
from analysis.studies.along import Case
from sweepkit.console.words import counted

RATE, MEASURE, SIZE = "base_lr", "test_mse", "size"
_HE2 = {"task": "hermite"}
CASES = (
    Case("muP", {**_HE2, "network": "mlp", "parametrisation": "mup"}, (RATE, "width")),
    Case("standard parametrisation", {**_HE2, "network": "mlp", "parametrisation": "standard"}, (RATE, "width")),
    Case("[Tong25] at gamma = 1", {**_HE2, "network": "relu2", "gamma": 1.0}, (RATE, "width")),
    Case("depth, branches of 1/sqrt(depth)", {**_HE2, "network": "residual"}, (RATE, "depth")),
)


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    drawn = list(found(results, sweep, CASES, MEASURE))
    if not drawn:
        return Missing("no networks of task hermite at two learning rates and two widths or depths")
    curves, best, said = [], [], []
    for one in drawn:
        against = one.case.axes[1]
        of_case = _optima(results, one, against)
        exponent = growth_exponent(of_case[of_case["at"] == ""], against)
        if exponent is not None:
            law = f"best rate ~ {against}^{exponent.value:.2f} ({exponent.low:.2f} to {exponent.high:.2f}, {exponent.n} seeds)"
            said.append(f"{one.told}; {law}; {counted(int(one.setting.frame['n'].sum()), 'network')}")
        curves.append(one.setting.frame.rename(columns={against: SIZE}).assign(**{CASE: one.case.title}))
        best.append(_means(of_case, against).assign(**{CASE: one.case.title}))
    frame = pd.concat(curves, ignore_index=True)[[CASE, SIZE, RATE, "mean", "low", "high", "n", "diverged"]]
    both = alt.vconcat(_curves(frame), _best(pd.concat(best, ignore_index=True)), spacing=25)
    chart = styled(both.resolve_scale(color="independent"))
    caption = ". ".join(said) + ". Means with 95% intervals; points: the best rate of each seed, averaged."
    return Drawn(chart, frame, caption, ";\n\n".join(one.sql for one in drawn))


def _optima(results: str, one: Found, against: str) -> pd.DataFrame:
    """The best rate of each seed and size; networks that diverged are the worst."""
    networks = seeds(results, one.selection, MEASURE, grid_keys(results), with_diverged=True)
    return optima(networks, RATE, against)


def _means(best: pd.DataFrame, against: str) -> pd.DataFrame:
    """Geometric means over seeds, and the least and greatest, by size."""
    grouped = np.log(best["x"]).groupby(best[against])
    rows = {"best": np.exp(grouped.mean()), "least": np.exp(grouped.min()), "most": np.exp(grouped.max())}
    return pd.DataFrame(rows).rename_axis(SIZE).reset_index()


def _curves(frame: pd.DataFrame) -> Any:
    panels = []
    for case, of in frame.groupby(CASE, sort=False):
        lowest, highest = 0.9 * of["mean"].min(), 1.1 * of["mean"].max()
        part = of.assign(
            **{SIZE: of[SIZE].astype(int), "low": of["low"].clip(lower=lowest), "high": of["high"].clip(upper=highest)}
        )
        scale = alt.Scale(type="log", domain=[lowest, highest], nice=False)
        x = alt.Scale(type="log", nice=False, padding=8)
        base = alt.Chart(part).encode(
            x=alt.X(f"{RATE}:Q", title="base learning rate", scale=x, axis=log_axis(part[RATE], at_values=False)),
            color=colour_of(part, SIZE),
        )
        band = base.mark_area(opacity=0.2, strokeWidth=0).encode(y=alt.Y("low:Q", title="test error", scale=scale), y2="high:Q")
        line = base.mark_line(point=True).encode(
            y=alt.Y("mean:Q", title="test error", scale=scale),
            tooltip=[CASE, SIZE, RATE, alt.Tooltip("mean:Q", format=".3g"), "n", "diverged"],
        )
        panels.append(alt.layer(band, line).properties(width=300, height=220, title=str(case)))
    return alt.concat(*panels, columns=2, spacing=25).resolve_scale(color="independent")


def _best(best: pd.DataFrame) -> Any:
    base = alt.Chart(best).encode(
        x=alt.X(
            f"{SIZE}:Q", title="width or depth", scale=alt.Scale(type="log", nice=False, padding=12), axis=log_axis(best[SIZE])
        ),
        color=alt.Color(f"{CASE}:N", title=None, sort=[case.title for case in CASES], legend=alt.Legend(labelLimit=260)),
    )
    bars = base.mark_rule().encode(y=alt.Y("least:Q", title="best rate"), y2="most:Q")
    line = base.mark_line(point=True).encode(
        y=alt.Y(
            "best:Q", title="best rate", scale=alt.Scale(type="log", nice=False), axis=log_axis(best["best"], at_values=False)
        )
    )
    return alt.layer(bars, line).properties(width=400, height=220, title="the best rate against the size")


RATES = Figure(
    "Rates", "Learning rates across widths and depths: what serves narrow networks serves wide ones at fixed gamma",
    "[Yang22], [Bordelon24]", ("rate_transfer_quick", "rate_transfer"), _draw,
)  # fmt: skip
