"""Theory that takes long: computed apart from the server, while the page shows what is known."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING

import streamlit as st

from analysis.background import Background
from sweepkit.console.words import counted

if TYPE_CHECKING:  # pandas and what needs it take a second to import: pages do that once they need it
    from analysis.overlays.overlays import Later


class TheoryWorker:
    """Computes theory that takes long, apart from the server: one value at a time, and each value once.

    Computed values are kept on disk, where a page finds them when it runs again. If the server ends, only the value at hand is
    lost.
    """

    def __init__(self) -> None:
        self.asked: dict[str, Future[float]] = {}
        self.queue: SimpleQueue[Later] = SimpleQueue()
        self.apart = Background()
        # A daemon, unlike a pool's threads: Ctrl+C must not wait for the whole queue.
        threading.Thread(target=self._work, name="theory", daemon=True).start()

    @property
    def n_done(self) -> int:
        """How many values have been computed or failed."""
        return sum(future.done() for future in list(self.asked.values()))

    def ask(self, missing: "Sequence[Later]") -> None:
        """Queue values to compute, except those that were asked for before."""
        for later in missing:
            if later.name not in self.asked:
                self.asked[later.name] = Future()
                self.queue.put(later)

    def _work(self) -> None:
        while True:
            later = self.queue.get()
            try:
                self.asked[later.name].set_result(self.apart.compute(later.compute))
            except Exception as error:  # noqa: BLE001 - the page shows any error
                self.asked[later.name].set_exception(error)
            if self.queue.empty():
                self.apart.close()


@st.cache_resource
def _theory_worker() -> TheoryWorker:
    return TheoryWorker()


def compute_later(missing: "Sequence[Later]") -> None:
    """Start to compute missing theory and say so; the page runs again by itself and shows it."""
    if missing:
        worker = _theory_worker()
        worker.ask(missing)
        done = [future for later in missing if (future := worker.asked[later.name]).done()]
        failed = [error for future in done if (error := future.exception())]
        n = len(missing) - len(done)
        if n:
            st.caption(f"Computing the theory of {counted(n, 'more point')}; they appear by themselves and are kept on disk.")
        for error in failed[:1]:
            st.warning(f"Theory could not be computed: {error}")


def theories_known() -> int:
    """How many values of theory this server has computed."""
    return _theory_worker().n_done
