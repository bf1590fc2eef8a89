"""Figures of networks at equilibrium [Rubin25]: P*(d) beside the large-deviation bound, and curves of alignment over P / P*.

d, N   input dimension, width; A_f alignment; P* samples at which its mean over seeds crosses a level
t      slope of the bound's energy in A_f: theory has P* = kappa t/(1 - A_f), with nothing left open
"""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import styled
from analysis.data.keys import captioned
from analysis.data.measures import MEASURES
from analysis.data.points import Setting, described, groups, n_seeds, one_setting, points, unmixed
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.scaling.charts import collapse_panels, threshold_panel
from analysis.scaling.proportion import in_proportion, width_as
from analysis.scaling.rescaling import Family, best, doubted, family, in_units
from analysis.scaling.thresholds import fitted, threshold_table, thresholds
from sweepkit.console.words import counted
from sweepkit.stats import collapse as score
from sweepkit.store.views import declared

from ..bound import BOUND_UNIT, MEASURE, ONSET, lines, multiples, predicted_samples
from ..theory.large_deviation import Size, as_scaling, slope
from ..theory.patterns import NETWORKS, exponents

TRIED = (0.0, 3.5)
"""Range of exponents to rescale curves with: the lazy law has 3."""
HE3 = {"task": "he3", "network": "erf2"}
SCALING = "scaling"
AXES = ("P", "d", "width", SCALING)


def measured(results: str, sweep: str | None) -> tuple[Setting, str] | Missing:
    """Networks of all sizes and both scalings in one setting of the other keys, and the query behind them."""
    found = points(results, Selection(sweep).only(HE3), "alignment_f")
    if found.frame.empty:
        return Missing("no erf networks at equilibrium on he3")
    return one_setting(found.frame, found.keys, AXES, declared=found.declared), found.sql


def p_star(results: str, sweep: str | None) -> Drawn | Missing:
    """P*(d) at N = c d and P*(N) at one d, with the fitted laws, beside the bound."""
    found = measured(results, sweep)
    if isinstance(found, Missing):
        return found
    whole, sql = found
    panels, tables, said = [], [], []
    over: tuple[tuple[Size, pd.DataFrame], ...] = ("d", in_proportion(whole.frame)), ("width", _of_one_d(whole.frame))
    for against, frame in over:
        curves = thresholds(frame, ONSET, "P")
        if curves.empty or curves[against].nunique() < 2:
            continue
        panel, table, laws = _laws(curves, against)
        at_one_d = {"d": int(frame["d"].iloc[0])} if against == "width" else {}
        setting = whole._replace(frame=frame, values=whole.values | at_one_d)
        sizes = [_ratio_of(frame)] if against == "d" else []
        said.append("; ".join([*sizes, told(results, sweep, setting), *laws]) + ".")
        panels.append(panel)
        tables.append(table)
    if not panels:
        return Missing("no thresholds at two d with N in one proportion to d, nor at two N of one d")
    chart = styled(alt.hconcat(*panels, spacing=24).resolve_scale(color="shared", strokeDash="shared", shape="independent"))
    closing = (
        f"A_f = {ONSET:g}. Dashed: kappa t/(1 - A_f) of the large-deviation bound, nothing fitted; dotted: the paper's, whose "
        "neurons keep the length of their other weights."
    )
    return Drawn(chart, pd.concat(tables).drop_duplicates(), " ".join([*said, closing]), sql)


def _laws(curves: pd.DataFrame, against: Size) -> tuple[Any, pd.DataFrame, list[str]]:
    """A panel of thresholds over d or width with the fitted laws and the bound, its table, and the laws in words."""
    table = threshold_table(curves, [SCALING, "d", "width"])
    fits = fitted(curves, "P", against, SCALING).fits
    said, size, bounds = [], "d" if against == "d" else "N", lines(curves, MEASURE, "P", against, SCALING)
    for name, group in table.groupby(SCALING):
        reached, laws = group[group["state"] == "reached"], []
        d, N = (reached[key].to_numpy() for key in ("d", "width"))
        if fit := fits.get(name):
            value, low, high, *_ = fit.interval
            laws.append(f"P* ~ {size}^{value:.2f} ({low:.2f} to {high:.2f}, n = {fit.n_used})")
        if len(reached) > 1:
            laws.append(f"the bound has slope {slope(ONSET, N, d, as_scaling(str(name)), against):.2f} over these {size}")
        if bounds is not None and (times := multiples(group, bounds[bounds[SCALING] == name], against)):
            laws.append(times)
        said += [f"{name}: {', '.join(laws)}"] if laws else []
    panel = threshold_panel(table, "P", against, SCALING, fits, width=330, height=280, task="he3", curves=bounds)
    return panel, table, said


def _of_one_d(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the d that has most widths."""
    return frame[frame["d"] == frame.groupby("d")["width"].nunique().idxmax()].reset_index(drop=True)


def _ratio_of(frame: pd.DataFrame) -> str:
    return width_as(float((frame["width"] / frame["d"]).iloc[0]))


def told(results: str, sweep: str | None, setting: Setting) -> str:
    """Words: which networks a setting has, how many, and how many of them did not mix."""
    networks = counted(int(setting.frame["n"].sum()), "network")
    fixed = described(setting.values, captioned(setting.values, declared(results)))
    lost = unmixed(setting.frame, groups(results, Selection(sweep), "unmixed"))
    return f"{fixed}; {', '.join(filter(None, [networks, lost]))}, {n_seeds(setting.frame)} per point"


def collapse(results: str, sweep: str | None) -> Drawn | Missing:
    """Alignment over P, and in units of the bound's P* at A_f = ONSET for each size, where the curves should coincide.

    A third panel shows how well they coincide in these units and, for any exponent e, over P / d^e.
    """
    found = measured(results, sweep)
    if isinstance(found, Missing):
        return found
    whole, sql = found
    frame = in_proportion(whole.frame)
    frame = frame[(frame["P"] > 0) & (frame[SCALING] == frame[SCALING].max())]  # the standard scaling, if both are there
    if frame["d"].nunique() < 2:
        return Missing("no curves of two d with N in one proportion to d")
    scaling = as_scaling(frame[SCALING].iloc[0])
    try:
        curves = family(frame, "P", "d", MEASURES[MEASURE])
    except ValueError as error:
        return Missing(f"no collapse: {error}")
    of_bound = in_units(curves, predicted_samples(curves.frame, scaling, ONSET), BOUND_UNIT)
    scores, said = _scores(curves, of_bound.quality.quality)
    panels = collapse_panels(of_bound, "P", "d", MEASURES[MEASURE], width=270)
    chart = styled(alt.hconcat(*panels, scores, spacing=24))
    columns = ["d", "width", "P", "rescaled", "n", "mean", "low", "high"]
    setting = whole._replace(frame=curves.frame, values=whole.values | {SCALING: scaling})
    about = f"{_ratio_of(frame)}; {told(results, sweep, setting)}. A_f = {ONSET:g}."
    return Drawn(chart, of_bound.frame[columns], about + said, sql)


def _scores(curves: Family, ours: float) -> tuple[Any, str]:
    """A panel of the score S over P / d^e against e, beside `ours`, the score in units of the bound, and the exponents of the
    patterns; and the scores in words."""

    def over(scales: Any) -> float:
        return score(curves.curves, scales).quality

    d = np.asarray(curves.scales)
    tried = np.linspace(*TRIED, 141)
    frame = pd.DataFrame({"e": tried, "S": [over(d**e) for e in tried]}).dropna()
    marks = pd.DataFrame([{"e": exponents(p, {"N": 1}).energy, "pattern": p.name} for p in NETWORKS["2-layer erf, He_3"]])
    x = alt.X("e:Q", title="exponent e of P / d^e", scale=alt.Scale(domain=list(TRIED), nice=False))
    y = alt.Y("S:Q", title="S, 1 within errors", scale=alt.Scale(type="log"))
    named = alt.Chart(marks).mark_text(angle=270, align="right", dx=-4, dy=-6, fontSize=10)
    layers: list[Any] = [
        alt.Chart(marks).mark_rule(color="#888", strokeDash=[2, 2]).encode(x=x),
        named.encode(x=x, text="pattern", y=alt.value(0)),
        alt.Chart(frame).mark_line().encode(x=x, y=y),
        alt.Chart(pd.DataFrame({"S": [ours]})).mark_rule(strokeDash=[6, 4], color="#c2532d", strokeWidth=2).encode(y=y),
    ]
    said = f" Collapse score S: {ours:.3g} in units of the bound (dashed), {over(np.ones(len(d))):.3g} over P"
    try:
        (value, low, high, *_), quality = (found := best(curves)).exponent, found.quality
        said += f"; over P / d^e least at e = {value:.2f} ({low:.2f} to {high:.2f}): {quality:.3g}"
        said += f". {doubt}" if (doubt := doubted(curves, quality)) else ""
    except ValueError as error:
        said += f"; over P / d^e: {error}"
    patterns = ", ".join(f"{row['pattern']} {row['e']:g}" for row in marks.to_dict("records"))
    return alt.layer(*layers).properties(width=230, height=260), f"{said}. At N ~ d patterns have e: {patterns}."


_GRIDS = ("nstar_he3", "nstar_he3_quick")

ALIGNMENT_FIGURES = [
    Figure("Nstar", "Networks at equilibrium: the samples at which they begin to learn, P*(d), beside the bound",
           "[Rubin25 App. B]", _GRIDS, p_star),
    Figure("Collapse", "Networks at equilibrium: alignment over P, and over P in units of the bound", "[Rubin25 App. B]", _GRIDS,
           collapse),
]  # fmt: skip
