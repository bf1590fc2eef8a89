"""DuckDB views over a results directory: `cells`, `curves`, `neurons`, `plans`, and nothing that was not committed.

A connection sees the files of the moment it was made; connect again to see more. One row a cell, whatever lies in the files.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import duckdb
import pyarrow as pa

from store.files import Files, open_files
from store.schema import CURVES, HELD, NEURONS, PLAN_SCHEMA, SCHEMA, STATUSES
from store.snapshot import FOLDERS, LiveFile, Snapshot, condemn, take, verify

VIEWS = {
    "cells": "one row a cell: its grid keys, measures, status and origin",
    "curves": "one row an evaluation of a cell",
    "neurons": "one row a hidden neuron of a cell whose grid saves neurons",
    "plans": "which cells each sweep asked for",
}
"""Names that others rely on, and what they hold."""

_RANK = "CASE status " + " ".join(f"WHEN '{name}' THEN {i}" for i, name in enumerate(STATUSES)) + f" ELSE {len(STATUSES)} END"
_LAST = "finished_at DESC NULLS LAST, pack_id, _file, _row"
BEST = f"{_RANK}, holds_neurons DESC, holds_curves DESC, {_LAST}"
"""Order among the rows of one cell: the first is the cell's. Newer wins only where it holds no less."""
BEST_CURVE = f"{_RANK}, holds_curves DESC, holds_neurons DESC, {_LAST}"
"""The same for the curve, should the cell's row hold neurons only."""

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

T = TypeVar("T")


class Held(NamedTuple):
    """What the store has of a cell."""

    status: str
    extras: frozenset[str]


def connect(results: str | Files) -> duckdb.DuckDBPyConnection:
    """An in-memory connection with the views; a missing directory gives empty ones. Times are UTC."""
    files = open_files(results) if isinstance(results, str) else results
    return connect_to(files, take(files))


def run(results: str | Files, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    """Do `work` on a fresh connection, and again where a compaction deleted a file meanwhile or one proves damaged.

    `work` must give its result as a whole. Errors of the query itself come out as they are (duckdb.Error).
    """
    files = open_files(results) if isinstance(results, str) else results
    while True:
        snapshot = take(files)
        try:
            with connect_to(files, snapshot) as connection:
                return work(connection)
        except duckdb.Error as error:
            # Every round finds a file gone or leaves a damaged one out, so this ends.
            if not (type(error) in _OF_FILES and _changed(files, snapshot)):
                raise


def fetch(results: str | Files, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return run(results, lambda connection: connection.execute(sql).fetchall())


def held(results: str | Files) -> dict[str, Held]:
    """Of every cell in the store: its status and which of `curves` and `neurons` it has."""
    rows = fetch(
        results,
        f"""SELECT cell_id, status, bool_or(holds_curves), bool_or(holds_neurons) FROM internal.rows
            GROUP BY cell_id, status QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {_RANK}) = 1""",
    )
    extras = {(c, n): frozenset(["curves"] * c + ["neurons"] * n) for c in (False, True) for n in (False, True)}
    return {cell_id: Held(status, extras[bool(curves), bool(neurons)]) for cell_id, status, curves, neurons in rows}


def _changed(files: Files, snapshot: Snapshot) -> bool:
    """Whether files are gone, or else damaged: those are left out from now on."""
    entries = {file.entry for file in (*snapshot.rows, *snapshot.plans)}
    if entries - {entry for folder in FOLDERS for entry in files.entries(folder)}:
        return True
    changed = False
    for entry in entries:
        try:
            problem = verify(files, entry)
        except FileNotFoundError:
            return True
        if problem:
            condemn(files, entry, problem)
            changed = True
    return changed


def connect_to(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    """The views over these files and no others."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'; SET parquet_metadata_cache = true; SET python_enable_replacements = false")
    connection.execute("CREATE SCHEMA internal")
    _union(connection, files, "rows", SCHEMA, snapshot.rows)
    _union(connection, files, "plans", PLAN_SCHEMA, snapshot.plans)
    lists = ", ".join([*CURVES, *NEURONS, *HELD, "_file", "_row"])
    # finished_at as a plain timestamp: fetching one with a time zone needs pytz, which DuckDB does not bring.
    connection.execute(f"""
        CREATE VIEW cells AS
            SELECT * EXCLUDE ({lists}) REPLACE (finished_at AT TIME ZONE 'UTC' AS finished_at) FROM internal.rows
            QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {BEST}) = 1;
        CREATE VIEW curves AS
            SELECT cell_id, unnest(curve_step) AS step, unnest(curve_train_loss) AS train_loss,
                   unnest(curve_train_acc) AS train_acc, unnest(curve_test_acc) AS test_acc
            FROM internal.rows WHERE (_file, _row) IN ({_best(BEST_CURVE)});
        CREATE VIEW neurons AS
            SELECT cell_id, unnest(range(len(neuron_readout))) AS neuron, unnest(neuron_readout) AS readout,
                   unnest(neuron_alignment) AS alignment
            FROM internal.rows WHERE (_file, _row) IN ({_best(BEST)});
        CREATE VIEW plans AS
            SELECT DISTINCT sweep, cell_id FROM (
                SELECT * FROM internal.plans
                QUALIFY planned_at >= coalesce(max(planned_at) FILTER (whole) OVER (PARTITION BY sweep), planned_at));
    """)
    return connection


def _best(order: str) -> str:
    # The winners are found on small columns first: a window over the rows themselves would carry all lists with it.
    return f"SELECT (_file, _row) FROM internal.rows QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {order}) = 1"


def _union(connection: duckdb.DuckDBPyConnection, files: Files, name: str, schema: pa.Schema, live: Iterable[LiveFile]) -> None:
    """View internal.<name> over the files; those of equal columns in one scan, which then opens only the first to plan."""
    columns = ", ".join(f'"{field.name}" {_sql(field.type)}' for field in schema)
    connection.execute(f"CREATE TABLE internal.no_{name} ({columns}, _file VARCHAR, _row BIGINT)")
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for file in live:
        groups.setdefault(file.columns, []).append(files.address(file.entry.path))
    scans = [f"SELECT * FROM internal.no_{name}"]
    for paths in groups.values():
        listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
        scans.append(
            f"SELECT * EXCLUDE (file_row_number), file_row_number AS _row "
            f"FROM read_parquet([{listed}], filename='_file', file_row_number=true)"
        )
    connection.execute(f"CREATE VIEW internal.{name} AS {' UNION ALL BY NAME '.join(scans)}")


def _sql(kind: pa.DataType) -> str:
    return f"{_sql(kind.value_type)}[]" if pa.types.is_list(kind) else _SQL[kind]
