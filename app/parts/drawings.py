"""A figure of the papers drawn apart from the server for a page that opens with it: some take ten seconds."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import streamlit as st

from analysis.apart import Apart
from analysis.data.source import state
from app.downloads import may_run_again
from app.theory import theories_known

SOON_S = 1.0
"""How often the page looks whether the figure is drawn."""


class Drawings:
    """The figures of one store by name and sweep, each drawn anew once the store has changed or more theory is known."""

    def __init__(self, results: str) -> None:
        self.results = results
        self.apart = Apart(is_awaited=True)
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
