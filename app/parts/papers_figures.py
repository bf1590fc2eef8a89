"""A part of page Home: the papers' figures that a sweep is meant for, some drawn apart from the server. It comes last, as all
other parts are quicker."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import streamlit as st

from analysis.background import Background
from analysis.data.source import state
from analysis.figures.registry import FIGURES, Drawn, Figure, Missing, of_sweep
from app.downloads import downloads, may_run_again
from app.shared import figure, remembered_with_theory
from app.theory import compute_later, theories_known
from sweepkit.console.words import counted

SOON_S = 1.0
"""How often the page looks whether the figure is drawn."""


class Drawings:
    """The figures of one store by name and sweep, each drawn anew once the store has changed or more theory is known."""

    def __init__(self, results: str) -> None:
        self.results = results
        self.apart = Background(is_awaited=True)
        self.newest: dict[tuple[str, str], tuple[object, Future[Any]]] = {}
        self.lock = threading.Lock()

    def look(self, draw: Callable[[str, str, str], Any], name: str, sweep: str) -> Future[Any]:
        """draw(results, name, sweep) of the present state; it starts if nobody has asked for it."""
        key, moment = (name, sweep), (state(self.results), theories_known())
        with self.lock:
            known = self.newest.get(key)
            if known is None or known[0] != moment:
                known = self.newest[key] = moment, Future()
                threading.Thread(target=self._draw, args=(draw, *key, known[1]), name="figure", daemon=True).start()
            return known[1]

    def _draw(self, draw: Callable[[str, str, str], Any], name: str, sweep: str, end: Future[Any]) -> None:
        try:
            end.set_result(self.apart.compute(partial(draw, self.results, name, sweep)))
        except Exception as error:  # noqa: BLE001 - the page shows any error
            end.set_exception(error)
        with self.lock:
            if all(future.done() for _, future in self.newest.values()):
                self.apart.close()  # its modules take half a gigabyte


@st.cache_resource
def drawings(results: str) -> Drawings:
    """The one of this server for a store."""
    return Drawings(results)


@st.fragment(run_every=SOON_S)
def soon(drawing: Future[Any]) -> None:
    """Say that a figure is being drawn, and run the page again once it is."""
    st.caption("Drawing the figure; it appears by itself.")
    if drawing.done() and may_run_again():
        st.rerun()


def figures(results: str, sweep: str, beside: Any, opens: bool) -> None:
    """The papers' figures that the networks of a sweep are meant for; each is drawn once it is asked for. `beside`: the container
    above the sweep's general chart, where the figures are named. `opens`: whether the page opens with the first of them."""
    found = {f"{one.name}: {one.title}": one for one in of_sweep(sweep)}
    if not found:
        return
    label = "Figure " + next(iter(found)) if len(found) == 1 else f"{len(found)} figures of the papers from these networks"
    fold = st.expander(label, opens, icon=":material/show_chart:", on_change="rerun", key=f"figures_{sweep}")
    beside.caption(_named(list(found.values()), bool(fold.open)))
    if not fold.open:
        return
    with fold:
        first = name = next(iter(found))
        if len(found) > 1:
            name = st.selectbox("Figure", list(found), key=f"figure_{sweep}", width=640)
        if opens and name == first:
            drawing = drawings(results).look(_drawn, found[first].name, sweep)
            if not drawing.done():
                soon(drawing)
                return
            if error := drawing.exception():
                st.warning(f"Figure {found[first].name} could not be drawn: {error}")
                return
            _show(found[first], sweep, drawing.result())
        else:
            _show(found[name], sweep, remembered_with_theory(_drawn, results, found[name].name, sweep))


def _show(one: Figure, sweep: str, drawn: Drawn | Missing) -> None:
    if isinstance(drawn, Missing):
        st.caption(f"Figure {one.name} cannot be drawn of these networks yet: {drawn.needs}.")
        return
    figure(drawn.chart, f"figure-{one.name}-{sweep}")
    st.caption(f"{one.source}. {drawn.caption}")
    compute_later(drawn.missing)
    downloads(f"{one.name}-{sweep}", drawn.frame, drawn.chart, drawn.sql)


def _named(found: Sequence[Figure], is_open: bool) -> str:
    """Words that name the figures beside a chart that is none of them."""
    first, *others = found
    more = f", and for {counted(len(others), 'other figure')}" if others else ""
    where = "see below" if is_open else "open one below" if others else "open it below"
    return f"Trained for figure **{first.name}**, {first.title}{more}: {where}. This chart is another one."


def _drawn(results: str, name: str, sweep: str) -> Drawn | Missing:
    return FIGURES[name].draw(results, sweep)
