"""Parts that all pages share: the results directory, selections in the URL, errors, downloads, following a running sweep."""

import argparse
import io
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import lru_cache, partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import streamlit as st

from analysis.data.coverage import sweeps
from analysis.data.source import QueryError, ResultsError, state
from analysis.overlays.apart import Apart
from console.commands import command, sweep_command

if TYPE_CHECKING:  # pandas and what needs it take a second to import: pages do that once they need it
    import pandas as pd

    from analysis.data.selection import Selection
    from analysis.overlays.overlays import Later

REFRESH_S = 5
"""How often an open page looks for new results of a running sweep."""

WHOLE = "(all sweeps)"

links: dict[str, Any] = {}
"""The pages by name, for `st.page_link`."""

NONE = "(none)"
"""The entry of a select box that stands for no key."""

T = TypeVar("T")


class _Options(argparse.ArgumentParser):
    """Options of the app. An error is shown on the page: its reader sits at a browser, not at the terminal."""

    def error(self, message: str) -> NoReturn:
        raise ResultsError(f"{message}. Type `{command('app', '--results', 'DIR')}`")


def results_directory() -> str:
    """The results directory from the options after `--`. ResultsError for anything but `--results DIR`."""
    parser = _Options(add_help=False)
    parser.add_argument("--results", default="results")
    return str(parser.parse_args(sys.argv[1:]).results)


def guarded(title: str, meaning: str, show: Callable[[str], None]) -> None:
    """Show a page below its title. The page runs again when there is more to show. It says what to type if the store is empty,
    and shows a bad store as an error."""
    st.header(title, help=meaning, anchor=False)
    try:
        results = results_directory()
    except ResultsError as error:
        st.error(str(error))
        return
    try:
        st.session_state[_SEEN] = _moment(results)
        if st.session_state.get(_PAGE) != title:
            st.session_state[_PAGE], st.session_state[_UNLINKED] = title, True
        if not remembered(sweeps, results):
            st.info(f"Nothing in `{results}` yet. Type `{sweep_command('grid.yaml', results)}` and leave this page open.")
        else:
            show(results)
    except (ResultsError, QueryError) as error:
        st.error(str(error))
    except ValueError as error:
        if not _is_ours(error):
            raise
        st.error(str(error))
    st.session_state[_FRESH] = True
    _follow(results)


def _is_ours(error: ValueError) -> bool:
    """Whether this project's own code raised the error, with words for the user. Any other error is a bug, and its traceback
    helps."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__", "").partition(".")[0] in ("analysis", "app", "store")


_SEEN, _FRESH, _PAGE, _UNLINKED, _INSTEAD = "_seen", "_fresh", "_page", "_unlinked", "_instead"


watched: dict[str, Callable[[], int]] = {}
"""By name, a function that counts the finished parts of a page's background work. When a count grows, open pages run again."""


def _moment(results: str) -> tuple[str, int]:
    return state(results), _theory_worker().n_done + sum(n_done() for n_done in watched.values())


@st.fragment(run_every=REFRESH_S)
def _follow(results: str) -> None:
    """Run the page again when the store has changed or theory was computed. While nothing changes, nothing is drawn anew."""
    if st.session_state.pop(_FRESH, False):
        return
    try:
        now = _moment(results)
    except ResultsError:
        return  # the page shows the error
    # Streamlit writes first selections into the URL in the second run of a page only.
    if now != st.session_state.get(_SEEN) or st.session_state.pop(_UNLINKED, False):
        st.rerun()


def remembered(work: Callable[..., T], results: str, *arguments: Any) -> T:
    """work(results, *arguments), computed once for each state of the store. `work` is a module-level function; arguments are
    hashable.

    All sessions share the result, so it must not be changed. Not for work that reads which networks are being trained: that is
    read after the state, and the store may return to that state when a lease ends.
    """
    return _remembered(work, st.session_state.get(_SEEN), results, *arguments)


@lru_cache(maxsize=48)
def _remembered(work: Callable[..., T], moment: object, results: str, *arguments: Any) -> T:
    return work(results, *arguments)


def choice(label: str, options: Sequence[Any], default: Any = None, key: str | None = None, **more: Any) -> Any:
    """A select box whose value lives in the URL, under `key`, and lasts from page to page.

    The URL names the default too: the best default changes as a store grows, and a link must not. A value that the next page does
    not offer comes back on a page that does, unless another was chosen there.
    """
    options = list(options)
    key = key or label.lower().replace(" ", "_")
    held = st.session_state.get(key)
    instead: dict[str, tuple[Any, Any]] = st.session_state.setdefault(_INSTEAD, {})
    chosen, shown = instead.get(key, (held, held))
    wanted = chosen if held == shown else held
    # Assigned each time: Streamlit keeps in the URL what code assigns, and what the user chose, but no default.
    value = wanted if wanted in options else default if default in options else next(iter(options), None)
    instead[key] = (value if wanted is None else wanted, value)
    st.session_state[key] = value
    more = {"bind": "query-params", "persist_state": "session", "required": True} | more
    box: Any = st.selectbox  # no overload of it takes options by name
    return box(label, options, index=None, key=key, **more)


def switch(label: str, default: bool, key: str, **more: Any) -> bool:
    """A toggle whose value lives in the URL."""
    return bool(st.toggle(label, default, key=key, bind="query-params", persist_state="session", **more))


def sweep_choice(results: str) -> "Selection":
    """A select box of sweeps; its selection is of one sweep or of the whole store."""
    from analysis.data.selection import Selection

    names = remembered(sweeps, results)
    sweep = choice("Sweep", [WHOLE, *names], names[0] if len(names) == 1 else WHOLE, key="sweep")
    return Selection(None if sweep == WHOLE else sweep)


def figure(chart: Any, key: str | None = None) -> None:
    """A chart as analysis draws it, at its own size and in its own colours."""
    st.altair_chart(chart.properties(autosize="pad"), width="content", theme=None, key=key)


def downloads(name: str, frame: "pd.DataFrame", chart: Any | None = None, sql: str | None = None) -> None:
    """Buttons for the figure as SVG and PNG, its data as CSV, and the query behind it. The files are made when a button is
    pressed."""
    with st.container(horizontal=True):
        if chart is not None:
            for kind, mime in IMAGES.items():
                st.download_button(
                    kind.upper(),
                    partial(_image, chart, kind),
                    f"{name}.{kind}",
                    mime,
                    on_click="ignore",
                    key=f"{name}-{kind}",
                )
        st.download_button(
            "CSV", lambda: frame.to_csv(index=False), f"{name}.csv", "text/csv", on_click="ignore", key=f"{name}-csv"
        )
        if sql is not None:
            st.download_button("SQL", sql + "\n", f"{name}.sql", "text/plain", on_click="ignore", key=f"{name}-sql")
    if sql is not None:
        with st.expander("The SQL behind it"):
            st.code(sql, language="sql")


class TheoryWorker:
    """Computes theory that takes long, apart from the server: one value at a time, and each value once.

    Computed values are kept on disk, where a page finds them when it runs again. If the server ends, only the value at hand is
    lost.
    """

    def __init__(self) -> None:
        self.asked: dict[str, Future[float]] = {}
        self.queue: SimpleQueue[Later] = SimpleQueue()
        self.apart = Apart()
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
            st.caption(f"Computing the theory of {n} more point{'s' * (n != 1)}; they appear by themselves and are kept on disk.")
        for error in failed[:1]:
            st.warning(f"Theory could not be computed: {error}")


IMAGES = {"svg": "image/svg+xml", "png": "image/png"}


def _image(chart: Any, kind: str) -> bytes:
    if kind == "svg":
        text = io.StringIO()
        chart.save(text, format="svg")
        return text.getvalue().encode()
    data = io.BytesIO()
    chart.save(data, format="png", scale_factor=2)
    return data.getvalue()
