"""The figure of grokking: training and test accuracy, and how rich networks are, along training [Nam26 Fig. 12]."""

import altair as alt
import pandas as pd

from analysis.charts.along import cells_of, evaluated, groups_along
from analysis.charts.curves import styled
from analysis.data.evaluations import HALFWAY, evaluations_of, first_within
from analysis.data.keys import captioned
from analysis.data.points import counted, described, one_setting, points, with_intervals
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from store.views import declared

SERIES = {"train_acc": "training accuracy", "test_acc": "test accuracy", "curve_d_lr": "laziness D_LR"}
"""Metrics along training and their names in the figure."""
_SAVED = "cell_id IN (SELECT cell_id FROM curves WHERE curve_d_lr IS NOT NULL)"


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    missing = Missing("no networks of task modular whose grid saves richness_curve")
    if "curve_d_lr" not in declared(results):
        return missing
    selection = Selection(sweep, limits=_SAVED).only({"task": "modular"})
    found = points(results, selection, "final_test_acc")
    metrics = evaluated(results, selection).metrics
    if found.frame.empty or not {*SERIES} <= {*metrics}:
        return missing
    setting = one_setting(found.frame, found.keys, (), {}, found.declared)
    shown = selection.only(setting.values)
    means = [
        with_intervals(groups_along(results, shown, metrics[name], found.keys)[0], metrics[name]).assign(measure=title)
        for name, title in SERIES.items()
    ]
    curves, sql = evaluations_of(results, SERIES, cells_of(shown))
    if curves.empty:
        return missing
    frame = pd.concat(means, ignore_index=True)
    frame = frame.loc[frame["step"].isin(curves["step"].unique()), ["measure", "step", "mean", "low", "high", "n"]]
    told = described(setting.values, captioned(setting.values, found.declared))
    caption = f"{told}; {counted(curves['cell_id'].nunique(), 'network')}; means with 95% intervals. {_order(curves)}"
    return Drawn(_chart(frame), frame, caption, sql)


def _order(curves: pd.DataFrame) -> str:
    """In words, in how many networks D_LR has fallen halfway before half of the test is right, and when both happen."""
    rise = first_within(curves, {"test_acc": {"at_least": 0.5}})["step"]
    if rise.empty:
        return "No network gets half of the test right."
    fall = first_within(curves, {"curve_d_lr": {"at_most": HALFWAY}})["step"].reindex(rise.index)
    return (
        f"D_LR has fallen halfway at step {fall.median():.0f}, half of the test is right at step {rise.median():.0f} "
        f"(medians); the first comes before the second in {int((fall < rise).sum())} of {len(rise)} networks."
    )


def _chart(frame: pd.DataFrame) -> alt.LayerChart:
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
    return styled(alt.layer(band, line).properties(width=460, height=300))


GROKKING = Figure(
    "Grokking", "Modular addition: networks turn rich before they generalise", "[Nam26 Fig. 12]",
    ("grids/richness_grokking.yaml",), _draw,
)  # fmt: skip
