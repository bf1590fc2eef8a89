"""DuckDB views over a results directory: `cells`, `curves`, `neurons`, `spectra`, `outputs`, `plans`, `sweeps`. They show
committed rows only.

A connection sees the files of the moment when it was made; connect again to see more. `run` and its callers ask again if files
change meanwhile.
"""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import compress
from typing import Any, NamedTuple, TypeVar

import duckdb
import pyarrow as pa

from sweepkit.declarations.columns import Column
from sweepkit.declarations.metrics import LISTS
from sweepkit.store.columns import read_declaration
from sweepkit.store.connections import Kept, kept_connection, kept_database
from sweepkit.store.database import BEST, BEST_WEIGHTS, RANK, Opener, connect_to, rows_of
from sweepkit.store.files import Files, open_files
from sweepkit.store.files.base import FOLDERS, WEIGHTS
from sweepkit.store.schema import DECLARED
from sweepkit.store.snapshot import FileDamaged, Snapshot, Turns, condemn, declarations, take, verify

VIEWS = {
    "cells": "one row per cell: its grid keys, measures, status and origin",
    "curves": "one row per evaluation of a cell",
    "neurons": "one row per hidden neuron of a cell whose grid saves neurons",
    "spectra": "one row per eigenfunction of the features' kernel, of a cell whose grid saves richness",
    "outputs": "one row per test example of a cell whose grid saves output",
    "plans": "the cells that each sweep asked for",
    "sweeps": "one row per sweep: its size, note and tags, and the text of its grid",
}
"""The views that others rely on, and what each holds."""

_OF_FILES = (
    duckdb.Error,
    duckdb.IOException,
    duckdb.InvalidInputException,
    duckdb.InternalException,
    duckdb.SerializationException,
)
"""The exact types of error that a missing or damaged file was seen to raise. No wrong name or syntax in a query raises them."""

T = TypeVar("T")
Opened = TypeVar("Opened")


class Held(NamedTuple):
    """The status of a stored cell, and what the store holds of it besides its summary."""

    status: str
    extras: frozenset[str]


Statuses = Mapping[str, Held]
"""The status and the extras of every stored cell, by id."""


def connect(results: str | Files) -> duckdb.DuckDBPyConnection:
    """A new in-memory connection with the views. A missing directory gives empty views. Times are UTC."""
    return again_while_files_change(_files(results), connect_to, lambda connection: connection)


def run(results: str | Files, work: Callable[[duckdb.DuckDBPyConnection], T], opener: Opener | None = None) -> T:
    """Do `work` on the present files. Do it again if a compaction deletes one meanwhile or if one proves damaged.

    `work` must return its whole result. Errors of the query itself are raised unchanged (duckdb.Error).
    Without an opener, `work` gets the database that this process keeps for as long as the directory does not change: quick to ask
    again, from any thread, and for reading only. To attach a database or to change a setting, pass an opener of `database`.
    """

    def close_after(connection: duckdb.DuckDBPyConnection) -> T:
        with connection:
            return work(connection)

    return again_while_files_change(_files(results), opener or kept_connection, close_after)


def once(results: str | Files, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    """Run `work`, a function of a module, once for as long as the directory does not change. All callers share the result."""

    def answer(kept: Kept) -> Any:
        if work not in kept.answers:
            kept.answers[work] = work(kept.cursor())
        return kept.answers[work]

    return again_while_files_change(_files(results), kept_database, answer)


def fetch(results: str | Files, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return run(results, lambda connection: connection.execute(sql).fetchall())


def declared(results: str | Files) -> dict[str, Column]:
    """The declarations of all columns, by name: those of the package `declarations`, and the further ones of the files."""
    return declarations(take(_files(results)).rows)


def never_whole(results: str | Files) -> frozenset[str]:
    """The sweeps whose grid was never asked for as a whole: each request had `--only`, `--limit` or other values."""
    return frozenset(sweep for (sweep,) in fetch(results, "SELECT sweep FROM internal.never_whole"))


def declared_in(connection: duckdb.DuckDBPyConnection) -> dict[str, Column]:
    """The declarations of all columns, by name, from a connection with the views."""
    told = connection.execute("SELECT name, declaration FROM internal.declarations").fetchall()
    return {name: read_declaration(name, declaration) for name, declaration in told} | DECLARED


_APART = "\n"
"""The separator between the metrics of a row."""


def held(results: str | Files) -> dict[str, Held]:
    """The status and the extras of every stored cell, by id.

    Extras name those of `curves`, `neurons` and `weights` that the cell has (`weights` only if the file is there), and the
    metrics on request that `cells` shows.
    """
    files = _files(results)

    def work(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        # Weights are listed after the snapshot of the rows, because they are written before their rows.
        kept = [entry.path for entry in files.entries(WEIGHTS)]
        connection.register("kept", pa.table({"path": pa.array(kept, pa.string())}))
        return connection.execute(f"""
            SELECT cell_id, status, coalesce(bool_or(holds_curves), false) AS curves,
                coalesce(bool_or(holds_neurons), false) AS neurons,
                coalesce(first(path IS NOT NULL ORDER BY {BEST_WEIGHTS}) FILTER (weights_file IS NOT NULL), false) AS weights,
                coalesce(first(array_to_string(measured, '{_APART}') ORDER BY {BEST}) FILTER (len(measured) > 0), '') AS measured
            FROM internal.rows LEFT JOIN kept ON weights_file = path
            GROUP BY cell_id, status QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {RANK}) = 1""").fetchnumpy()

    @cache  # a million cells share a few such values
    def what(status: str, curves: bool, neurons: bool, weights: bool, measured: str) -> Held:
        has = (*compress(LISTS, (curves, neurons, weights)), *filter(None, measured.split(_APART)))
        return Held(status, frozenset(has))

    cell_ids, *columns = run(files, work, opener=rows_of).values()
    return dict(zip(cell_ids.tolist(), map(what, *(column.tolist() for column in columns)), strict=True))


def _files(results: str | Files) -> Files:
    return open_files(results) if isinstance(results, str) else results


def again_while_files_change(files: Files, opener: Callable[[Files, Snapshot], Opened], work: Callable[[Opened], T]) -> T:
    """Do `work` on what `opener` makes of the present files, again if a file of them is deleted meanwhile or proves damaged."""
    turns = Turns(files)
    while True:
        snapshot = take(files)
        try:
            return work(opener(files, snapshot))
        except FileDamaged:
            continue  # it is left out now
        except FileNotFoundError as error:  # gone before its local copy was made
            turns.wait(error)
        except duckdb.Error as error:
            # Every round finds a file gone or leaves a damaged one out, so this ends.
            missing = type(error) in (*_OF_FILES, duckdb.PermissionException) and _gone(files, snapshot)
            if not missing and not (type(error) in _OF_FILES and _damaged(files, snapshot)):
                raise
            turns.wait(error)


def _gone(files: Files, snapshot: Snapshot) -> bool:
    """True if files were deleted since the snapshot. A fenced connection reports a missing file as a forbidden directory."""
    entries = {file.entry for file in (*snapshot.rows, *snapshot.plans)}
    return bool(entries - {entry for folder in FOLDERS for entry in files.entries(folder)})


def _damaged(files: Files, snapshot: Snapshot) -> bool:
    """Whether files are damaged, or gone after all. Damaged files are left out from now on."""
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
