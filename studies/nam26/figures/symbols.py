"""The figure of how rich networks on L symbols are, beside their accuracy, AUC and L*: [Nam26] on the task of [Tong25]."""

from dataclasses import replace
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.curves import Look, curves_chart, styled
from analysis.data.keys import captioned
from analysis.data.measures import knows
from analysis.data.points import Points, averaged, described, one_setting, points
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.scaling.levels import usual_level
from analysis.scaling.thresholds import thresholds
from sweepkit.console.words import capital, counted

from ...tong25.figures.laws import NOISELESS, gamma_told

OVER, BY = "L", "gamma_label"
SHOWN = {"final_test_acc": "test accuracy", "final_test_auc": "test AUC", "d_lr": "laziness D_LR"}
"""The measures of the panels, at the end of training, and their short titles."""


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    missing = Missing("no networks at two L whose grid saves richness")
    if not knows(results, "d_lr"):
        return missing
    selection = Selection(sweep, limits="isfinite(d_lr)").only(NOISELESS)
    rich = points(results, selection, "d_lr")
    if rich.frame.empty or rich.frame[OVER].nunique() < 2:
        return missing
    setting = one_setting(rich.frame, rich.keys, (OVER, BY), None, rich.declared)
    by_measure = [_titled(points(results, selection.only(setting.values), name)) for name in SHOWN]
    by_measure = [found for found in by_measure if not found.frame.empty]  # older networks have no AUC
    panels = [_panel(found) for found in by_measure]
    frame = pd.concat([found.frame.assign(measure=found.measure.name) for found in by_measure], ignore_index=True)
    told = described(setting.values, captioned(setting.values, rich.declared))
    caption = (
        f"{told}; {averaged(setting.frame)}, {counted(int(setting.frame['n'].sum()), 'network')}. "
        f"{' '.join(_reached(found) for found in by_measure[:-1])} {_range(setting.frame)}"
    )
    chart = styled(alt.hconcat(*panels, spacing=25))
    return Drawn(chart, frame[["measure", OVER, BY, "n", "mean", "low", "high"]], caption, rich.sql)


def _titled(found: Points) -> Points:
    return found._replace(measure=replace(found.measure, title=SHOWN[found.measure.name]))


def _panel(found: Points) -> Any:
    level = usual_level(found.measure)
    look = Look(OVER, BY, log_x=True, level=None if pd.isna(level) else level, width=290, height=260, declared=found.declared)
    return curves_chart(found.frame, found.measure, look, bare=True)


def _reached(found: Points) -> str:
    """L*, where a measure reaches its usual level, for each gamma."""
    level = usual_level(found.measure)
    reached = thresholds(found.frame, level, OVER, found.measure.falls, found.declared).sort_values("gamma")
    each = [f"{gamma_told(row[BY])} {row['threshold'].describe()}" for row in reached.to_dict("records")]
    return f"{capital(found.measure.title)} {level:g} (dashed): {'; '.join(each)}."


def _range(frame: pd.DataFrame) -> str:
    """The least and largest mean of D_LR over L, for each gamma."""
    each = [
        f"{gamma_told(label)} {of['mean'].min():.2f} to {of['mean'].max():.2f}"
        for label, of in frame.sort_values("gamma").groupby(BY, sort=False)
    ]
    return f"D_LR over these L: {', '.join(each)}."


SYMBOLS = Figure(
    "Richness", "From lazy to rich: accuracy, AUC and D_LR against the symbols", "[Nam26] beside [Tong25 Fig. 1c]",
    ("richness_symbols",), _draw,
)  # fmt: skip
