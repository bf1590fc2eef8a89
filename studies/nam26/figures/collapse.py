"""The figure of neural collapse against the scale of the targets: NC1 with a true inverse, as it is regularised, and D_LR."""

from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import Look, curves_chart, styled
from analysis.data.keys import captioned
from analysis.data.measures import knows
from analysis.data.points import Points, averaged, described, one_setting, points, seeds
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from sweepkit.console.words import counted
from sweepkit.stats import mean_interval, power_law

OVER = "alpha"
SHOWN = {"d_lr": "laziness D_LR", "nc1": "NC1, true inverse", "nc1_regularised": "NC1, regularised as published"}
"""The measures of the panels, and their short titles."""
WHERE = {"task": "clusters", "shuffle": [0, None]}


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    missing = Missing("no networks on clusters at two alpha whose grid saves richness")
    if not all(knows(results, name, (*WHERE, OVER)) for name in SHOWN):
        return missing
    selection = Selection(sweep, limits="isfinite(nc1)").only(WHERE)
    first = points(results, selection, "nc1")
    if first.frame.empty or OVER not in first.keys or first.frame[OVER].nunique() < 2:
        return missing
    setting = one_setting(first.frame, first.keys, (OVER,), None, first.declared)
    selection = selection.only(setting.values)
    each = [points(results, selection, name) for name in SHOWN]
    told = described(setting.values, captioned(setting.values, first.declared))
    exponents = "; ".join(f"{SHOWN[name]} ~ alpha^{_exponent(results, selection, name)}" for name in list(SHOWN)[1:])
    caption = f"{told}; {averaged(setting.frame)}, {counted(int(setting.frame['n'].sum()), 'network')}. {exponents}."
    frame = pd.concat([one.frame.assign(measure=one.measure.name) for one in each], ignore_index=True)
    chart = styled(alt.hconcat(*map(_panel, each), spacing=25))
    return Drawn(chart, frame[["measure", OVER, "n", "mean", "low", "high"]], caption, first.sql)


def _panel(found: Points) -> Any:
    measure = replace(found.measure, title=SHOWN[found.measure.name])
    look = Look(OVER, log_x=True, log_y=measure.logarithmic, width=230, height=230, declared=found.declared)
    return curves_chart(found.frame, measure, look, bare=True)


def _exponent(results: str, selection: Selection, name: str) -> str:
    """The mean of the exponents of each seed, with its 95% interval."""
    of = seeds(results, selection, name, [OVER])
    whole = [one for _, one in of.groupby("seed") if one[OVER].nunique() == of[OVER].nunique()]
    if not whole:
        return "?"
    found = mean_interval([power_law(one[OVER], one["value"]).exponent.value for one in whole])
    ends = f" ({found.low:.2f} to {found.high:.2f})" if np.isfinite([found.low, found.high]).all() else ""
    return f"{found.value:.2f}{ends}"


COLLAPSE = Figure(
    "NC1", "Neural collapse and laziness against the scale of the targets", "[Nam26 Table 2]", ("richness_codes",), _draw,
)  # fmt: skip
