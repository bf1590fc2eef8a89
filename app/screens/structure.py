"""Hidden weights of one network beside the theory, its training curves, and where it comes from."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from analysis.charts.networks.neurons import neurons_of, structure_chart
from analysis.charts.networks.one_network import chains_chart, training_chart
from analysis.data.keys import captioned
from analysis.data.measures import measures
from analysis.data.networks.listing import network
from analysis.data.networks.reading import ORIGIN, networks, neurons_sql, training, training_sql
from analysis.data.parts import at_equilibrium, keeps_neurons
from analysis.data.points import described, means_of
from analysis.data.selection import SEED, Selection, Value
from analysis.data.source import declared
from analysis.overlays.expected import expected
from analysis.python_lines import sql_lines
from app.choices import mean_text
from app.controls import check_link, sweep_choice, switch
from app.downloads import downloads
from app.parts.pictures import learned, saved, seen
from app.setting_boxes import LINKS, linked_network, network_choice
from app.shared import figure, remembered
from app.styles import controls, is_narrow
from sweepkit.declarations.evaluations import EVEN


def show(results: str) -> None:
    """The page."""
    linked = linked_network(results)
    place = controls()
    with place:
        selection = sweep_choice(results)
        with_neurons = switch("Only where neurons were saved", _some_hold_neurons(results, selection, linked), "neurons")
        found = remembered(networks, results, selection, "neurons" if with_neurons else None)
    if found.frame.empty:
        st.info("No such networks" + (": a grid with `save: [curves, neurons]` saves them." if with_neurons else " yet."))
        return
    with place:
        cell_id, seeds = network_choice(found, linked)
        cell = remembered(network, results, cell_id)
        assert cell is not None  # it was just listed
        others = switch("All seeds of this configuration", True, "all_seeds")
        log_step = switch("Log step", cell.get("eval_at") not in (None, EVEN), "log_step")
        log_loss = switch("Log loss", True, "log_loss")
    named = captioned([*found.keys, SEED], remembered(declared, results))
    st.caption(f"{described(cell, named)}; {f'one of {len(seeds)} seeds' if len(seeds) > 1 else 'its only seed'}.")
    neurons = remembered(neurons_of, results, cell_id)
    shown = seeds if others else [cell_id]
    train = partial(_training, results, cell, shown, log_step, log_loss)
    if at_equilibrium(cell):
        left, right = st.columns(2, gap="medium")
        with left:
            _chains(results, cell, shown)
        with right:
            _beside_theory(results, seeds, cell)
    elif _has_halves(cell, neurons):
        left, right = st.columns(2, gap="medium")  # one below the other in a narrow window
        with left:
            _weights(results, cell, neurons)
        with right:
            train()
        if pictures := saved(results, cell):
            seen(cell, pictures)
            learned(results, cell, pictures)
        _beside_theory(results, seeds, cell)
    else:
        pictures = saved(results, cell)
        if pictures:
            learned(results, cell, pictures)
        left, right = st.columns(2, gap="medium")
        with left:
            if pictures:
                seen(cell, pictures)
            train()
        with right:
            _beside_theory(results, seeds, cell)
    with st.expander("Where it comes from"):
        st.table({key: str(cell[key]) for key in (*found.keys, *ORIGIN) if cell[key] is not None})
    check_link(*LINKS)


def _some_hold_neurons(results: str, selection: Selection, linked: Mapping[str, Value] | None) -> bool:
    saved = remembered(networks, results, selection, "neurons").frame
    if linked is not None:
        held = saved["cells"].map(lambda cells: linked["cell_id"] in cells).any()
        if not held:
            st.session_state["neurons"] = False
        return bool(held)
    return len(saved) > 0


def _chains(results: str, cell: Mapping[str, Any], cells: list[str]) -> None:
    st.subheader("Chains", anchor=False)
    curves = remembered(training, results, tuple(dict.fromkeys([cell["cell_id"], *cells])))
    if not (curves["cell_id"] == cell["cell_id"]).any():
        st.info("Its curve along the chains was not saved.")
        return
    chart = chains_chart(curves, cell["cell_id"], width=350)
    figure(chart, "chains")
    mixed = "they mixed" if cell["mixed"] else str(cell["reason"])
    starts = (
        "which start from every pattern of specialised layers" if cell["explored"] == "all" else "of which half start specialised"
    )
    st.caption(f"Means over {cell['chains']} chains, {starts}; the first half is burn-in; {mixed}.")
    sql = training_sql(curves["cell_id"].unique())
    downloads(f"chains-{cell['cell_id']}", curves, chart, sql, sql_lines(results, sql))


def _has_halves(cell: Mapping[str, Any], neurons: pd.DataFrame) -> bool:
    """Whether the input is a pair: for other inputs the neurons have readouts but no alignment. Some networks keep no neurons."""
    if len(neurons):
        return bool(neurons["alignment"].notna().any())
    if not keeps_neurons(cell):
        return False
    return _number(cell.get("readout_ratio")) is None or any(
        _number(cell.get(key)) is not None for key in ("alignment_pos", "alignment_neg")
    )


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _weights(results: str, cell: Mapping[str, Any], neurons: pd.DataFrame) -> None:
    st.subheader("Hidden weights", anchor=False)
    if neurons.empty:
        st.info("Its neurons were not saved: `save: [curves, neurons]` in the grid does that.")
        return
    chart = structure_chart(neurons, width=350, height=390)
    figure(chart, "weights")
    st.caption("One point per hidden neuron: the cosine between the two halves of its weights, against its readout.")
    sql = neurons_sql(cell["cell_id"])
    downloads(f"neurons-{cell['cell_id']}", neurons, chart, sql, sql_lines(results, sql))


def _training(results: str, cell: Mapping[str, Any], cells: list[str], log_step: bool, log_loss: bool) -> None:
    st.subheader("Training", anchor=False)
    curves = remembered(training, results, tuple(dict.fromkeys([cell["cell_id"], *cells])))
    if not (curves["cell_id"] == cell["cell_id"]).any():
        st.info("Its training curve was not saved.")
        return
    theory = expected(cell).get("best_test_acc")
    chart = training_chart(curves, cell["cell_id"], theory, cell["loss"], log_step, log_loss, width=350)
    figure(chart, "training")
    said = f"{curves['cell_id'].nunique()} seeds, this one strong" if curves["cell_id"].nunique() > 1 else "this seed"
    means = "loss and training accuracy are means" if curves["train_acc"].notna().any() else "the loss is a mean"
    st.caption(f"{said}; {means} since the evaluation before" + (f"; dashed: {theory.source}." if theory else "."))
    sql = training_sql(curves["cell_id"].unique())
    downloads(f"training-{cell['cell_id']}", curves, chart, sql, sql_lines(results, sql))


def _beside_theory(results: str, cells: list[str], cell: Mapping[str, Any]) -> None:
    theory = expected(cell)
    st.subheader("Compared with theory" if theory else "Measured", anchor=False)
    # Measures that are expressions have no column; the origin has a section below.
    known = {name: measure for name, measure in remembered(measures, results).items() if name in cell and name not in ORIGIN}
    means = remembered(means_of, results, tuple(cells), tuple(known))
    rows = []
    for measure in known:
        if _number(cell[measure]) is None:
            continue
        mean = means.get(measure)
        rows.append({"metric": known[measure].title, "this network": f"{cell[measure]:.4g}"})
        if not is_narrow():
            rows[-1]["mean over seeds"] = mean_text(mean)
        if theory:
            said = theory.get(measure)
            rows[-1] |= {"theory": f"{said.value:.4g}" if said else ""}
            rows[-1] |= {} if is_narrow() else {"from": said.source if said else ""}
    st.table(rows)
