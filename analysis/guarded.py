"""SQL of people who may type anything: reads the store and nothing else, and stops in time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from sys import getsizeof
from typing import TYPE_CHECKING, Any

import duckdb

from analysis.source import ResultsError, existing
from analysis.statements import Bound, bound, in_own_words
from store.views import fenced, run

if TYPE_CHECKING:
    import pandas as pd

MEMORY_GB = 1.0
THREADS = 2
MAX_BYTES = 100 << 20
"""Most that an answer may hold, by what Python's objects take, however few its rows are."""
CHUNK = 256
FREELY = "`python -m analysis.query` has no such limit"


@dataclass(frozen=True)
class Answer:
    """Columns with their DuckDB types, and rows; `truncated` where there are more than were asked for."""

    columns: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool

    @property
    def frame(self) -> "pd.DataFrame":
        """The same for pandas."""
        import pandas as pd

        return pd.DataFrame.from_records(self.rows, columns=self.columns)


def guarded_query(
    results: str, sql: str, timeout_s: float = 10.0, max_rows: int = 10_000, memory_gb: float = MEMORY_GB
) -> Answer:
    """The answer to one reading statement over the views.

    ResultsError where it is none, opens other files, takes longer than `timeout_s` or more than `memory_gb`;
    other errors of the query are duckdb.Error with DuckDB's message, which points into `sql`.
    """

    def work(connection: duckdb.DuckDBPyConnection) -> Answer:
        with _stopped_after(connection, timeout_s) as expired:
            try:
                return _fetched(connection, bound(connection, sql, max_rows + 1), max_rows, expired)
            except (duckdb.InterruptException, TimeoutError):
                raise _too_slow(timeout_s) from None

    try:
        return run(existing(results), work, opener=partial(fenced, memory_gb=memory_gb, threads=THREADS))
    except duckdb.PermissionException as error:
        raise ResultsError(f"only the results can be read here, by the views cells, curves, neurons, plans: {error}") from None
    except (duckdb.OutOfMemoryException, MemoryError):
        raise ResultsError(f"the query needs more than {memory_gb:g} GB: ask for less, or aggregate; {FREELY}") from None


def _too_slow(timeout_s: float) -> ResultsError:
    return ResultsError(f"stopped after {timeout_s:g} s: ask for less, such as one sweep or fewer columns; {FREELY}")


def _fetched(connection: duckdb.DuckDBPyConnection, found: Bound, max_rows: int, expired: threading.Event) -> Answer:
    rows: list[tuple[Any, ...]] = []
    n_bytes = 0
    try:
        connection.execute(found.sql)
        while n_bytes <= MAX_BYTES and (chunk := connection.fetchmany(CHUNK)):
            for row in chunk:
                n_bytes += sum(map(getsizeof, row))
                if n_bytes > MAX_BYTES and rows:
                    break
                rows.append(row)
            if expired.is_set():
                raise TimeoutError
    except duckdb.Error as error:
        raise in_own_words(error) from None
    return Answer(found.columns, found.types, rows[:max_rows], len(rows) > max_rows or n_bytes > MAX_BYTES)


@contextmanager
def _stopped_after(connection: duckdb.DuckDBPyConnection, timeout_s: float) -> Iterator[threading.Event]:
    """Interrupts what the connection does once the time is over, and again: between two steps there is nothing to interrupt."""
    done, expired = threading.Event(), threading.Event()

    def watch() -> None:
        if done.wait(timeout_s):
            return
        expired.set()
        while True:
            connection.interrupt()
            if done.wait(0.05):
                return

    watcher = threading.Thread(target=watch, name="query-time-limit", daemon=True)
    watcher.start()
    try:
        yield expired
    finally:
        done.set()
        watcher.join()
