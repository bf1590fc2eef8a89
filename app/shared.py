"""Parts that all pages share: the results directory, selections in the URL, errors, downloads, following a running sweep."""

import argparse
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import lru_cache, partial
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import streamlit as st

from analysis.apart import Apart
from analysis.data.progress.coverage import sweeps
from analysis.data.source import QueryError, ResultsError, state
from app.looks import fit_screen, is_dark, is_narrow
from console.commands import command, sweep_command
from console.words import counted, nearest

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
    fit_screen()
    st.header(title, help=meaning, anchor=False)
    try:
        results = results_directory()
    except ResultsError as error:
        st.error(str(error))
        return
    notes = st.container()
    try:
        if not st.session_state.pop(_LOOKED, False):
            st.session_state[_SEEN] = _moment(results)
        st.session_state[_ENTERED] = st.session_state.get(_PAGE) != title
        if st.session_state[_ENTERED]:
            st.session_state[_PAGE], st.session_state[_UNLINKED] = title, True
            st.session_state[_ASTRAY] = {}
        if not remembered(sweeps, results):
            st.info(f"Nothing in `{results}` yet. Type `{sweep_command('grid.yaml', results)}` and leave this page open.")
        else:
            show(results)
    except (ResultsError, QueryError) as error:
        st.error(str(error))
    except ValueError as error:
        if not _is_ours(error):
            raise
        traceback.print_exception(error)  # on the terminal: it may be a bug in spite of its words
        st.error(str(error))
    for note in st.session_state.get(_ASTRAY, {}).values():
        notes.warning(note)
    st.session_state[_FRESH] = True
    _follow(results)


def _is_ours(error: ValueError) -> bool:
    """True if a line of this project raised it, which finds fault with what was chosen: its words are then for the user.

    Any other error is a bug, and its traceback helps."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__", "").partition(".")[0] in ("analysis", "app", "store", "stats", "declarations")


_SEEN, _FRESH, _PAGE, _UNLINKED, _INSTEAD = "_seen", "_fresh", "_page", "_unlinked", "_instead"
_LOOKED, _ENTERED, _PAUSE = "_looked", "_entered", "_pause"
_ASTRAY = "_astray"
"""The name in the session of the notes on values that a link named and that are not there, by key."""


watched: dict[str, Callable[[], int]] = {}
"""By name, a function that counts the finished parts of a page's background work. When a count grows, open pages run again."""


def look(results: str) -> str:
    """The state of the store, read once for the navigation and the page. ResultsError if it cannot be read."""
    st.session_state[_SEEN] = moment = _moment(results)
    st.session_state[_LOOKED] = True
    return moment[0]


def theories_known() -> int:
    """How many values of theory this server has computed."""
    return _theory_worker().n_done


def _moment(results: str) -> tuple[str, int]:
    return state(results), theories_known() + sum(n_done() for n_done in watched.values())


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
    if (now != st.session_state.get(_SEEN) or st.session_state.get(_UNLINKED, False)) and may_run_again():
        st.session_state[_UNLINKED] = False
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
    not offer comes back on a page that does, unless another was chosen there. A link that names no option gets the default, and
    the page says so.
    """
    options = list(options)
    key = key or label.lower().replace(" ", "_")
    held = st.session_state.get(key)
    instead: dict[str, tuple[Any, Any]] = st.session_state.setdefault(_INSTEAD, {})
    first = key not in instead
    chosen, shown = instead.get(key, (held, held))
    wanted = chosen if held == shown else held
    text = more.get("format_func", str)
    texts = [str(text(option)) for option in options]
    if not first and st.session_state.get(_ENTERED) and (asked := st.query_params.get(key)) in texts:
        wanted = options[texts.index(asked)]  # a link within the app goes before what was chosen on an earlier page
    # Assigned each time: Streamlit keeps in the URL what code assigns, and what the user chose, but no default.
    value = wanted if wanted in options else default if default in options else next(iter(options), None)
    instead[key] = (value if wanted is None else wanted, value)
    if first:
        _note_astray(label, key, texts, str(text(value)))
    elif held != shown:
        astray().pop(key, None)
    st.session_state[key] = value
    more = {"bind": "query-params", "persist_state": "session", "required": True} | more
    box: Any = st.selectbox  # no overload of it takes options by name
    return box(label, options, index=None, key=key, **more)


def _note_astray(label: str, key: str, texts: Sequence[str], shown: str) -> None:
    """Note that the link to this page names a value of a select box that is not there."""
    asked = st.query_params.get(key)
    if asked and asked not in texts:
        what = label[0].lower() + label[1:] if label[1:2].islower() else label  # not L
        end = nearest(asked, texts) or "."
        astray()[key] = f"No {what} `{asked}` here{end} This page shows `{shown}` instead."


def check_link(*others: str) -> None:
    """Note which controls the link to this page names in vain. A page calls it once all of its controls are there. `others`:
    names that the page reads too, and controls that it has at other choices."""
    controls = [*others, *(str(key) for key in st.session_state if not str(key).startswith("_"))]
    for key in st.query_params if st.session_state.get(_ENTERED) else ():
        if key not in controls and not key.startswith("embed"):  # those are Streamlit's own
            astray()[key] = f"The link names `{key}`, which this page does not have{nearest(key, controls) or '.'}"


def astray() -> dict[str, str]:
    """Notes above the page on values that a link named and that are not there, by key; a page may add some."""
    found: dict[str, str] = st.session_state.setdefault(_ASTRAY, {})
    return found


def switch(label: str, default: bool, key: str, **more: Any) -> bool:
    """A toggle whose value lives in the URL."""
    return bool(st.toggle(label, default, key=key, bind="query-params", persist_state="session", **more))


def sweep_choice(results: str, first: Callable[[str], str | None] | None = None) -> "Selection":
    """A select box of sweeps; its selection is of one sweep or of the whole store. `first`: from the results, the sweep on which
    the page opens if there are several, in place of the whole store."""
    from analysis.data.selection import Selection

    names = remembered(sweeps, results)
    usual = names[0] if len(names) == 1 else remembered(first, results) if first else None
    sweep = choice("Sweep", [WHOLE, *names], usual or WHOLE, key="sweep")
    return Selection(None if sweep == WHOLE else sweep)


def figure(chart: Any, key: str | None = None) -> None:
    """A chart at its own size, in colours that suit the page's background; in a narrow window as wide as that."""
    from analysis.charts.shown.screens import on_screen, spec_of

    spec = on_screen(spec_of(chart), is_dark(), is_narrow())
    st.vega_lite_chart(spec=spec | {"autosize": "pad"}, width="content", theme=None, key=key)


class Pause:
    """Holds back runs that a page starts by itself while a file is made for a button, and until the browser has fetched it.

    Streamlit makes such a file for one run of the page: a second run takes it away, and a browser that was slower gets nothing.
    """

    FETCHED_S = 4.0
    """Seconds that a browser is given to fetch a file."""

    def __init__(self) -> None:
        self.n_at_work = 0
        self.until = 0.0
        self.lock = threading.Lock()

    @property
    def is_on(self) -> bool:
        """True while the page is to wait before it runs by itself."""
        return self.n_at_work > 0 or monotonic() < self.until

    def during(self, work: Callable[[], T]) -> Callable[[], T]:
        """The work, during which the pause is on."""

        def held() -> T:
            with self.lock:
                self.n_at_work += 1
            try:
                return work()
            finally:
                with self.lock:
                    self.n_at_work -= 1
                    self.until = monotonic() + self.FETCHED_S

        return held


def _pause() -> Pause:
    """The one of this session."""
    found: Pause = st.session_state.setdefault(_PAUSE, Pause())
    return found


def may_run_again() -> bool:
    """True if a page may run again by itself: not while a file is made for a button. A later call then finds that it may."""
    return not _pause().is_on


MOST_AT_ONCE = 20_000
"""Most values of a table whose CSV is made with the page, in 30 ms; a larger one is made when its button is pressed."""


def downloads(
    name: str,
    frame: "pd.DataFrame",
    chart: Any | None = None,
    sql: str | None = None,
    python: str | None = None,
    note: str | None = None,
) -> None:
    """A menu to take away what is shown: the chart as SVG, PNG and PDF, its data as CSV, the query behind it, and the Python
    lines that give the same in a notebook; or a `note` on why there are none. Images and large tables are made when their button
    is pressed."""
    with st.popover("Take it with you", icon=":material/download:", type="tertiary", key=f"take-{name}"):
        with st.container(horizontal=True):
            if chart is not None:
                from analysis.charts.shown.screens import IMAGES, image

                for kind, mime in IMAGES.items():
                    _file(name, kind, mime, _pause().during(partial(image, chart, kind)))
            at_once = frame.size <= MOST_AT_ONCE
            csv = partial(frame.to_csv, index=False)
            _file(name, "csv", "text/csv", csv() if at_once else _pause().during(csv))
            if sql is not None:
                _file(name, "sql", "text/plain", f"{sql}\n")
        if python is not None:
            st.caption("In Python, for example in a notebook:")
            st.code(python, language="python", wrap_lines=True)
        if note is not None:
            st.caption(note)
        if sql is not None:
            st.caption("The query behind it:")
            st.code(sql, language="sql", wrap_lines=True)


def _file(name: str, kind: str, mime: str, data: Any) -> None:
    st.download_button(kind.upper(), data, f"{name}.{kind}", mime, on_click="ignore", key=f"{name}-{kind}")


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
            st.caption(f"Computing the theory of {counted(n, 'more point')}; they appear by themselves and are kept on disk.")
        for error in failed[:1]:
            st.warning(f"Theory could not be computed: {error}")
