"""The figure of the edge of stability: sharpness along full-batch training beside what is stable. [Cohen21]"""

from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.along import groups_along
from analysis.charts.curves import colour_of, styled
from analysis.data.points import with_intervals
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from sweepkit.console.words import counted
from sweepkit.declarations.columns import Metric
from sweepkit.store.views import declared

RATE, MEASURE, CURVE = "base_lr", "edge", "curve_edge"
CASES = (
    Case("gradient descent", {"training": "gd", "parametrisation": "standard"}, (RATE,)),
    Case("momentum 0.5", {"training": "sgd", "momentum": 0.5, "parametrisation": "standard"}, (RATE,)),
)


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    metric = declared(results).get(CURVE)
    drawn = [] if not isinstance(metric, Metric) else list(found(results, sweep, CASES, MEASURE))
    if not drawn or not isinstance(metric, Metric):
        return Missing("no networks at two learning rates whose grid saves edge_of_stability")
    frame = pd.concat([_along(results, one, metric) for one in drawn], ignore_index=True)
    n = sum(int(one.setting.frame["n"].sum()) for one in drawn)
    caption = (
        f"{'. '.join(one.told for one in drawn)}. Means with 95% intervals; {counted(n, 'network')}. 1: the edge of stability."
    )
    return Drawn(_chart(frame), frame, caption, ";\n\n".join(one.sql for one in drawn))


def _along(results: str, one: Found, metric: Metric) -> pd.DataFrame:
    means = with_intervals(groups_along(results, one.selection, metric, [RATE])[0], metric)
    return means.assign(**{CASE: one.case.title})[[CASE, RATE, "step", "mean", "low", "high", "n"]]


def _chart(frame: pd.DataFrame) -> Any:
    panels = []
    for case, part in frame.groupby(CASE, sort=False):
        base = alt.Chart(part).encode(x=alt.X("step:Q", title="training step"), color=colour_of(part, RATE))
        band = base.mark_area(opacity=0.2, strokeWidth=0).encode(
            y=alt.Y("low:Q", title="sharpness / stable sharpness"), y2="high:Q"
        )
        line = base.mark_line().encode(
            y=alt.Y("mean:Q", title="sharpness / stable sharpness"),
            tooltip=[CASE, RATE, "step", alt.Tooltip("mean:Q", format=".3g"), "n"],
        )
        edge = alt.Chart(pd.DataFrame({"y": [1.0]})).mark_rule(strokeDash=[5, 3]).encode(y="y:Q")
        panels.append(alt.layer(band, line, edge).properties(width=360, height=260, title=str(case)))
    return styled(alt.concat(*panels, columns=2, spacing=25).resolve_scale(color="independent"))


EDGE = Figure(
    "Edge", "The edge of stability: sharpness rises to what the learning rate allows, and stays", "[Cohen21]",
    ("edge_of_stability_quick", "edge_of_stability"), _draw,
)  # fmt: skip
