"""Part of a page: example inputs of one network, and its hidden weights as images beside those at another gamma."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from analysis.charts.networks.pictures import examples_chart, said_of, weights_chart, whole
from analysis.data.networks.pictures import Pictures, pictures_of
from analysis.data.networks.saved import beside_in_one
from analysis.data.parts import keeps_neurons
from analysis.data.source import ResultsError
from analysis.data.usual import LABELS
from app.controls import NONE, choice
from app.downloads import downloads
from app.shared import figure, remembered

IN_FILES = "Pictures lie in files of their own beside the networks, which no query reaches: the CSV holds every number of them."


def saved(results: str, cell: Mapping[str, Any]) -> Pictures | None:
    """The pictures of a network (a row of `cells`). None if they were not saved or their file is lost; the page then says why.

    The page says nothing for a network whose pictures no grid can save.
    """
    try:
        pictures = remembered(pictures_of, results, cell["cell_id"])
    except ResultsError as error:
        st.subheader("Hidden weights as images", anchor=False)
        st.error(str(error))
        return None
    if pictures is None and keeps_neurons(cell):
        st.caption("Its example inputs and its hidden weights as images were not saved: `save: [weights]` in the grid does that.")
    return pictures


def seen(cell: Mapping[str, Any], pictures: Pictures) -> None:
    """Show example inputs of the network."""
    if not len(pictures.examples):
        return
    st.subheader("What it sees", anchor=False)
    chart = whole(examples_chart(pictures, LABELS.get(cell["task"], ("label above 0", "label 0 or below"))))
    figure(chart, "examples")
    st.caption("The first examples of either label that it was trained on.")
    downloads(f"examples-{cell['cell_id']}", pictures.only("example"), chart, note=IN_FILES)


def learned(results: str, cell: Mapping[str, Any], pictures: Pictures) -> None:
    """Show the network's hidden weights, beside those at another gamma."""
    if not len(pictures.weights):
        return
    if not pictures.weights_are_images:
        size = " x ".join(f"{n:,}" for n in pictures.weights.shape[1:])
        st.caption(f"Its hidden weights are not shown as images: each neuron has {size} numbers, which make no picture.")
        return
    st.subheader("Hidden weights as images", anchor=False)
    _weights(results, cell, pictures)


def _weights(results: str, cell: Mapping[str, Any], pictures: Pictures) -> None:
    others = remembered(beside_in_one, results, cell["cell_id"], "weights", ("gamma_label",)).get("gamma_label", {})
    rival = "1" if cell["gamma_label"] == "lazy" else "lazy"
    beside = choice("Beside it, the same network at gamma", [NONE, *others], rival, key="beside", width=260) if others else NONE
    shown = {f"gamma = {cell['gamma_label']}": pictures}
    if beside != NONE:
        try:
            other = remembered(pictures_of, results, others[beside])
        except ResultsError as error:
            st.error(str(error))
            other = None
        if other is not None:
            shown[f"gamma = {beside}"] = other
    chart = whole(weights_chart(shown))
    figure(chart, "pictures")
    alone = "" if others else " No network that differs from it in gamma alone has saved weights."
    st.caption(f"Weights of single hidden neurons in the shape of the input: {said_of(pictures)}.{alone}")
    frame = pd.concat([one.only("weights").assign(network=name) for name, one in shown.items()], ignore_index=True)
    downloads(f"weights-{cell['cell_id']}", frame, chart, note=IN_FILES)
