"""A part of page Networks: the networks that are ticked, their training curves, and what differs among them."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from analysis.charts.networks.several import along_training, several_chart
from analysis.data.measures import measures
from analysis.data.networks.evaluations import main_and_loss
from analysis.data.networks.failures import log_of, remedy
from analysis.data.networks.listing import differences, rows_of, told_apart
from analysis.data.networks.reading import MOST_SEEDS, training, training_sql
from analysis.python_lines import sql_lines
from app.controls import astray, switch
from app.downloads import downloads
from app.pages import PAGES
from app.shared import figure, links, remembered
from sweepkit.console.words import shown

PICKED = "picked"
"""The ids of the ticked networks in the URL, with commas between them."""
_HELD, _UNTICKED = "_picked", "_unticked"
MOST, MOST_WRAPPED = MOST_SEEDS, 3
"""Most networks in the chart, and most beside which long names have room to wrap."""


def picked() -> list[str]:
    """The ids of the ticked networks: those of the link at first, then those ticked."""
    if _HELD not in st.session_state:
        st.session_state[_HELD] = [cell_id for cell_id in st.query_params.get(PICKED, "").split(",") if cell_id]
    return list(st.session_state[_HELD])


def pick(rows: Sequence[Sequence[str]], ticked: Sequence[int]) -> None:
    """Keep what is ticked of the rows of this page, each of which stands for some networks, beside what other pages hold."""
    here = {cell_id for cells in rows for cell_id in cells}
    chosen = [cell_id for i in ticked for cell_id in rows[i]]
    others = [cell_id for cell_id in picked() if cell_id not in here]
    _hold([*others, *chosen])


def _hold(ids: list[str]) -> None:
    st.session_state[_HELD] = ids
    if ids:
        if st.query_params.get(PICKED) != ",".join(ids):
            st.query_params[PICKED] = ",".join(ids)
    else:
        st.query_params.pop(PICKED, None)


def _untick() -> None:
    _hold([])
    st.session_state[_UNTICKED] = times_unticked() + 1


def times_unticked() -> int:
    """How often all ticks were taken away: a table that goes by another name each time forgets its own ticks."""
    return int(st.session_state.get(_UNTICKED, 0))


def show_picked(results: str) -> None:
    """Training curves of the ticked networks; for two of them, what differs; for few, why they failed and where to look on."""
    ids = picked()
    if not ids:
        return
    rows = remembered(rows_of, results, tuple(ids[:MOST]))
    there = {row["cell_id"] for row in rows}
    if lost := [cell_id for cell_id in ids[:MOST] if cell_id not in there]:
        astray()[PICKED] = f"No network {', '.join(f'`{cell_id}`' for cell_id in lost[:3])} in the store."
    if not rows:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(f"{len(rows)} ticked" + (f" of {len(ids)}, the first {MOST}" if len(ids) > MOST else ""), anchor=False)
        st.button("Untick all", on_click=_untick)
    labels = dict(zip((row["cell_id"] for row in rows), told_apart(rows, results), strict=True))
    side_by_side = st.container(horizontal=True)  # one below the other where they do not fit
    with side_by_side, st.container(width=560):
        _curves(results, labels, some_finished=any(row["status"] == "ok" for row in rows))
    if len(rows) > 1:
        with side_by_side, st.container(width=520):
            _apart(results, rows, labels)
    for row in rows[:6]:
        _one(results, row, labels[row["cell_id"]])


def _curves(results: str, labels: dict[str, str], some_finished: bool) -> None:
    """The training curves of these networks. Those of a network that failed, or diverged at once, are no matter of its grid."""
    ids = tuple(labels)
    curves = remembered(training, results, ids)
    known = along_training(results, curves)
    if curves.empty or not known:
        if some_finished:
            st.info("No training curve of these was saved: `save: curves` in a grid keeps them.")
        else:
            st.caption("No training curve: training came to no evaluation.")
        return
    with st.container(horizontal=True):
        log_step = switch("Log step", False, "log_step")
        log_loss = switch("Log loss", True, "log_loss")
    chart = several_chart(curves, labels, main_and_loss(known), log_step, log_loss, width=460)
    figure(chart, "several")
    if without := len(ids) - curves["cell_id"].nunique():
        st.caption(f"{without} of {len(ids)} kept no curve.")
    sql = training_sql(ids)
    downloads("training-curves", curves.dropna(axis="columns", how="all"), chart, sql, sql_lines(results, sql))


def _apart(results: str, rows: list[dict[str, Any]], labels: dict[str, str]) -> None:
    """Tables of what differs; those of two networks have the difference of numbers."""
    st.subheader("Side by side" if len(rows) == 2 else "What differs", anchor=False)
    found, known = differences(rows, results), measures(results)
    heads = list(labels.values())
    for kind, differing in found.items():
        if not differing or (kind == "metrics" and len(rows) > 6):
            continue
        lines = []
        for name, values in differing:
            line = {kind: known[name].title if name in known else name}
            line |= {head: _text(value, kind) for head, value in zip(heads, values, strict=True)}
            if len(rows) == 2 and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
                line["difference"] = f"{values[1] - values[0]:+.4g}"
            lines.append(line)
        if len(rows) <= MOST_WRAPPED:
            st.table(lines)
        else:
            st.dataframe(pd.DataFrame(lines), hide_index=True, height="content")
    measured = any(row.get(name) is not None and row[name] == row[name] for row in rows for name in known if name != "seconds")
    same = [kind for kind, differing in found.items() if not differing and (kind != "metrics" or measured)]
    if same:
        st.caption(f"They agree in all {' and '.join(same)}.")
    if not measured:
        st.caption("None of them has a metric: none finished.")


def _text(value: Any, kind: str) -> str:
    """A value in one of these tables: parameters with six digits, as on all pages, other numbers with four."""
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) and kind != "parameters" else shown(value)


def _one(results: str, row: dict[str, Any], label: str) -> None:
    """Where to look on for one network; if it failed, why and what to do."""
    with st.container(horizontal=True, vertical_alignment="center"):
        told = "" if row["cell_id"].startswith(label) else f" {label}"  # alone, a network has no other label than its id
        st.markdown(f"`{row['cell_id']}`{told}: {row['status']}")
        if row["status"] != "failed":
            pages = ["structure", *(["richness"] if row.get("d_lr") is not None else [])] if links else []
            for page in pages:
                st.page_link(links[page], label=PAGES[page][0], query_params={"cell_id": row["cell_id"]})
    if row["status"] != "ok":
        st.code(row["reason"] or "No reason was given.", language=None, wrap_lines=True)  # as it is: it may hold any characters
        st.markdown(remedy(row["status"], row["reason"] or "", results))
    if row.get("log_path"):
        st.markdown(f"Log: `{row['log_path']}`")
        if (text := log_of(results, row["log_path"])) is not None:
            with st.expander("The log"):
                st.code(text, language="text")
