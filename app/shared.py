"""Parts that all pages share: the results directory, errors, following a running sweep, charts."""

import argparse
import sys
import traceback
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

import streamlit as st

from analysis.data.progress.coverage import sweeps
from analysis.data.source import QueryError, ResultsError, state
from analysis.studies.loading import renew
from app.downloads import may_run_again
from app.styles import fit_screen, is_dark, is_narrow
from app.theory import theories_known
from sweepkit.console.commands import command, sweep_command
from sweepkit.studies import StudyError, add, left_out, tolerate

REFRESH_S = 5
"""How often an open page looks for new results of a running sweep."""

links: dict[str, Any] = {}
"""The pages by name, for `st.page_link`."""

T = TypeVar("T")


class _Options(argparse.ArgumentParser):
    """Options of the app. An error is shown on the page: its reader sits at a browser, not at the terminal."""

    def error(self, message: str) -> NoReturn:
        raise ResultsError(f"{message}. Type `{command('app', '--results', 'DIR')}`")


def results_directory() -> str:
    """The results directory from the options after `--`. ResultsError for anything but `--results DIR` and
    `--study DIR`, which names a study."""
    parser = _Options(add_help=False)
    parser.add_argument("--results", default="results")
    parser.add_argument("--study", action="append", default=[])
    asked = parser.parse_args(sys.argv[1:])
    try:
        for folder in asked.study:
            add(folder)
    except StudyError as error:
        raise ResultsError(str(error)) from None
    finally:
        tolerate()
    return str(asked.results)


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
        st.session_state[ENTERED] = st.session_state.get(_PAGE) != title
        if st.session_state[ENTERED]:
            st.session_state[_PAGE], st.session_state[_UNLINKED] = title, True
            st.session_state[ASTRAY], st.session_state[SPELLED] = {}, {}
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
    for wrong in left_out():  # known once the page has asked the studies
        notes.error(f"A study is left out: {wrong}")
    for note in st.session_state.get(ASTRAY, {}).values():
        notes.warning(note)
    st.session_state[_FRESH] = True
    _follow(results)


def _is_ours(error: ValueError) -> bool:
    """True if a line of this project raised it, which finds fault with what was chosen: its words are then for the user.

    Any other error is a bug, and its traceback helps."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__", "").partition(".")[0] in ("analysis", "app", "sweepkit")


_SEEN, _FRESH, _PAGE, _UNLINKED = "_seen", "_fresh", "_page", "_unlinked"
_LOOKED, ENTERED = "_looked", "_entered"
ASTRAY, SPELLED = "_astray", "_spelled"
"""The names in the session of the notes on values that a link named and that are not there, by key, and of the names that stand
in a link for the controls of this page, by their labels."""


watched: dict[str, Callable[[], int]] = {}
"""By name, a function that counts the finished parts of a page's background work. When a count grows, open pages run again."""


def look(results: str) -> str:
    """The state of the store, read once for the navigation and the page. ResultsError if it cannot be read."""
    st.session_state[_SEEN] = moment = _moment(results)
    st.session_state[_LOOKED] = True
    return moment[0]


def _moment(results: str) -> tuple[str, int]:
    n = renew()
    if n != _renewals[-1]:
        _renewals.append(n)
        _remembered.cache_clear()
        for forget in renewing:
            forget()
    return state(results), n + theories_known() + sum(n_done() for n_done in watched.values())


renewing: list[Callable[[], None]] = []
"""Functions that forget what this server knows of studies, for when a file of one has changed."""
_renewals = [0]


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
    seen = st.session_state.get(_SEEN)
    return _remembered(work, seen and seen[0], results, *arguments)


def remembered_with_theory(work: Callable[..., T], results: str, *arguments: Any) -> T:
    """Like `remembered`, and computed anew when more theory is known, for work that shows theory."""
    return _remembered(work, st.session_state.get(_SEEN), results, *arguments)


@lru_cache(maxsize=96)
def _remembered(work: Callable[..., T], moment: object, results: str, *arguments: Any) -> T:
    return work(results, *arguments)


def figure(chart: Any, key: str | None = None) -> None:
    """A chart at its own size, in colours that suit the page's background; in a narrow window as wide as that."""
    from analysis.charts.shown.screens import on_screen, spec_of

    spec = on_screen(spec_of(chart), is_dark(), is_narrow())
    st.vega_lite_chart(spec=spec | {"autosize": "pad"}, width="content", theme=None, key=key)
