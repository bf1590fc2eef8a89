"""DuckDB views over a results directory: `cells`, `curves`, `neurons`, `plans`, and nothing that was not committed.

A connection sees the files of the moment it was made; connect again to see more. What is asked here is asked again where files
change meanwhile.
"""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import compress
from typing import Any, NamedTuple, TypeVar

import duckdb
import pyarrow as pa

from declarations.column import Column
from store.columns import read_declaration
from store.database import BEST, BEST_WEIGHTS, RANK, Opener, connect_to, rows_of
from store.files import Files, open_files
from store.kept import Kept, kept_connection, kept_database
from store.schema import DECLARED
from store.snapshot import FOLDERS, Snapshot, condemn, declarations, take, verify
from store.weights import WEIGHTS

VIEWS = {
    "cells": "one row a cell: its grid keys, measures, status and origin",
    "curves": "one row an evaluation of a cell",
    "neurons": "one row a hidden neuron of a cell whose grid saves neurons",
    "plans": "which cells each sweep asked for",
}
"""Names that others rely on, and what they hold."""

_OF_FILES = (
    duckdb.Error,
    duckdb.IOException,
    duckdb.InvalidInputException,
    duckdb.InternalException,
    duckdb.SerializationException,
)
"""Exact types that a missing or damaged file was seen to raise; no wrong name or syntax in a query does."""

T = TypeVar("T")
Opened = TypeVar("Opened")


class Held(NamedTuple):
    """What the store has of a cell."""

    status: str
    extras: frozenset[str]


Statuses = Mapping[str, Held]
"""By id, every stored cell: its status and what the store holds of it beside its summary."""


def connect(results: str | Files) -> duckdb.DuckDBPyConnection:
    """An in-memory connection of its own with the views; a missing directory gives empty ones. Times are UTC."""
    return _again_while_files_change(_files(results), connect_to, lambda connection: connection)


def run(results: str | Files, work: Callable[[duckdb.DuckDBPyConnection], T], opener: Opener | None = None) -> T:
    """Do `work` on the files of this moment, and again where a compaction deleted one meanwhile or one proves damaged.

    `work` must give its result as a whole. Errors of the query itself come out as they are (duckdb.Error).
    Without an opener the database is one that this process keeps for as long as the directory does not change: quick to ask
    again, from any thread, and for reading only. Whoever attaches or sets something takes an opener of `store.database`.
    """

    def close_after(connection: duckdb.DuckDBPyConnection) -> T:
        with connection:
            return work(connection)

    return _again_while_files_change(_files(results), opener or kept_connection, close_after)


def once(results: str | Files, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    """`run` of a function of a module, done once for as long as the directory does not change. What comes out is shared."""

    def answer(kept: Kept) -> Any:
        if work not in kept.answers:
            kept.answers[work] = work(kept.cursor())
        return kept.answers[work]

    return _again_while_files_change(_files(results), kept_database, answer)


def fetch(results: str | Files, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return run(results, lambda connection: connection.execute(sql).fetchall())


def declared(results: str | Files) -> dict[str, Column]:
    """By name, the declarations of all columns: those of the ground floor, and those that the files have beside."""
    return declarations(take(_files(results)).rows)


def declared_in(connection: duckdb.DuckDBPyConnection) -> dict[str, Column]:
    """The same of the files behind a connection with the views."""
    told = connection.execute("SELECT name, declaration FROM internal.declarations").fetchall()
    return {name: read_declaration(name, declaration) for name, declaration in told} | DECLARED


_APART = "\n"
"""Between the metrics that a row has."""


def held(results: str | Files) -> dict[str, Held]:
    """Status and extras of every cell in the store.

    Extras are those of `curves`, `neurons` and `weights` (whose file is there) that it has, and the metrics measured on request
    that `cells` shows.
    """
    files = _files(results)

    def work(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        # Listed after the rows, as they are written before them.
        kept = [entry.path for entry in files.entries(WEIGHTS)]
        connection.register("kept", pa.table({"path": pa.array(kept, pa.string())}))
        return connection.execute(f"""
            SELECT cell_id, status, coalesce(bool_or(holds_curves), false) AS curves,
                coalesce(bool_or(holds_neurons), false) AS neurons,
                coalesce(first(path IS NOT NULL ORDER BY {BEST_WEIGHTS}) FILTER (weights_file IS NOT NULL), false) AS weights,
                coalesce(first(array_to_string(measured, '{_APART}') ORDER BY {BEST}) FILTER (len(measured) > 0), '') AS measured
            FROM internal.rows LEFT JOIN kept ON weights_file = path
            GROUP BY cell_id, status QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {RANK}) = 1""").fetchnumpy()

    @cache  # a million cells share a few of these
    def what(status: str, curves: bool, neurons: bool, weights: bool, measured: str) -> Held:
        has = (*compress(("curves", "neurons", "weights"), (curves, neurons, weights)), *filter(None, measured.split(_APART)))
        return Held(status, frozenset(has))

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
