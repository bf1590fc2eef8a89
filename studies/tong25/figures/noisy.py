"""The figure of richness in much noise, sigma2 = 4: accuracy along training with the most symbols, and the order of the last
outputs against the symbols."""

from dataclasses import replace
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.along import groups_along
from analysis.charts.curves import Look, curves_chart, styled
from analysis.data.keys import captioned
from analysis.data.measures import knows
from analysis.data.networks.evaluations import STEP
from analysis.data.points import averaged, described, one_setting, points, with_intervals
from analysis.data.selection import Selection
from analysis.data.usual import settings
from analysis.figures.drawn import Drawn, Figure, Missing
from sweepkit.console.words import counted
from sweepkit.declarations.columns import Key, Metric
from sweepkit.store.views import declared

from .curves import RICH_OR_LAZIER, SD

BY, OVER, ORDER = "gamma_label", "L", "final_test_auc"
WHERE = {**SD, "prefactor": "sqrt_d", "sigma2": 4.0}
WIDTH, HEIGHT = 340, 270


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    missing = Missing("no networks from lazy to rich at sigma2 = 4 and two L")
    if not knows(results, ORDER, (*WHERE, OVER, "gamma", BY)):
        return missing
    selection = Selection(sweep, limits=RICH_OR_LAZIER).only(WHERE)
    found = points(results, selection, ORDER)
    if found.frame.empty or not {OVER, BY} <= {*found.keys} or found.frame[OVER].nunique() < 2:
        return missing
    setting = one_setting(found.frame, found.keys, (OVER, BY), settings("same_different"), found.declared)
    selection, most = selection.only(setting.values), int(setting.frame[OVER].max())
    order = _panel(setting.frame, replace(found.measure, title="AUC, last weights"), OVER)
    along, _ = groups_along(results, selection.only({OVER: most}), _accuracy(results), ["gamma", BY])
    accuracies = with_intervals(along.assign(task="same_different"), _accuracy(results))
    panels = [order.properties(title="order of the last outputs")]
    if len(accuracies):
        panels.insert(0, _panel(accuracies, _accuracy(results), STEP).properties(title=f"{most} symbols"))
    told = described(setting.values, captioned(setting.values, found.declared))
    caption = f"{told}; {averaged(setting.frame)}, {counted(int(setting.frame['n'].sum()), 'network')}."
    frame = pd.concat([accuracies.assign(**{OVER: most}), setting.frame.assign(measure=ORDER)], ignore_index=True)
    shown = [name for name in ("measure", OVER, BY, STEP, "n", "mean", "low", "high") if name in frame]
    return Drawn(styled(alt.hconcat(*panels, spacing=25)), frame[shown].fillna({"measure": "test_acc"}), caption, found.sql)


def _accuracy(results: str) -> Metric:
    found = declared(results)["test_acc"]
    assert isinstance(found, Metric)
    return found


def _panel(frame: pd.DataFrame, measure: Metric, x: str) -> Any:
    look = Look(x, BY, log_x=x == OVER, width=WIDTH, height=HEIGHT)
    look = replace(look, declared={**look.declared, STEP: Key(STEP, "training step", "whole")})
    return curves_chart(frame, measure, look, bare=True)


NOISE_FIGURES = [
    Figure("Noise", "Richness in much noise: accuracy along training, and the order of the last outputs",
           "docs/science/findings.md", ("fig2",), _draw),
]  # fmt: skip
