"""Pages that have something to show for the store, found in the background: they lead in the navigation."""

import threading
from concurrent.futures import Future, wait

import streamlit as st

from analysis.data.progress.showing import NEEDS, showing
from analysis.data.source import QueryError, ResultsError
from app.shared import watched

WAIT_S = 0.3
"""Seconds that a page waits for the answer. Until it is known all pages lead: a store of a million networks takes longer."""


class Looking:
    """Finds the pages of one store anew whenever its state changes, one question at a time."""

    def __init__(self, results: str) -> None:
        self.results = results
        self.known: dict[str, frozenset[str]] | None = None
        self.n_changes = 0
        """How often the answer has changed, the first one included: until then all pages lead."""
        self.token: str | None = None
        """The state that was asked for last."""
        self.running: Future[None] | None = None
        self.lock = threading.Lock()

    def look(self, token: str, wait_s: float | None = WAIT_S) -> dict[str, frozenset[str]] | None:
        """By sweep, the pages of NEEDS that have something to show; None while that is not known. Waits up to `wait_s` for a
        running question."""
        with self.lock:
            if token != self.token:
                self.token = token
                if self.running is None or self.running.done():
                    self.running = Future()
                    threading.Thread(target=self._ask, args=(self.running,), name="leading", daemon=True).start()
            running = self.running
        if running is not None:
            wait([running], wait_s)
        return self.known

    def _ask(self, end: "Future[None]") -> None:
        asked = self.token
        try:
            while True:
                found = showing(self.results)
                self.n_changes += found != self.known
                self.known = found
                with self.lock:
                    # A state that came meanwhile is asked for at once: if the store then rests, no later look would do it.
                    if asked == self.token:
                        end.set_result(None)
                        return
                    asked = self.token
        except Exception as error:
            with self.lock:
                self.token = None  # the next run asks again
                end.set_result(None)
            if not isinstance(error, ResultsError | QueryError):  # the page shows these
                raise


@st.cache_resource
def looking(results: str) -> Looking:
    """The one of this server for a store."""
    found = Looking(results)
    watched["leading"] = lambda: found.n_changes
    return found


def empty_pages(results: str, token: str) -> frozenset[str]:
    """The pages that can show nothing for any sweep of the store; none while that is not known."""
    known = looking(results).look(token)
    return frozenset() if known is None else frozenset(NEEDS).difference(*known.values())
