"""Hidden weights and example inputs of networks: large arrays, one file per cell next to the packs, named in the cell's row.

The file is written before the pack is committed. If the sweep is killed in between, a file is left that no row names: it is
stale, and harmless. Like all others, the files are Parquet. They have one row per picture, and a name made of cell and content.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sweepkit.store.files import Entry, Files, ResultsError, Unreadable, side_by_side
from sweepkit.store.files.base import WEIGHTS
from sweepkit.store.schema import parquet_bytes
from sweepkit.store.snapshot import named, verify

PICTURES = pa.schema({
    "kind": pa.string(), "neuron": pa.int64(), "readout": pa.float32(), "same": pa.bool_(), "rulings": pa.int64(),
    "shape": pa.list_(pa.int64()), "pixels": pa.list_(pa.float32()),
})  # fmt: skip
"""The columns of a file. `kind`: weights (of `neuron`, with its `readout`) or example (with its label `same`). `pixels`: an array
of `shape`, row by row. `rulings`: pixels between lines that help the eye, NULL for none."""

_KINDS = ("weights", "example")
_NAME = re.compile(rf"{WEIGHTS}/[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{{12}}\.parquet")


def write_pictures(files: Files, cell_id: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Write a network's pictures, rows of PICTURES, durably. Returns the row's `weights_file`. A second call changes nothing."""
    data = parquet_bytes(pa.Table.from_pylist([dict(row) for row in rows], schema=PICTURES))
    path = named(WEIGHTS, cell_id, data)
    files.write(path, data)
    return path


def read_pictures(files: Files, path: str) -> list[dict[str, Any]]:
    """The pictures that were written, with `pixels` as an array of its shape. ResultsError if the file is gone or damaged."""
    try:
        if problem := _problem(files, path):
            raise ResultsError(
                f"the weights in {files.root}/{path} cannot be read: {problem}; delete what is left of the file and {_AGAIN}"
            )
        rows = _table(files, path).to_pylist()
    except FileNotFoundError:
        raise ResultsError(f"the weights in {files.root}/{path} are gone; {_AGAIN}") from None
    return [{**row, "pixels": np.array(row["pixels"], np.float32).reshape(row["shape"])} for row in rows]


_AGAIN = "run the sweep again: it trains the network"


def check_pictures(
    files: Files,
    entries: Sequence[Entry],
    named_by_rows: set[str],
    unread: dict[str, str],
    seen: Callable[[int], None] = lambda done: None,
) -> dict[str, str]:
    """The problems by path: of these files, and of missing files that rows name. `seen` is told how many files are done.
    `unread` gets those that cannot be read, with the reason."""
    bad = {path: "missing: a row of results names it" for path in named_by_rows - {entry.path for entry in entries}}

    def problem_of(entry: Entry) -> str | None:
        try:
            return _problem(files, entry.path)
        except FileNotFoundError:
            return None  # removed meanwhile
        except Unreadable as error:
            unread[entry.path] = error.reason
            return None

    for i, (entry, problem) in enumerate(zip(entries, side_by_side(files, problem_of, entries), strict=True)):
        seen(i)
        if problem:
            bad[entry.path] = problem
    return bad


def _table(files: Files, path: str) -> pa.Table:
    return pq.ParquetFile(pa.BufferReader(files.read(path))).read()


def _problem(files: Files, path: str) -> str | None:
    """The problem with a file, or None. FileNotFoundError if the file is gone."""
    if not _NAME.fullmatch(path):
        return "foreign: its name is not that of a weights file"
    if problem := verify(files, Entry(path, 0, 0.0)):
        return problem
    table = _table(files, path)
    if table.schema.remove_metadata() != PICTURES:
        return "foreign: its columns are not those of a weights file"
    sizes = zip(table["shape"].to_pylist(), pc.list_value_length(table["pixels"]).to_pylist(), strict=True)
    if not all(kind in _KINDS for kind in table["kind"].to_pylist()) or not all(s and np.prod(s) == n for s, n in sizes):
        return "foreign: its arrays do not have the shape that it says"
    return None
