"""Questions of your own, in SQL over the views."""

import time
from functools import partial
from typing import Any

import streamlit as st

from analysis.data.source import QueryError, ResultsError, columns_of_views
from analysis.sql.guarded import FILE_ROWS, Answer, answer_bytes, guarded_query
from analysis.sql.statements import EXAMPLES
from app.controls import check_link, spelled
from app.shared import remembered
from sweepkit.console.commands import command
from sweepkit.console.words import counted

SHOWN = 1000
"""Most rows that the table shows."""
SHOWN_CHARS, SHOWN_BYTES = 1000, 10 << 20
"""Most characters that the table shows of a value, and most bytes of all values as Arrow holds them."""

_SQL, _ANSWERED, _ANSWER = "sql", "_answered", "_answer"


def show(results: str) -> None:
    """The page."""
    with st.container(horizontal=True):
        for title, sql in EXAMPLES:
            st.button(title, on_click=_take, args=(sql,), help=f"```sql\n{sql}\n```")
    sql = st.text_area(
        "One query in DuckDB's SQL",
        EXAMPLES[0].sql,
        key=_SQL,
        height=120,
        bind="query-params",
        persist_state="session",
        help="Ctrl+Enter runs it. It reads the store and nothing else, for 10 s at most.",
    )
    if st.button("Run", type="primary") or st.session_state.get(_ANSWERED) != sql:
        _ask(results, sql)
    answer, seconds = st.session_state[_ANSWER]
    if isinstance(answer, str):
        st.error(f"```text\n{answer}\n```")
    else:
        _show(results, sql, answer, seconds)
    with st.expander("Views and their columns"):
        for view, (meaning, columns) in remembered(columns_of_views, results).items():
            st.markdown(f"**{view}**: {meaning}  \n" + ", ".join(f"`{name}` {kind.lower()}" for name, kind in columns))
    spelled()["query"] = _SQL
    check_link()


def _take(sql: str) -> None:
    st.session_state[_SQL] = sql
    st.session_state.pop(_ANSWERED, None)


def _ask(results: str, sql: str) -> None:
    """Run the query and keep its answer. This happens when the text changes or Run is pressed, not whenever a running sweep
    commits: a query may take long."""
    started = time.perf_counter()
    answer: Answer | str
    with st.spinner("Running ...", show_time=True):
        try:
            answer = guarded_query(results, sql, max_rows=SHOWN, max_chars=SHOWN_CHARS, max_bytes=SHOWN_BYTES)
        except (ResultsError, QueryError) as error:
            answer = str(error)
    st.session_state[_ANSWERED], st.session_state[_ANSWER] = sql, (answer, time.perf_counter() - started)


def _show(results: str, sql: str, answer: Answer, seconds: float) -> None:
    st.dataframe(answer.frame, hide_index=True, height=min(420, 38 + 35 * max(1, len(answer.rows))))
    n = len(answer.rows)
    said = f"the first {n:,} rows; a download holds more" if answer.truncated else counted(n, "row")
    said += f", values cut to {SHOWN_CHARS:,} characters" if answer.cut else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        for form, mime in (("csv", "text/csv"), ("parquet", "application/vnd.apache.parquet")):
            file: Any = partial(answer_bytes, results, sql, form)
            st.download_button(form.upper(), file, f"answer.{form}", mime, on_click="ignore", key=f"answer-{form}")
        st.caption(
            f"{said}, in {seconds:.2f} s. Files have {FILE_ROWS:,} rows and 100 MB at most; "
            f"`{command('query')}` has no such limit."
        )
