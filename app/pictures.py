"""Part of a page: example inputs of one network, and its hidden weights as images beside those at another gamma."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from analysis.one_network import network
from analysis.picture_charts import examples_chart, said_of, weights_chart, whole
from analysis.pictures import Pictures, of_other_gamma, pictures_of
from app.shared import NONE, choice, downloads, figure, remembered


def seen_and_learned(results: str, cell: Mapping[str, Any]) -> None:
    """Both, for a network (a row of `cells`) whose weights were saved; else what saves them."""
    pictures = remembered(pictures_of, results, cell["cell_id"])
    if pictures is None:
        st.caption("What it sees and its hidden weights as images were not saved: `save: [weights]` in the grid does that.")
        return
    if len(pictures.examples):
        st.subheader("What it sees", anchor=False)
        chart = whole(examples_chart(pictures))
        figure(chart, "examples")
        st.caption("The first examples of either label that it was trained on.")
        downloads(f"examples-{cell['cell_id']}", pictures.only("example"), chart)
    if len(pictures.weights):
        st.subheader("Hidden weights as images", anchor=False)
        _weights(results, cell, pictures)


def _weights(results: str, cell: Mapping[str, Any], pictures: Pictures) -> None:
    others = remembered(_others, results, cell["cell_id"])
    rival = "1" if cell["gamma_label"] == "lazy" else "lazy"
    beside = choice("Beside it, the same network at gamma", [NONE, *others], rival, key="beside", width=260) if others else NONE
    shown = {f"gamma = {cell['gamma_label']}": pictures}
    if beside != NONE:
        other = remembered(pictures_of, results, others[beside])
        assert other is not None  # it was just listed
        shown[f"gamma = {beside}"] = other
    chart = whole(weights_chart(shown))
    figure(chart, "pictures")
    alone = "" if others else " No network that differs from it in gamma alone has saved weights."
    st.caption(f"Weights of single hidden neurons in the shape of the input: {said_of(pictures)}.{alone}")
    frame = pd.concat([one.only("weights").assign(network=name) for name, one in shown.items()], ignore_index=True)
    downloads(f"weights-{cell['cell_id']}", frame, chart)


def _others(results: str, cell_id: str) -> dict[str, str]:
    cell = network(results, cell_id)
    return {} if cell is None else of_other_gamma(results, cell)
