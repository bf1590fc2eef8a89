"""Which cells occur in more than one row, known from hashes of their ids: each file is asked for them once per process.

A hash stands for an id in 8 bytes. Two ids of one hash are possible and harmless: what is found here is only looked at closer.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import duckdb
import numpy as np
from numpy.typing import NDArray

from store.files import Entry, Files
from store.snapshot import LiveFile
from store.sql import literal

Hashes = NDArray[np.uint64]

_hashes: dict[tuple[str, Entry], Hashes] = {}


def by_columns(live: Sequence[LiveFile]) -> Iterator[tuple[LiveFile, ...]]:
    """Files in groups of equal columns, which DuckDB reads in one scan; the groups in order of their first file."""
    first = {columns: i for i, columns in reversed(list(enumerate(file.columns for file in live)))}
    for _, group in groupby(sorted(live, key=lambda file: first[file.columns]), key=lambda file: file.columns):
        yield tuple(group)


def scan(files: Files, group: Sequence[LiveFile]) -> str:
    """SQL for the rows of files of equal columns, with `_file` and `_row` (from 0) to tell them apart."""
    listed = ", ".join(literal(files.address(file.entry)) for file in group)
    rows = f"read_parquet([{listed}], filename='_file', file_row_number=true)"
    return f"(SELECT * EXCLUDE (file_row_number), file_row_number AS _row FROM {rows})"


def hashes(connection: duckdb.DuckDBPyConnection, files: Files, live: Sequence[LiveFile]) -> list[Hashes]:
    """Of every file the hash of each row's cell_id, in the order of its rows. duckdb.Error where a file is gone or damaged."""
    # Apart from what all threads share: another may forget a file that this one still reads.
    found = {file.entry: known for file in live if (known := _hashes.get((files.root, file.entry))) is not None}
    for group in by_columns([file for file in live if file.entry not in found]):
        columns = connection.execute(f"SELECT hash(cell_id) AS hash, _row FROM {scan(files, group)}").fetchnumpy()
        sizes = [file.n_rows for file in group]
        if len(columns["_row"]) != sum(sizes) or not np.array_equal(
            columns["_row"], np.concatenate([np.arange(n) for n in sizes])
        ):
            raise duckdb.IOException("the rows of a file are not as many as its footer says")
        for file, part in zip(group, np.split(np.asarray(columns["hash"]), np.cumsum(sizes)[:-1]), strict=True):
            found[file.entry] = _hashes[files.root, file.entry] = part.copy()  # not a view that keeps the whole
    return [found[file.entry] for file in live]


def holding(found: Sequence[Hashes], wanted: Hashes) -> list[int]:
    """The numbers of the files in which one of these hashes occurs."""
    file_of = np.repeat(np.arange(len(found)), [len(part) for part in found])
    return np.unique(file_of[np.isin(_laid(found), wanted)]).tolist()


def forget_others(files: Files, live: Sequence[LiveFile]) -> None:
    """Let go of the hashes of files that are no longer read."""
    entries = {file.entry for file in live}
    for root, entry in list(_hashes):
        if root == files.root and entry not in entries:
            _hashes.pop((root, entry), None)


def repeated(found: Sequence[Hashes]) -> tuple[Hashes, list[int]]:
    """The hashes that occur more than once, and the numbers of the files in which they do."""
    ordered = np.sort(_laid(found))
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return twice, holding(found, twice) if len(twice) else []


def _laid(found: Sequence[Hashes]) -> Hashes:
    """Those of all files, one file after the other."""
    return np.concatenate(found) if found else np.empty(0, np.uint64)
