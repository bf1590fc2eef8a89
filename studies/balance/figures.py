"""The figure of conservation: neurons' balances drift in proportion to the rate of SGD, and not to that of Adam. [Du18]"""

from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.curves import log_axis, styled
from analysis.data.points import averaged, seeds
from analysis.data.selection import grid_keys
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from sweepkit.console.words import counted
from sweepkit.stats import mean_interval, power_law

RATE, MEASURE = "base_lr", "balance_drift"
LINE = "proportional to the rate"
_AXES = (RATE, "steps")
CASES = (
    Case("SGD, gamma = 1", {"task": "same_different", "gamma": 1.0}, _AXES),
    Case("SGD, gamma = 0.1", {"task": "same_different", "gamma": 0.1}, _AXES),
    Case("gradient descent, three hidden layers", {"task": "clusters", "training": "gd"}, _AXES),
    Case("Adam, three hidden layers", {"task": "clusters", "training": "adam"}, _AXES),
)


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    drawn = list(found(results, sweep, CASES, MEASURE))
    if not drawn:
        return Missing("no networks at two learning rates whose grid saves balance_drift")
    frame = pd.concat([one.setting.frame.assign(**{CASE: one.case.title}) for one in drawn], ignore_index=True)
    frame = frame[[CASE, *_AXES, "mean", "low", "high", "n"]].sort_values([CASE, RATE])
    said = []
    for one in drawn:
        said.append(f"{one.told}; {_told_exponent(results, one)}")
    caption = f"{'. '.join(said)}. {averaged(frame).capitalize()}; {counted(int(frame['n'].sum()), 'network')}; dashed: {LINE}."
    return Drawn(_chart(frame), frame, caption, ";\n\n".join(one.sql for one in drawn))


def _told_exponent(results: str, one: Found) -> str:
    """The mean over seeds of each one's exponent, as the claims have it. A seed starts from the same weights at all rates, so
    that its drifts are alike."""
    networks = seeds(results, one.selection, MEASURE, grid_keys(results)).query("value > 0")
    n_rates = networks[RATE].nunique()
    slopes = [
        power_law(of[RATE], of["value"]).exponent.value for _, of in networks.groupby("seed") if of[RATE].nunique() == n_rates > 1
    ]
    if not slopes:
        return "no exponent, as no seed has a drift at every rate"
    mean = mean_interval(slopes)
    told = f"{mean.low:.2f} to {mean.high:.2f}, {mean.n} seeds" if mean.n > 1 else "one seed"
    return f"drift ~ rate^{mean.value:.2f} ({told})"


def _chart(frame: pd.DataFrame) -> Any:
    scale = alt.Scale(type="log", nice=False, padding=12)
    title = "learning rate, at one product of rate and steps"
    x = alt.X(f"{RATE}:Q", title=title, scale=scale, axis=log_axis(frame[RATE], at_values=False))
    seen = pd.concat([frame["mean"], frame["high"], frame["low"][frame["low"] > 0]])  # intervals, too, fit between the axes
    y_scale = alt.Scale(type="log", nice=False, domain=[seen.min() / 1.2, 1.2 * seen.max()])
    y = alt.Y("mean:Q", title="largest drift of a neuron's balance", scale=y_scale, axis=log_axis(seen, at_values=False))
    colour = alt.Color(f"{CASE}:N", title=None, sort=[case.title for case in CASES], legend=alt.Legend(labelLimit=260))
    base = alt.Chart(frame).encode(x=x, color=colour)
    line = base.mark_line(point=True).encode(y=y, tooltip=[CASE, *_AXES, alt.Tooltip("mean:Q", format=".3g"), "n"])
    bars = base.mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q").transform_filter("datum.low > 0")
    dashed = alt.Chart(_lines(frame)).mark_line(color="black", strokeWidth=1, clip=True).transform_calculate(law=f"'{LINE}'")
    dash = alt.StrokeDash("law:N", title=None, scale=alt.Scale(domain=[LINE], range=[[5, 3]]))
    dashed = dashed.encode(x=x, y=y, detail=f"{CASE}:N", strokeDash=dash)
    return styled(alt.layer(dashed, bars, line).properties(width=480, height=320))


def _lines(frame: pd.DataFrame) -> pd.DataFrame:
    """For each case the proportional law through its largest rate."""
    parts = []
    for case, of in frame.groupby(CASE, sort=False):
        rates, drifts = of[RATE].to_numpy(float), of["mean"].to_numpy(float)
        last = int(rates.argmax())
        parts.append(pd.DataFrame({CASE: str(case), RATE: rates, "mean": drifts[last] * rates / rates[last]}))
    return pd.concat(parts, ignore_index=True)


BALANCE = Figure(
    "Balance",
    "Conserved balances: their drift is proportional to the rate of SGD",
    "[Du18]",
    ("balance_quick", "balance"),
    _draw,
)
