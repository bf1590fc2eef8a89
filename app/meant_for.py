"""A part of page Home: the papers' figures that a sweep is meant for. It comes last, as all figures take a while to import."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from analysis.figures.registry import FIGURES, Drawn, Figure, Missing, of_sweep
from app.shared import compute_later, downloads, figure, remembered
from console.words import counted


def figures(results: str, sweep: str, beside: Any) -> None:
    """The papers' figures that the networks of a sweep are meant for; each is drawn once it is asked for. `beside`: the container
    above the sweep's general chart, where the figures are named."""
    found = {f"{one.name}: {one.title}": one for one in of_sweep(sweep)}
    if not found:
        return
    beside.caption(_named(list(found.values())))
    label = "Figure " + next(iter(found)) if len(found) == 1 else f"{len(found)} figures of the papers from these networks"
    fold = st.expander(label, icon=":material/show_chart:", on_change="rerun", key=f"figures_{sweep}")
    if not fold.open:
        return
    with fold:
        name = next(iter(found))
        if len(found) > 1:
            name = st.selectbox("Figure", list(found), key=f"figure_{sweep}", width=640)
        one = found[name]
        drawn = remembered(_drawn, results, one.name, sweep)
        if isinstance(drawn, Missing):
            st.caption(f"Figure {one.name} cannot be drawn of these networks yet: {drawn.needs}.")
            return
        figure(drawn.chart, f"figure-{one.name}-{sweep}")
        st.caption(f"{one.source}. {drawn.caption}")
        compute_later(drawn.missing)
        downloads(f"{one.name}-{sweep}", drawn.frame, drawn.chart, drawn.sql)


def _named(found: Sequence[Figure]) -> str:
    """Words that name the figures beside a chart that is none of them: a figure takes up to ten seconds, and waits to be asked
    for."""
    first, *others = found
    more = f", and for {counted(len(others), 'other figure')}" if others else ""
    where = "open one" if others else "open it"
    return f"Trained for figure **{first.name}**, {first.title}{more}: {where} below. This chart is another one."


def _drawn(results: str, name: str, sweep: str) -> Drawn | Missing:
    return FIGURES[name].draw(results, sweep)
