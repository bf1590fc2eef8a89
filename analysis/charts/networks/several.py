"""Training curves of several networks in one chart, each in a colour of its own."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.curves import styled
from analysis.data.networks.evaluations import in_order_along
from sweepkit.declarations.columns import Metric
from sweepkit.store.views import declared

COLOURS = ("#277f8e", "#d9a500", "#46327e", "#c2532d", "#4ac16d", "#365c8d", "#b5679a", "#7a7a7a", "#9fbf1f", "#1fa187")


def along_training(results: str, frame: pd.DataFrame) -> dict[str, Metric]:
    """The metrics along training that some row of `curves` has, by name, the main one first."""
    return in_order_along(declared(results), [str(name) for name in frame if frame[name].notna().any()])


def several_chart(
    curves: pd.DataFrame,
    labels: Mapping[str, str],
    shown: Mapping[str, Metric],
    log_step: bool = False,
    log_y: bool = False,
    width: int = 560,
) -> alt.TopLevelMixin:
    """One panel for each metric of `shown`, one line for each network of `labels` (its label by id).

    `log_y` makes the axes of the metrics that it suits logarithmic. The rows of `curves` have cell_id, step and the metrics.
    """
    frame = curves[curves["cell_id"].isin(list(labels))]
    frame = frame[frame["step"] > 0] if log_step else frame
    frame = frame.assign(network=frame["cell_id"].map(labels))
    colour = alt.Color(
        "network:N", sort=list(labels.values()), scale=alt.Scale(domain=list(labels.values()), range=COLOURS),
        title=None, legend=alt.Legend(labelLimit=260, symbolType="stroke", columns=1, orient="bottom"),
    )  # fmt: skip
    panels: list[Any] = []
    for i, (name, metric) in enumerate(shown.items()):
        log = log_y and metric.logarithmic
        part = frame[frame[name].notna() & ((frame[name] > 0) | (not log))]
        x = alt.X(
            "step:Q", title="training step" if i == len(shown) - 1 else None, axis=alt.Axis(grid=False, format="~s"),
            scale=alt.Scale(type="log" if log_step else "linear", nice=False),
        )  # fmt: skip
        scale = alt.Scale(type="log") if log else alt.Scale(zero=False)
        y = alt.Y(f"{name}:Q", title=metric.title, scale=scale, axis=alt.Axis(minExtent=45, tickCount=5, format="~g"))
        hover = ["network:N", "cell_id:N", "step:Q", alt.Tooltip(f"{name}:Q", format=".4g")]
        line = alt.Chart(part[["cell_id", "network", "step", name]]).mark_line(clip=True, point=alt.OverlayMarkDef(size=14))
        panels.append(line.encode(x=x, y=y, color=colour, detail="cell_id:N", tooltip=hover).properties(width=width, height=180))
    return styled(alt.vconcat(*panels, spacing=8))
