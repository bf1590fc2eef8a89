"""Hidden weights of one network on pairs: how far the halves of each neuron align, against its readout."""

from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.curves import styled
from sweepkit.store.database import of_cells
from sweepkit.store.views import run

MOST_NEURONS = 4000
"""Most points in a scatter: of more neurons, every second, third, ... is shown."""


def neurons_of(results: str, cell_id: str) -> pd.DataFrame:
    """Readout and alignment of each hidden neuron of a cell; empty if they were not saved."""
    sql = "SELECT * FROM neurons WHERE cell_id = ? ORDER BY neuron"
    return run(results, lambda connection: connection.execute(sql, [cell_id]).df(), of_cells([cell_id]))


def structure_chart(neurons: pd.DataFrame, width: int = 380, height: int = 300) -> alt.TopLevelMixin:
    """Alignment v1.v2/(|v1||v2|) against the readout a_i, one point per neuron."""
    return styled(structure_panel(neurons, width, height))


def structure_panel(neurons: pd.DataFrame, width: int = 380, height: int = 300) -> Any:
    """`structure_chart` without the look of a whole figure, for one panel of several."""
    readout = alt.X("readout:Q", title="readout aᵢ", scale=alt.Scale(zero=False))
    alignment = alt.Y("alignment:Q", title="alignment of the halves of wᵢ", scale=alt.Scale(domain=[-1.05, 1.05], nice=False))
    zero = pd.DataFrame({"zero": [0.0]})
    drawn_ones = neurons[:: max(1, -(-len(neurons) // MOST_NEURONS))]
    points = alt.Chart(drawn_ones).mark_point(filled=True, size=12, opacity=0.35, clip=True)
    sides = alt.Color(
        "side:N",
        title=None,
        legend=alt.Legend(orient="top"),
        scale=alt.Scale(domain=["a > 0", "a < 0"], range=["#277f8e", "#c2532d"]),
    )
    drawn = points.transform_calculate(side="datum.readout > 0 ? 'a > 0' : 'a < 0'").encode(
        x=readout, y=alignment, color=sides, tooltip=["neuron:Q", "readout:Q", "alignment:Q"]
    )
    rules = alt.Chart(zero).mark_rule(color="#999", strokeDash=[3, 3])
    layered = alt.layer(rules.encode(x="zero:Q"), rules.encode(y="zero:Q"), drawn)
    return layered.properties(width=width, height=height)
