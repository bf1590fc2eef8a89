"""How rich one network is [Nam26]: the spectrum of its features, D_LR and effective dimensions, and D_LR along training; beside
it the network that differs from it in one key."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from analysis.data.choosing import axes_of, measures_of
from analysis.data.keys import captioned, spoken, title_of, value_of
from analysis.data.measures import MEANINGS, measures
from analysis.data.networks.listing import network
from analysis.data.networks.reading import MOST_SEEDS, Networks, networks, training, training_sql
from analysis.data.networks.saved import beside_in_one, measured_of
from analysis.data.points import described, means_of, task_of
from analysis.data.selection import SEED, Selection
from analysis.data.source import declared
from analysis.python_lines import sql_lines
from app.choices import grouped, mean_text, nothing_yet
from app.controls import NONE, check_link, choice, sweep_choice, switch
from app.downloads import downloads
from app.setting_boxes import LINKS, linked_network, network_choice
from app.shared import figure, links, remembered
from app.styles import controls, is_narrow
from sweepkit.console.words import listed
from sweepkit.declarations.evaluations import EVEN

from ..charts import along_chart, n_leading, spectra, spectra_sql, spectrum_chart

D_LR = "d_lr"
ALONE, BESIDE = 620, 330
"""Width of a panel in pixels, alone and beside another."""


class Shown(NamedTuple):
    """A network on the page, a row of `cells`; its title, and the ids of all seeds of its configuration, its own first."""

    title: str
    cell: Mapping[str, Any]
    cells: Sequence[str]

    @property
    def cell_id(self) -> str:
        return str(self.cell["cell_id"])


def show(results: str) -> None:
    """The page."""
    linked = linked_network(results)
    place = controls()
    with place:
        selection = sweep_choice(results)
    found = remembered(networks, results, selection, "richness")
    if found.frame.empty:
        nothing_yet(results, "richness", "it needs networks whose grid has `save: [richness]`")
        return
    if linked is not None and not _holds(found, str(linked["cell_id"])).any():
        st.warning(f"Network `{linked['cell_id']}` saved no richness, or is not of this sweep. Another one is shown instead.")
        linked = None
    with place:
        cell_id, seeds = network_choice(found, linked)
        shown = _shown(results, found, cell_id)
        cell = shown[0].cell
        whole = switch("All seeds of this configuration", True, "all_seeds")
        cumulative = switch("Add up the shares", True, "cumulative")
        log_step = switch("Log step", cell.get("eval_at") not in (None, EVEN), "log_step")
    named = captioned([*found.keys, SEED], remembered(declared, results))
    st.caption(f"{described(cell, named)}; {f'one of {len(seeds)} seeds' if len(seeds) > 1 else 'its only seed'}.")
    if lost := [one.title or "this network" for one in shown if one.cell.get("mixed") is False]:
        st.warning(f"The chains of {listed(lost)} did not mix: the numbers are not those of a posterior. More `steps` help.")
    drawn = shown if whole else [one._replace(cells=[one.cell_id]) for one in shown]
    _spectrum(results, drawn, cumulative)
    _numbers(results, shown)
    _along(results, drawn, log_step)
    _look_on(results, selection, cell_id)
    check_link(*LINKS)


def _holds(found: Networks, cell_id: str) -> "pd.Series[bool]":
    return found.frame["cells"].map(lambda cells: cell_id in cells)


def _shown(results: str, found: Networks, cell_id: str) -> list[Shown]:
    """The network, and the one beside it that is chosen here, if there is any."""
    others = {
        f"{spoken(key)} = {text}": (key, other)
        for key, by_value in remembered(beside_in_one, results, cell_id, "richness").items()
        for text, other in by_value.items()
    }
    cell = remembered(network, results, cell_id)
    assert cell is not None  # it was just listed
    rival = f"gamma = {'1' if cell['gamma_label'] == 'lazy' else 'lazy'}"
    first = rival if rival in others else next(iter(others), NONE)
    beside = choice("Beside it, the same network at", [NONE, *others], first, key="beside_at") if others else NONE
    if beside == NONE:
        return [Shown("", cell, _seeds(found, cell_id))]
    key, other_id = others[beside]
    other = remembered(network, results, other_id)
    assert other is not None
    own = Shown(f"{spoken(key)} = {value_of(key, cell[key])}", cell, _seeds(found, cell_id))
    return [own, Shown(beside, other, _seeds(found, other_id))]


def _seeds(found: Networks, cell_id: str) -> list[str]:
    """The ids of all seeds of a network, its own first; of a network of another sweep its own alone."""
    rows = found.frame[_holds(found, cell_id)]
    return list(dict.fromkeys([cell_id, *(rows["cells"].iloc[0] if len(rows) else [])]))


def _columns(read: Any, results: str, shown: Sequence[Shown]) -> pd.DataFrame:
    """The rows that `read` finds for the networks and their first seeds, with the title of each as `column`."""
    parts = [remembered(read, results, tuple(one.cells[:MOST_SEEDS])).assign(column=one.title) for one in shown]
    return pd.concat(parts, ignore_index=True)


def _spectrum(results: str, shown: Sequence[Shown], cumulative: bool) -> None:
    st.subheader("Spectrum of its features", anchor=False)
    frame = _columns(spectra, results, shown)
    strong = [one.cell_id for one in shown]
    if not frame["cell_id"].isin(strong[:1]).any():
        st.info(_undefined(results, shown[0], "rho") or "Its spectrum was not saved: `save: [richness]` in the grid does that.")
        return
    leading = {one.title: n_leading(one.cell, frame[frame["cell_id"] == one.cell_id]) for one in shown}
    chart = spectrum_chart(frame, leading, cumulative, strong, width=ALONE if len(shown) == 1 else BESIDE)
    figure(chart, "spectrum")
    first = leading[shown[0].title]
    ideal = f" Dashed: in the richest training the first {first} hold all of the output." if first else ""
    ideal += " The line stands at k = 2 for one output, at k = C for C outputs." if first else ""
    seeds = " Thin: other seeds." if any(len(one.cells) > 1 for one in shown) else ""
    st.caption(
        "Eigenvalues of the features' kernel on training examples; the shares of output (utilisation) and target (quality) that "
        f"its eigenfunctions hold on fresh ones.{ideal}{seeds}"
    )
    sql = spectra_sql(frame["cell_id"].unique())
    downloads(f"spectrum-{shown[0].cell_id}", frame, chart, sql, sql_lines(results, sql))


def _undefined(results: str, one: Shown, name: str) -> str:
    """Why saving a metric that has no values here would give none; empty if it might give some."""
    asked = remembered(measured_of, results, one.cell_id)
    if name not in asked and ("d_lr" not in asked or _is_number(one.cell.get("d_lr"))):
        return ""
    return "Its grid asked for it, but it is not defined: no `features`, constant features or outputs, or a diverged network."


def _numbers(results: str, shown: Sequence[Shown]) -> None:
    known = remembered(measures, results)
    names = [name for name in MEANINGS if name in known and any(_is_number(one.cell.get(name)) for one in shown)]
    names = ["final_test_acc", *names] if _is_number(shown[0].cell.get("final_test_acc")) else names
    if not names:
        return
    means = [remembered(means_of, results, tuple(one.cells), tuple(names)) for one in shown]
    rows = []
    for name in names:
        row = {"metric": known[name].title} | ({} if is_narrow() else {"name": name})
        for one, of_seeds in zip(shown, means, strict=True):
            value = one.cell.get(name)
            row[one.title or "this network"] = f"{value:.4g}" if _is_number(value) else ""
            if not is_narrow():
                row[f"seeds, {one.title}" if one.title else "mean over seeds"] = mean_text(of_seeds.get(name))
        rows.append(row | {"what it says": MEANINGS.get(name, "")})
    st.table(rows)


def _is_number(value: Any) -> bool:
    return value is not None and bool(pd.notna(value))


def _along(results: str, shown: Sequence[Shown], log_step: bool) -> None:
    st.subheader("Along training", anchor=False)
    curves = _columns(training, results, shown)
    own = curves[curves["cell_id"] == shown[0].cell_id]
    if "curve_d_lr" not in curves or own["curve_d_lr"].isna().all():
        advice = "Its richness along training was not saved: `save: [richness, richness_curve]` in the grid does that."
        is_sampled = pd.notna(shown[0].cell.get("mixed"))
        sampled = "Networks at equilibrium are samples of a posterior, so they have no evaluations along training."
        st.info(sampled if is_sampled else _undefined(results, shown[0], "curve_d_lr") or advice)
        return
    chart = along_chart(curves, [one.cell_id for one in shown], log_step, width=ALONE if len(shown) == 1 else BESIDE)
    figure(chart, "along")
    st.caption("D_LR and effective dimension on training examples; training accuracy is a mean since the evaluation before.")
    sql = training_sql(curves["cell_id"].unique())
    downloads(f"richness-{shown[0].cell_id}", curves.dropna(axis="columns", how="all"), chart, sql, sql_lines(results, sql))


def _look_on(results: str, selection: Selection, cell_id: str) -> None:
    """Links to D_LR over a key, if some key has two values, and to the network on page Structure."""
    if not links:
        return
    points = grouped(results, selection, D_LR) if D_LR in remembered(measures_of, results, selection) else None
    if points is not None and (numbers := axes_of(points).numbers):
        x = title_of("gamma" if "gamma" in numbers else numbers[0], task_of(points.frame), points.declared)
        measure = points.measure.title
        query = {"measure": measure, "x": x} | ({"sweep": selection.sweep} if selection.sweep else {})
        st.page_link(links["curves"], label=f"{measure} against {x}, with intervals: Curves", query_params=query)
    st.page_link(links["structure"], label="This network's weights and loss: Structure", query_params={"cell": cell_id})
