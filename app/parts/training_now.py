"""A part of page Networks: the networks in training, with their curves so far."""

import streamlit as st

from analysis.charts.networks.several import along_training, several_chart
from analysis.data.networks.evaluations import main_and_loss
from analysis.data.networks.listing import told_apart
from analysis.data.networks.training_now import in_training
from analysis.data.points import described
from app.shared import figure
from sweepkit.console.words import counted

MOST = 10
"""Most networks in the chart: a colour each."""
EVERY_S = 10
"""Seconds between two looks at the checkpoints, which change without any change of the store."""


@st.fragment(run_every=EVERY_S)
def show_in_training(results: str) -> None:
    """The curves of networks in training, where this machine can read their checkpoints; nothing if there are none."""
    rows, curves = in_training(results)
    if not rows or curves.empty:
        return
    shown = main_and_loss(along_training(results, curves))
    shown_rows = rows[:MOST]
    told = (
        told_apart(shown_rows, results)
        if len(rows) > 1
        else [described(rows[0], ("task", "L", "d", "P", "width", "gamma_label"))]
    )
    labels = dict(zip((row["cell_id"] for row in shown_rows), told, strict=True))
    with st.expander(f"In training: {counted(len(rows), 'network')} with a curve so far", expanded=True):
        figure(several_chart(curves, labels, shown, log_y=True), "in-training")
        more = f"; the first {MOST} of {len(rows)}" if len(rows) > MOST else ""
        st.caption(f"From the checkpoints of long packs, one every half minute{more}. Results come when a pack is done.")
