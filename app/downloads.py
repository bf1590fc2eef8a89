"""Files to take away from a page."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from analysis.data.source import ResultsError

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
_PAUSE = "_pause"


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
    listed: Mapping[str, Any] | None = None,
) -> None:
    """A menu to take away what is shown: the chart as SVG, PNG and PDF, its data as CSV, the query behind it, and the Python
    lines that give the same in a notebook; or a `note` on why there are none. Images and large tables are made when their button
    is pressed. listed: the figure for a list that `sweep figures` draws."""
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
        if listed is not None:
            _to_list(name, listed)
        if note is not None:
            st.caption(note)
        if sql is not None:
            st.caption("The query behind it:")
            st.code(sql, language="sql", wrap_lines=True)


def _to_list(name: str, figure: Mapping[str, Any]) -> None:
    """A button that adds a figure to the list in the folder in which the app was started."""
    from analysis.figures.listed import USUAL, add

    file = Path(USUAL)
    if st.button(f"Add to {USUAL}", key=f"{name}-list", help="`sweep figures` draws all figures of this list anew."):
        try:
            st.success(f"`{add(file, figure)}` is in `{file.resolve()}`; `sweep figures` draws all that it lists.")
        except ResultsError as error:
            st.error(str(error))
        except OSError as error:
            st.error(f"cannot write {file.resolve()}: {error.strerror}")


def _file(name: str, kind: str, mime: str, data: Any) -> None:
    st.download_button(kind.upper(), data, f"{name}.{kind}", mime, on_click="ignore", key=f"{name}-{kind}")
