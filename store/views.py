"""DuckDB views over a results directory: `cells`, `curves`, `neurons`, `plans`, and nothing that was not committed.

A connection sees the files of the moment it was made; connect again to see more. One row a cell, whatever lies in the files.
"""

import atexit
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import compress
from typing import Any, NamedTuple, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from store.distinct import by_columns, forget_others, hashes, holding, repeated, scan
from store.files import Entry, Files, open_files
from store.schema import CURVES, HELD, NEURONS, PLAN_SCHEMA, SCHEMA, STATUSES
from store.snapshot import FOLDERS, LiveFile, Snapshot, condemn, take, verify
from store.weights import WEIGHTS

VIEWS = {
    "cells": "one row a cell: its grid keys, measures, status and origin",
    "curves": "one row an evaluation of a cell",
    "neurons": "one row a hidden neuron of a cell whose grid saves neurons",
    "plans": "which cells each sweep asked for",
}
"""Names that others rely on, and what they hold."""

_RANK = "CASE status " + " ".join(f"WHEN '{name}' THEN {i}" for i, name in enumerate(STATUSES)) + f" ELSE {len(STATUSES)} END"
_LAST = "finished_at DESC NULLS LAST, pack_id, _file, _row"
_KEEPS = "weights_file IS NOT NULL DESC"
BEST = f"{_RANK}, holds_neurons DESC, holds_curves DESC, {_KEEPS}, {_LAST}"
"""Order among the rows of one cell: the first is the cell's. Newer wins only where it holds no less."""
BEST_CURVE = f"{_RANK}, holds_curves DESC, holds_neurons DESC, {_KEEPS}, {_LAST}"
"""The same for the curve, should the cell's row hold neurons only."""
BEST_WEIGHTS = f"{_RANK}, {_KEEPS}, holds_neurons DESC, holds_curves DESC, {_LAST}"
"""And for the weights."""
ORDERS = {"best": BEST, "best_curve": BEST_CURVE, "best_weights": BEST_WEIGHTS}
"""By the view in `internal` that shows the first row of each cell. A cell that is compacted keeps all of these rows."""

_SQL = {
    pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.float32(): "REAL", pa.bool_(): "BOOLEAN",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
}  # fmt: skip

_OF_FILES = (
    duckdb.Error,
    duckdb.IOException,
    duckdb.InvalidInputException,
    duckdb.InternalException,
    duckdb.SerializationException,
)
"""Exact types that a missing or damaged file was seen to raise; no wrong name or syntax in a query does."""

_SETTINGS = (
    "SET TimeZone = 'UTC'; SET parquet_metadata_cache = true; SET python_enable_replacements = false; "
    "SET enable_external_file_cache = false; SET enable_progress_bar = false"
)
"""Of every connection. What the system's cache holds is not cached again by DuckDB."""

_NO_GAIN = "partial_aggregate_pushdown"
"""DuckDB 2.0 aggregates both sides of a join by cell before it joins them: 2.5 times slower where each side has a cell once."""

MAX_KEPT = 4
"""Directories of which `run` keeps a database."""
MANY_FILES, MOST_COPIED, ASKED_ONCE = 100, 250_000, 1
"""From so many files on, of up to so many rows, a kept database copies `cells` once it is asked more often than this: 0.6 s and
30 MB for 100,000 cells in packs, whose files would cost each question 0.4 s. Compacted files are as quick where they lie."""

T = TypeVar("T")
Opened = TypeVar("Opened")
Opener = Callable[[Files, Snapshot], duckdb.DuckDBPyConnection]


class Held(NamedTuple):
    """What the store has of a cell."""

    status: str
    extras: frozenset[str]


def connect(results: str | Files) -> duckdb.DuckDBPyConnection:
    """An in-memory connection of its own with the views; a missing directory gives empty ones. Times are UTC."""
    return _again_while_files_change(_files(results), connect_to, lambda connection: connection)


def run(results: str | Files, work: Callable[[duckdb.DuckDBPyConnection], T], opener: Opener | None = None) -> T:
    """Do `work` on the files of this moment, and again where a compaction deleted one meanwhile or one proves damaged.

    `work` must give its result as a whole. Errors of the query itself come out as they are (duckdb.Error).
    Without an opener the database is one that this process keeps for as long as the directory does not change: quick to ask
    again, from any thread, and for reading only. Whoever attaches or sets something takes `connect_to` or `fenced`.
    """

    def close_after(connection: duckdb.DuckDBPyConnection) -> T:
        with connection:
            return work(connection)

    return _again_while_files_change(_files(results), opener or _kept, close_after)


def once(results: str | Files, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    """`run` of a function of a module, done once for as long as the directory does not change. What comes out is shared."""

    def answer(kept: "_Kept") -> Any:
        if work not in kept.answers:
            kept.answers[work] = work(_cursor(kept))
        return kept.answers[work]

    return _again_while_files_change(_files(results), _kept_database, answer)


def of_cells(cell_ids: Iterable[str]) -> Opener:
    """An opener for `run` that reads the files with rows of these cells alone, with the keys that these have: for questions
    about few among many files."""
    ids = list(cell_ids)

    def opener(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
        with duckdb.connect() as connection:
            found = hashes(connection, files, snapshot.rows)
            wanted = connection.execute("SELECT hash(unnest(?::VARCHAR[])) AS hash", [ids]).fetchnumpy()["hash"]
        near = tuple(snapshot.rows[i] for i in holding(found, np.asarray(wanted)))
        return _views_over(files, replace(snapshot, rows=near))

    return opener


def fetch(results: str | Files, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return run(results, lambda connection: connection.execute(sql).fetchall())


def held(results: str | Files) -> dict[str, Held]:
    """Of every cell in the store: its status and which of `curves`, `neurons` and `weights` (whose file is there) it has."""
    files = _files(results)

    def work(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        # Listed after the rows, as they are written before them.
        kept = [entry.path for entry in files.entries(WEIGHTS)]
        connection.register("kept", pa.table({"path": pa.array(kept, pa.string())}))
        return connection.execute(f"""
            SELECT cell_id, status, coalesce(bool_or(holds_curves), false) AS curves,
                coalesce(bool_or(holds_neurons), false) AS neurons,
                coalesce(first(path IS NOT NULL ORDER BY {BEST_WEIGHTS}) FILTER (weights_file IS NOT NULL), false) AS weights
            FROM internal.rows LEFT JOIN kept ON weights_file = path
            GROUP BY cell_id, status QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {_RANK}) = 1""").fetchnumpy()

    names = ("curves", "neurons", "weights")

    @cache  # a million cells share a few of these
    def what(status: str, *has: object) -> Held:
        return Held(status, frozenset(compress(names, has)))

    cell_ids, *columns = run(files, work, opener=rows_of).values()
    return dict(zip(cell_ids.tolist(), map(what, *(column.tolist() for column in columns)), strict=True))


def _files(results: str | Files) -> Files:
    return open_files(results) if isinstance(results, str) else results


def _again_while_files_change(files: Files, opener: Callable[[Files, Snapshot], Opened], work: Callable[[Opened], T]) -> T:
    while True:
        snapshot = take(files)
        try:
            return work(opener(files, snapshot))
        except FileNotFoundError:
            continue  # gone before its local copy was made
        except duckdb.Error as error:
            # Every round finds a file gone or leaves a damaged one out, so this ends.
            missing = type(error) in (*_OF_FILES, duckdb.PermissionException) and _gone(files, snapshot)
            if not missing and not (type(error) in _OF_FILES and _damaged(files, snapshot)):
                raise


def _gone(files: Files, snapshot: Snapshot) -> bool:
    """Whether files were deleted. Behind a fence a missing file is a directory to look into, which is forbidden."""
    entries = {file.entry for file in (*snapshot.rows, *snapshot.plans)}
    return bool(entries - {entry for folder in FOLDERS for entry in files.entries(folder)})


def _damaged(files: Files, snapshot: Snapshot) -> bool:
    """Whether files are damaged, or gone after all: the damaged ones are left out from now on."""
    changed = False
    for entry in {file.entry for file in (*snapshot.rows, *snapshot.plans)}:
        try:
            problem = verify(files, entry)
        except FileNotFoundError:
            return True
        if problem:
            condemn(files, entry, problem)
            changed = True
    return changed


def _kept(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    """A connection of the calling thread to the database that this process keeps of the directory."""
    with _databases_lock:
        kept = _kept_database(files, snapshot)
        if kept.is_to_copy and kept.n_asked >= ASKED_ONCE:
            _copy_cells(kept.connection)
            kept.is_to_copy = False
        kept.n_asked += 1
        return _cursor(kept)


def _cursor(kept: "_Kept") -> duckdb.DuckDBPyConnection:
    connection = kept.connection.cursor()
    connection.execute(_SETTINGS)  # they are a connection's, not the database's
    return connection


def _kept_database(files: Files, snapshot: Snapshot) -> "_Kept":
    """The database that this process keeps of the directory, made anew if that changed."""
    listing = tuple(file.entry for file in (*snapshot.rows, *snapshot.plans))
    with _databases_lock:
        if files.root not in _databases or _databases[files.root].listing != listing:
            # One that is let go lives until its last reader is done; closing it would close the readers' connections.
            _databases.pop(files.root, None)
            while len(_databases) >= MAX_KEPT:
                _databases.pop(next(iter(_databases)))
            many = len(snapshot.rows) >= MANY_FILES and sum(file.n_rows for file in snapshot.rows) <= MOST_COPIED
            _databases[files.root] = _Kept(listing, connect_to(files, snapshot), many)
        return _databases[files.root]


def _copy_cells(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the view `cells` read a copy in memory. On one thread: of many small files two take longer, and hundreds of MB."""
    threads = connection.execute("SELECT current_setting('threads')").fetchone()
    assert threads
    connection.execute("SET threads = 1")
    try:
        connection.execute("CREATE TABLE internal.cells AS FROM cells; CREATE OR REPLACE VIEW cells AS FROM internal.cells")
    finally:
        connection.execute(f"SET threads = {threads[0]}")


def close_kept() -> None:
    """Close the databases that `run` keeps; the next call opens them again."""
    with _databases_lock:
        for kept in _databases.values():
            kept.connection.close()
        _databases.clear()


def _leave_to_parent() -> None:
    # A forked child has none of the database's threads: it neither uses nor closes what it inherited.
    global _databases, _databases_lock
    _inherited.append(_databases)
    _databases, _databases_lock = {}, threading.RLock()


@dataclass
class _Kept:
    """A database of a directory as it was listed."""

    listing: tuple[Entry, ...]
    connection: duckdb.DuckDBPyConnection
    is_to_copy: bool
    """Whether `cells` is still to be copied, which who asks but once does not wait for."""
    n_asked: int = 0
    answers: dict[Callable[..., Any], Any] = field(default_factory=dict)
    """What `once` has found."""


_databases: dict[str, _Kept] = {}
_databases_lock = threading.RLock()
_inherited: list[object] = []
atexit.register(close_kept)
os.register_at_fork(after_in_child=_leave_to_parent)


def rows_of(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    """A database with no views but `internal.rows`: all rows of the files, a cell perhaps in several, with _file and _row."""
    connection = duckdb.connect()
    connection.execute(f"{_SETTINGS}; CREATE SCHEMA internal")
    if connection.execute("FROM duckdb_optimizers() WHERE name = ?", [_NO_GAIN]).fetchall():
        connection.execute(f"SET disabled_optimizers = '{_NO_GAIN}'")  # of the database, for all its connections
    for name, schema in (("rows", SCHEMA), ("plans", PLAN_SCHEMA)):
        columns = ", ".join(f'"{field.name}" {_sql(field.type)}' for field in schema)
        connection.execute(f"CREATE TABLE internal.no_{name} ({columns}, _file VARCHAR, _row BIGINT)")
    _union(connection, "rows", "rows", [scan(files, group) for group in by_columns(snapshot.rows)])
    return connection


def connect_to(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    """The views over these files and no others."""
    forget_others(files, (*snapshot.rows, *snapshot.plans))
    return _views_over(files, snapshot)


def _views_over(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    connection = rows_of(files, snapshot)
    _hide(connection, files, snapshot.rows)
    lists = ", ".join([*CURVES, *NEURONS, *HELD, "weights_file", "_file", "_row"])
    # finished_at as a plain timestamp: fetching one with a time zone needs pytz, which DuckDB does not bring.
    connection.execute(f"""
        CREATE VIEW cells AS
            SELECT * EXCLUDE ({lists}) REPLACE (finished_at AT TIME ZONE 'UTC' AS finished_at) FROM internal.best;
        CREATE VIEW curves AS
            SELECT cell_id, unnest(curve_step) AS step, unnest(curve_train_loss) AS train_loss,
                   unnest(curve_train_acc) AS train_acc, unnest(curve_test_acc) AS test_acc
            FROM internal.best_curve;
        CREATE VIEW neurons AS
            SELECT cell_id, unnest(range(len(neuron_readout))) AS neuron, unnest(neuron_readout) AS readout,
                   unnest(neuron_alignment) AS alignment
            FROM internal.best;
        CREATE VIEW internal.weights AS
            SELECT cell_id, weights_file FROM internal.best_weights WHERE weights_file IS NOT NULL;
        CREATE VIEW plans AS {_plans(connection, files, snapshot.plans)};
    """)
    return connection


def locked(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    """The same, whose settings cannot be changed: else a query could have DuckDB log or profile into a file of its choice."""
    connection = connect_to(files, snapshot)
    connection.execute("SET lock_configuration = true")
    return connection


def fenced(files: Files, snapshot: Snapshot, memory_gb: float = 1.0, threads: int = 2) -> duckdb.DuckDBPyConnection:
    """The same for SQL of strangers: nothing but these files can be opened, no setting changed, nothing spilled to disk.

    It does not refuse to write to these very files: let no statement through that writes.
    """
    connection = connect_to(files, snapshot)
    live = [files.address(file.entry) for file in (*snapshot.rows, *snapshot.plans)]
    connection.execute("SET allowed_paths = [" + ", ".join("'" + path.replace("'", "''") + "'" for path in live) + "]")
    connection.execute(f"""
        SET threads = {threads}; SET memory_limit = '{memory_gb}GB'; SET temp_directory = '';
        SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
        SET allow_community_extensions = false; SET enable_external_access = false; SET lock_configuration = true""")
    return connection


def _hide(connection: duckdb.DuckDBPyConnection, files: Files, live: Sequence[LiveFile]) -> None:
    """The views of ORDERS in `internal`: of each cell the row that `cells`, that `curves` and that `internal.weights` shows.

    Choosing costs a window over ids and ranks. So it is done once, and only for cells that have several rows; files without
    a row to hide are then read as they are, the others less what `internal.hidden` lists.
    """
    twice, where = repeated(hashes(connection, files, live))
    if where:
        scans = [scan(files, group) for group in by_columns([live[i] for i in where])]
        _union(connection, "several", "rows", scans)
        connection.register("twice", pa.table({"hash": twice}))
        later = [f"row_number() OVER (PARTITION BY cell_id ORDER BY {order}) > 1 AS {name}" for name, order in ORDERS.items()]
        connection.execute(f"""
            CREATE TABLE internal.hidden AS FROM (
                SELECT _file, _row, {", ".join(later)}
                FROM internal.several WHERE hash(cell_id) IN (SELECT hash FROM twice))
            WHERE {" OR ".join(ORDERS)}""")
        connection.unregister("twice")
    for name in ORDERS:
        found = connection.execute(f"SELECT DISTINCT _file FROM internal.hidden WHERE {name}").fetchall() if where else []
        if not found:
            connection.execute(f"CREATE VIEW internal.{name} AS FROM internal.rows")
            continue
        partly = {path for (path,) in found}
        scans = []
        for group in by_columns(live):
            clean = [file for file in group if files.address(file.entry) not in partly]
            rest = [file for file in group if files.address(file.entry) in partly]
            scans += [scan(files, clean)] if clean else []
            hidden = f"(SELECT _file, _row FROM internal.hidden WHERE {name})"
            scans += [f"({scan(files, rest)} ANTI JOIN {hidden} USING (_file, _row))"] if rest else []
        _union(connection, name, "rows", scans)


def _plans(connection: duckdb.DuckDBPyConnection, files: Files, live: Sequence[LiveFile]) -> str:
    """SQL for what each sweep's last whole grid and the requests since ask for, each cell once."""
    live = [file for file in live if file.n_rows]
    if not all(file.request for file in live):  # not as write_plan writes them
        _union(connection, "plans", "plans", [scan(files, group) for group in by_columns(live)])
        return """SELECT DISTINCT sweep, cell_id FROM (
            SELECT * FROM internal.plans
            QUALIFY planned_at >= coalesce(max(planned_at) FILTER (whole) OVER (PARTITION BY sweep), planned_at))"""
    sweeps: dict[str, list[LiveFile]] = {}
    since: dict[str, int] = {}
    for file in live:
        assert file.request
        sweep, planned_at, whole = file.request
        sweeps.setdefault(sweep, []).append(file)
        if whole:
            since[sweep] = max(planned_at, since.get(sweep, planned_at))
    once: list[LiveFile] = []
    several: list[LiveFile] = []
    for sweep, requests in sweeps.items():
        asked = [
            file for file in requests if file.request and file.request.planned_at >= since.get(sweep, file.request.planned_at)
        ]
        (several if repeated(hashes(connection, files, asked))[1] else once).extend(asked)
    parts = ["SELECT sweep, cell_id FROM internal.no_plans"]
    parts += [f"SELECT sweep, cell_id FROM {scan(files, group)}" for group in by_columns(once)]
    parts += [f"SELECT DISTINCT sweep, cell_id FROM {scan(files, group)}" for group in by_columns(several)]
    return " UNION ALL ".join(parts)


def _union(connection: duckdb.DuckDBPyConnection, name: str, kind: str, scans: Sequence[str]) -> None:
    """View internal.<name> over the scans, with the columns of the schema in any case."""
    united = " UNION ALL BY NAME ".join(f"SELECT * FROM {part}" for part in (f"internal.no_{kind}", *scans))
    connection.execute(f"CREATE VIEW internal.{name} AS {united}")


def _sql(kind: pa.DataType) -> str:
    return f"{_sql(kind.value_type)}[]" if pa.types.is_list(kind) else _SQL[kind]
