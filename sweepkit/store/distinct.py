"""Finds cells that occur in more than one row, by hashes of their ids. Each file is read for its hashes once per process.

A hash stands for an id in 8 bytes. Two ids may have the same hash: the rows found are looked at more closely anyway.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import duckdb
import numpy as np
from numpy.typing import NDArray

from sweepkit.store.files import Entry, Files
from sweepkit.store.snapshot import LiveFile
from sweepkit.store.sql import literal

Hashes = NDArray[np.uint64]

_hashes: dict[tuple[str, Entry], Hashes] = {}


def by_columns(live: Sequence[LiveFile]) -> Iterator[tuple[LiveFile, ...]]:
    """Files in groups of equal columns, each of which DuckDB reads in one scan. Groups come in the order of their first file."""
    first = {columns: i for i, columns in reversed(list(enumerate(file.columns for file in live)))}
    for _, group in groupby(sorted(live, key=lambda file: first[file.columns]), key=lambda file: file.columns):
        yield tuple(group)


def scan(files: Files, group: Sequence[LiveFile]) -> str:
    """SQL for the rows of files of equal columns, with `_file` and `_row` (from 0) to tell them apart.

    A folder above the files may be called `L=99`: DuckDB would take that for a column of theirs, in place of the stored one.
    """
    listed = ", ".join(literal(files.address(file.entry)) for file in group)
    rows = f"read_parquet([{listed}], filename='_file', file_row_number=true, hive_partitioning=false)"
    return f"(SELECT * EXCLUDE (file_row_number), file_row_number AS _row FROM {rows})"


def hashes(connection: duckdb.DuckDBPyConnection, files: Files, live: Sequence[LiveFile]) -> list[Hashes]:
    """The hashes of the cell_ids of each file, in the order of its rows. duckdb.Error if a file is gone or damaged."""
    # A dict of this call alone: another thread may drop a file from `_hashes` that this one still reads.
    found = {file.entry: known for file in live if (known := _hashes.get((files.root, file.entry))) is not None}
    for group in by_columns([file for file in live if file.entry not in found]):
        columns = connection.execute(f"SELECT hash(cell_id) AS hash, _row FROM {scan(files, group)}").fetchnumpy()
        sizes = [file.n_rows for file in group]
        if len(columns["_row"]) != sum(sizes) or not np.array_equal(
            columns["_row"], np.concatenate([np.arange(n) for n in sizes])
        ):
            raise duckdb.IOException("a file has more or fewer rows than its footer says")
        for file, part in zip(group, np.split(np.asarray(columns["hash"]), np.cumsum(sizes)[:-1]), strict=True):
            found[file.entry] = _hashes[files.root, file.entry] = part.copy()  # a view would keep the whole array alive
    return [found[file.entry] for file in live]


def holding(found: Sequence[Hashes], wanted: Hashes) -> list[int]:
    """The indices of the files in which one of these hashes occurs."""
    file_of = np.repeat(np.arange(len(found)), [len(part) for part in found])
    return np.unique(file_of[np.isin(_laid(found), wanted)]).tolist()


def forget_others(files: Files, live: Sequence[LiveFile]) -> None:
    """Drop the hashes of files in this directory that are no longer read."""
    entries = {file.entry for file in live}
    for root, entry in list(_hashes):
        if root == files.root and entry not in entries:
            _hashes.pop((root, entry), None)


def repeated(found: Sequence[Hashes]) -> tuple[Hashes, list[int]]:
    """The hashes that occur more than once, and the indices of the files that hold them."""
    ordered = np.sort(_laid(found))
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return twice, holding(found, twice) if len(twice) else []


def _laid(found: Sequence[Hashes]) -> Hashes:
    """The hashes of all files in one array, one file after the other."""
    return np.concatenate(found) if found else np.empty(0, np.uint64)
