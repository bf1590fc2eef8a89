"""A part of page Home: the papers' figures that a sweep is meant for. It comes last, as all figures take a while to import."""

import streamlit as st

from analysis.figures.registry import FIGURES, Drawn, Missing, of_sweep
from app.shared import compute_later, downloads, figure, remembered


def figures(results: str, sweep: str) -> None:
    """The papers' figures that the networks of a sweep are meant for; each is drawn once it is asked for."""
    found = {f"{one.name}: {one.title}": one for one in of_sweep(sweep)}
    if not found:
        return
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


def _drawn(results: str, name: str, sweep: str) -> Drawn | Missing:
    return FIGURES[name].draw(results, sweep)
