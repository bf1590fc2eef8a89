"""The figure of grokking: training and test accuracy, and how rich networks are, along training [Nam26 Fig. 12]."""

from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from analysis.charts.along import cells_of, evaluated, groups_along
from analysis.charts.curves import styled
from analysis.data.keys import captioned
from analysis.data.networks.evaluations import HALFWAY, evaluations_of, first_within
from analysis.data.points import described, one_setting, points, unusual, with_intervals
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from sweepkit.console.words import counted
from sweepkit.store.views import declared

SERIES = {"train_acc": "training accuracy", "test_acc": "test accuracy", "curve_d_lr": "laziness D_LR"}
"""Metrics along training and their names in the figure."""
TASKS = {"modular": "perceptron", "modular_tokens": "transformer"}
"""The tasks, and the titles of their panels."""
PANEL = "networks"
_SAVED = "cell_id IN (SELECT cell_id FROM curves WHERE curve_d_lr IS NOT NULL)"


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    missing = Missing("no networks of task modular or modular_tokens whose grid saves richness_curve")
    if "curve_d_lr" not in declared(results):
        return missing
    drawn = [found for task, title in TASKS.items() if (found := _panel(results, sweep, task, title)) is not None]
    if not drawn:
        return missing
    frame = pd.concat([found.frame for found in drawn], ignore_index=True)
    return Drawn(_chart(frame), frame, " ".join(found.caption for found in drawn), ";\n\n".join(found.sql for found in drawn))


class _Panel(NamedTuple):
    frame: pd.DataFrame
    caption: str
    sql: str


def _panel(results: str, sweep: str | None, task: str, title: str) -> _Panel | None:
    selection = Selection(sweep, limits=_SAVED).only({"task": task})
    found = points(results, selection, "final_test_acc")
    metrics = evaluated(results, selection)
    if found.frame.empty or not {*SERIES} <= {*metrics}:
        return None
    setting = one_setting(found.frame, found.keys, (), {}, found.declared)
    shown = selection.only(setting.values)
    means = [
        with_intervals(groups_along(results, shown, metrics[name], found.keys)[0], metrics[name]).assign(measure=measure)
        for name, measure in SERIES.items()
    ]
    curves, sql = evaluations_of(results, SERIES, cells_of(shown))
    if curves.empty:
        return None
    frame = pd.concat(means, ignore_index=True).assign(**{PANEL: title})
    frame = frame.loc[frame["step"].isin(curves["step"].unique()), [PANEL, "measure", "step", "mean", "low", "high", "n"]]
    told = described(setting.values, captioned(unusual(setting.values, found.declared), found.declared))
    of = counted(curves["cell_id"].nunique(), "network")
    return _Panel(frame, f"{title.capitalize()}: {told}; {of}; means with 95% intervals. {_order(curves)}", sql)


def _order(curves: pd.DataFrame) -> str:
    """In words, in how many networks D_LR has fallen halfway before half of the test is right, and when both happen; or that it
    does not fall."""
    by_network = curves.sort_values("step").groupby("cell_id")["curve_d_lr"]
    first, last = by_network.first(), by_network.last()
    if (last >= first).any():
        ends = f"from {first.mean():.2f} at the first evaluation to {last.mean():.2f} at the last"
        return f"D_LR does not fall in {int((last >= first).sum())} of {len(first)} networks: {ends}, on average over all."
    rise = first_within(curves, {"test_acc": {"at_least": 0.5}})["step"]
    if rise.empty:
        return "No network gets half of the test right."
    fall = first_within(curves, {"curve_d_lr": {"at_most": HALFWAY}})["step"].reindex(rise.index)
    return (
        f"D_LR has fallen halfway at step {fall.median():.0f}, half of the test is right at step {rise.median():.0f} "
        f"(medians); the first comes before the second in {int((fall < rise).sum())} of {len(rise)} networks."
    )


def _chart(frame: pd.DataFrame) -> Any:
    panels = [_one(part, str(title)) for title, part in frame.groupby(PANEL, sort=False)]
    return styled(alt.hconcat(*panels, spacing=25) if len(panels) > 1 else panels[0])


def _one(frame: pd.DataFrame, title: str) -> Any:
    base = alt.Chart(frame).encode(
        x=alt.X("step:Q", title="training step", scale=alt.Scale(type="log", nice=False)),
        color=alt.Color("measure:N", title=None, sort=list(SERIES.values())),
        strokeDash=alt.StrokeDash("measure:N", sort=list(SERIES.values()), legend=None),
    )
    band = base.mark_area(opacity=0.25, strokeWidth=0).encode(y=alt.Y("low:Q", title="accuracy, D_LR"), y2="high:Q")
    line = base.mark_line().encode(
        y=alt.Y("mean:Q", title="accuracy, D_LR", scale=alt.Scale(domain=[0, 1])),
        tooltip=["measure", "step", *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("mean", "low", "high")), "n"],
    )
    return alt.layer(band, line).properties(width=400, height=280, title=title)


GROKKING = Figure(
    "Grokking", "Modular arithmetic: how rich networks are as they come to generalise", "[Nam26 Fig. 12]",
    ("richness_grokking", "richness_grokking_tokens"), _draw,
)  # fmt: skip
