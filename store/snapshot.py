"""Which files a reader reads: those that are whole, are ours, and are not yet merged into a compacted one."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from store.files import UNUSABLE, Entry, Files, ResultsError, side_by_side
from store.schema import EXTRA_TYPES, PLAN_SCHEMA, REQUIRED, SCHEMA

PACKS, FAILED, COMPACTED, PLANS, LEASES, LOGS = "packs", "failed", "compacted", "plans", "leases", "logs"
FOLDERS = (PACKS, FAILED, COMPACTED, PLANS)
"""Where files of data lie."""
MOST_ROWS_A_BYTE = 1
"""The id of a cell takes some 10 bytes; a small file of a billion rows is made to fill its readers' memory."""
BESIDE = ("_file", "_row", "file_row_number")
"""Columns that readers add to those of a file, in lower case."""
COVERS = b"covers"
"""Metadata of a compacted file: a JSON list of the files it stands for. Its rename publishes file and list as one."""


class Request(NamedTuple):
    """What all rows of a plan file have in common; `planned_at` in microseconds since 1970."""

    sweep: str
    planned_at: int
    whole: bool


class Inspection(NamedTuple):
    """What the footer of one file says. Files with equal `columns` can be read as one."""

    problem: str | None
    columns: tuple[tuple[str, str], ...] = ()
    n_rows: int = 0
    covers: tuple[str, ...] = ()
    request: Request | None = None


class LiveFile(NamedTuple):
    """A file that readers read. `request` is that of a plan file, None where its rows do not agree."""

    entry: Entry
    columns: tuple[tuple[str, str], ...]
    n_rows: int
    request: Request | None = None


@dataclass(frozen=True)
class Snapshot:
    """The state of a results directory at one moment. `superseded` maps a merged file to a live one that stands for it."""

    rows: tuple[LiveFile, ...]
    plans: tuple[LiveFile, ...]
    superseded: dict[Entry, Entry]
    bad: dict[Entry, str]


_inspected: dict[tuple[str, Entry], Inspection] = {}


def inspect(files: Files, entry: Entry) -> Inspection:
    """Look at the footer once per process. FileNotFoundError when the file is gone."""
    key = (files.root, entry)
    if key not in _inspected:
        _inspected[key] = _inspect(files, entry)
    return _inspected[key]


def condemn(files: Files, entry: Entry, problem: str) -> None:
    """Leave the file out from here on, for a fault that its footer does not show."""
    _inspected[(files.root, entry)] = Inspection(problem)


def _inspect(files: Files, entry: Entry) -> Inspection:
    if UNUSABLE.search(entry.path):
        return Inspection("foreign: no name that this project gives")
    if not entry.path.endswith(".parquet"):
        return Inspection("foreign: not a .parquet file")
    if entry.size == 0:
        return Inspection("empty file")
    try:
        with files.open(entry) as source:
            metadata = pq.read_metadata(source)
        schema = metadata.schema.to_arrow_schema()
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        return Inspection(f"torn or not Parquet: {_first_line(error)}")
    is_plan = entry.path.startswith(f"{PLANS}/")
    problem, columns = _columns(schema.remove_metadata(), is_plan)
    covers = _covers(metadata) if entry.path.startswith(f"{COMPACTED}/") else ()
    if covers is None:
        return Inspection("foreign: what it says of the files it stands for is no list of paths")
    if MOST_ROWS_A_BYTE * entry.size < metadata.num_rows:
        return Inspection(f"foreign: {metadata.num_rows:,} rows cannot be in {entry.size:,} bytes")
    request = _request(metadata) if is_plan and not problem else None
    return Inspection(problem, columns, metadata.num_rows, covers, request)


def _covers(metadata: pq.FileMetaData) -> tuple[str, ...] | None:
    """The files that a compacted one stands for; None where it does not say so as this project does."""
    try:
        found = json.loads((metadata.metadata or {}).get(COVERS, b"[]"))
    except (ValueError, RecursionError):
        return None
    return tuple(found) if isinstance(found, list) and all(isinstance(path, str) for path in found) else None


def _request(metadata: pq.FileMetaData) -> Request | None:
    """The one value of each column but cell_id, by the statistics of the footer; None where they do not tell."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    names = metadata.schema.names
    found = []
    for name in Request._fields:
        statistics = [group.column(names.index(name)).statistics for group in groups]
        if not all(s and s.has_min_max and s.has_null_count and s.null_count == 0 for s in statistics):
            return None
        try:
            values = {value for s in statistics for value in ((s.min_raw, s.max_raw) if name == "planned_at" else (s.min, s.max))}
        except UnicodeDecodeError:  # no text: who reads the column finds that out
            return None
        if len(values) != 1:
            return None
        found.append(values.pop())
    return Request(*found)


@lru_cache(maxsize=256)
def _columns(schema: pa.Schema, is_plan: bool) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """What is wrong with the columns, and their names and types. Thousands of files share a few schemas."""
    ours = PLAN_SCHEMA if is_plan else SCHEMA
    if missing := [name for name in (PLAN_SCHEMA.names if is_plan else REQUIRED) if name not in schema.names]:
        return f"foreign: no column {', '.join(missing)}", ()
    for field in schema:
        expected = ours.field(field.name).type if field.name in ours.names else None
        if field.type != expected and (expected is not None or field.type not in EXTRA_TYPES):
            return f"foreign: column {field.name} is {field.type}" + (f", not {expected}" if expected else ""), ()
        if field.name.lower() in BESIDE:
            return f"foreign: column {field.name} has a name that readers need", ()
    return None, tuple((field.name, str(field.type)) for field in schema)


def take(files: Files) -> Snapshot:
    """The present state, taken again from the start whenever a file vanishes while it is looked at."""
    for _ in range(100):
        try:
            return _take(files)
        except FileNotFoundError:
            continue
    raise ResultsError(f"files in {files.root} vanish as fast as they are listed")


def _take(files: Files) -> Snapshot:
    # Order matters beside a running compaction, which publishes first and deletes later: whoever misses a pack here
    # because it was deleted lists `compacted` after the file that replaced it was published. Compacted files replace
    # each other too, hence a listing that did not change while it was made.
    packs = [*files.entries(PACKS), *files.entries(FAILED)]
    compacted = files.entries(COMPACTED)
    while (again := files.entries(COMPACTED)) != compacted:
        compacted = again
    plans = files.entries(PLANS)

    listed = [*packs, *compacted, *plans]
    unseen = [entry for entry in listed if (files.root, entry) not in _inspected]
    list(side_by_side(files, lambda entry: inspect(files, entry), unseen))  # footers are read outside Python's lock
    found = {entry: inspect(files, entry) for entry in listed}
    bad = {entry: seen.problem for entry, seen in found.items() if seen.problem}
    merged = {path for entry in compacted for path in found[entry].covers}
    superseded_by = {path: e for e in compacted if e.path not in merged for path in found[e].covers}

    def live(entries: list[Entry]) -> Iterator[LiveFile]:
        for entry in entries:
            if entry not in bad and entry.path not in superseded_by:
                yield LiveFile(entry, found[entry].columns, found[entry].n_rows, found[entry].request)

    return Snapshot(
        rows=tuple(live([*compacted, *packs])),
        plans=tuple(live(plans)),
        superseded={entry: superseded_by[entry.path] for entry in found if entry.path in superseded_by},
        bad=bad,
    )


def named(folder: str, stem: str, data: bytes) -> str:
    """Path of a file of rows. The digest in it makes a commit idempotent and every file immutable."""
    return f"{folder}/{stem}-{hashlib.sha256(data).hexdigest()[:12]}.parquet"


def verify(files: Files, entry: Entry) -> str | None:
    """Read every byte against digest and page checksums: what is wrong, or None. FileNotFoundError when it is gone."""
    data = files.read(entry.path)
    try:
        parquet = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        for i in range(parquet.num_row_groups):
            parquet.read_row_group(i).validate(full=True)  # texts that are not UTF-8 too, which DuckDB refuses
    except (pa.ArrowException, OSError, ValueError) as error:
        return f"torn or flipped bits: {_first_line(error)}"
    digest = re.search(r"-([0-9a-f]{12})\.parquet$", entry.path)
    if digest and digest[1] != hashlib.sha256(data).hexdigest()[:12]:
        return "flipped bits: the bytes are not those of the name's digest"
    return None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
