"""The databases that this process keeps open, one per results directory. Each is kept until the files there change."""

import atexit
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import duckdb

from sweepkit.store.database import configure, connect_to
from sweepkit.store.files import Entry, Files
from sweepkit.store.snapshot import Snapshot

MAX_KEPT = 4
"""The number of directories whose database is kept."""
MANY_FILES, MOST_COPIED, ASKED_ONCE = 40, 250_000, 1
"""A kept database copies `cells` into memory if it has at least MANY_FILES files of rows, at most MOST_COPIED rows, and has been
asked ASKED_ONCE times before. The copy takes 0.6 s and 30 MB for 100,000 cells in packs, and 0.6 s for the 32,000 cells of
evidence/ in 97 files. Without it their files would cost each question 0.4 s; few compacted files are as quick without a copy."""


@dataclass
class Kept:
    """The database of a directory, and the listing of the files that it was made from."""

    listing: tuple[Entry, ...]
    connection: duckdb.DuckDBPyConnection
    is_to_copy: bool
    """Whether `cells` is still to be copied into memory. A single question does not wait for the copy; the second one does."""
    n_asked: int = 0
    answers: dict[Callable[..., Any], Any] = field(default_factory=dict)
    """The results of `sweepkit.store.views.once`, by function."""

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Another connection to the database, for the calling thread. The caller closes it or lets it go."""
        connection = self.connection.cursor()
        configure(connection)
        return connection


def kept_connection(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    """A connection for the calling thread to the database that this process keeps for the directory."""
    with _databases_lock:
        kept = kept_database(files, snapshot)
        if kept.is_to_copy and kept.n_asked >= ASKED_ONCE:
            _copy_cells(kept.connection)
            kept.is_to_copy = False
        kept.n_asked += 1
        return kept.cursor()


def kept_database(files: Files, snapshot: Snapshot) -> Kept:
    """The database that this process keeps for the directory, made anew if the files have changed."""
    listing = tuple(file.entry for file in (*snapshot.rows, *snapshot.plans))
    with _databases_lock:
        if files.root not in _databases or _databases[files.root].listing != listing:
            # A dropped database lives until its last reader is done; closing it here would close the readers' connections.
            _databases.pop(files.root, None)
            while len(_databases) >= MAX_KEPT:
                _databases.pop(next(iter(_databases)))
            many = len(snapshot.rows) >= MANY_FILES and sum(file.n_rows for file in snapshot.rows) <= MOST_COPIED
            _databases[files.root] = Kept(listing, connect_to(files, snapshot), many)
        return _databases[files.root]


def _copy_cells(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the view `cells` read a copy in memory. One thread makes it: for many small files, two take longer and more memory."""
    threads = connection.execute("SELECT current_setting('threads')").fetchone()
    assert threads
    connection.execute("SET threads = 1")
    try:
        connection.execute("CREATE TABLE internal.cells AS FROM cells; CREATE OR REPLACE VIEW cells AS FROM internal.cells")
    finally:
        connection.execute(f"SET threads = {threads[0]}")


def close_kept() -> None:
    """Close all kept databases. The next question opens its database again."""
    with _databases_lock:
        for kept in _databases.values():
            kept.connection.close()
        _databases.clear()


def _leave_to_parent() -> None:
    # A forked child has none of the database's threads: it neither uses nor closes what it inherited.
    global _databases, _databases_lock
    _inherited.append(_databases)
    _databases, _databases_lock = {}, threading.RLock()


_databases: dict[str, Kept] = {}
_databases_lock = threading.RLock()
_inherited: list[object] = []
atexit.register(close_kept)
os.register_at_fork(after_in_child=_leave_to_parent)
