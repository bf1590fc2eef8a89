"""Which files a reader reads: those that are whole, are ours, and are not yet merged into a compacted one."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from declarations.column import Column
from declarations.key import Key
from store.columns import DECLARATION, read_field, wider
from store.files import UNUSABLE, Entry, Files, ResultsError, side_by_side
from store.schema import BESIDE, DECLARED, PLAN_SCHEMA, REQUIRED, RESERVED, SCHEMA

PACKS, FAILED, COMPACTED, PLANS, LEASES, LOGS = "packs", "failed", "compacted", "plans", "leases", "logs"
FOLDERS = (PACKS, FAILED, COMPACTED, PLANS)
"""Where files of data lie."""
MOST_ROWS_A_BYTE = 1
"""The id of a cell takes some 10 bytes; a small file of a billion rows is made to fill its readers' memory."""
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
    further: tuple[Column, ...] = ()
    declared_at: int = 0


class LiveFile(NamedTuple):
    """A file that readers read. `request` is that of a plan file, None where its rows do not agree.

    `further`: the declarations of the columns that the ground floor does not have. `declared_at`: the time of the file's last
    row in microseconds since 1970, where the file tells of such columns itself; else 0.
    """

    entry: Entry
    columns: tuple[tuple[str, str], ...]
    n_rows: int
    request: Request | None = None
    further: tuple[Column, ...] = ()
    declared_at: int = 0


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
    listed = _Listed(tuple(schema.names), schema)
    beside = tuple(_told(schema.field(name)) for name in listed.names if name not in (_PLANNED if is_plan else _OURS))
    problem, columns, further = _columns(listed, is_plan, beside)
    covers = _covers(metadata) if entry.path.startswith(f"{COMPACTED}/") else ()
    if covers is None:
        return Inspection("foreign: what it says of the files it stands for is no list of paths")
    if MOST_ROWS_A_BYTE * entry.size < metadata.num_rows:
        return Inspection(f"foreign: {metadata.num_rows:,} rows cannot be in {entry.size:,} bytes")
    request = _request(metadata) if is_plan and not problem else None
    declared_at = _last_row(metadata) if any(told for *_, told in beside) and not problem else 0
    return Inspection(problem, columns, metadata.num_rows, covers, request, further, declared_at)


def _told(column: pa.Field) -> tuple[str, pa.DataType, bytes | None]:
    """Name and type of a further column, and what the file tells of it."""
    return column.name, column.type, (column.metadata or {}).get(DECLARATION)


def _last_row(metadata: pq.FileMetaData) -> int:
    """When the last row of a file was finished, in microseconds since 1970; 0 where its footer does not say."""
    column = metadata.schema.names.index("finished_at")
    statistics = [metadata.row_group(i).column(column).statistics for i in range(metadata.num_row_groups)]
    return max((s.max_raw for s in statistics if s and s.has_min_max), default=0)


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


_OURS, _PLANNED = frozenset(SCHEMA.names), frozenset(PLAN_SCHEMA.names)


@dataclass(frozen=True)
class _Listed:
    """A schema of which the hash takes no time: equal ones have equal columns, whatever they tell of them."""

    names: tuple[str, ...]
    schema: pa.Schema = field(hash=False)


@lru_cache(maxsize=256)
def _columns(
    listed: _Listed, is_plan: bool, beside: tuple[tuple[str, pa.DataType, bytes | None], ...]
) -> tuple[str | None, tuple[tuple[str, str], ...], tuple[Column, ...]]:
    """What is wrong with the columns, their names and types, and the declarations of those that are `beside` ours.

    Thousands of files share a few schemas.
    """
    schema, ours = listed.schema, PLAN_SCHEMA if is_plan else SCHEMA
    if missing := [name for name in (PLAN_SCHEMA.names if is_plan else REQUIRED) if name not in schema.names]:
        return f"foreign: no column {', '.join(missing)}", (), ()
    for column in schema:
        if column.name in ours.names and column.type != (expected := ours.field(column.name).type):
            return f"foreign: column {column.name} is {column.type}, not {expected}", (), ()
        if column.name.lower() in BESIDE:
            return f"foreign: column {column.name} has a name that readers need", (), ()
    further = []
    for name, kind, told in beside:
        try:
            further.append(read_field(name, kind, told))
        except ValueError as error:
            return f"foreign: column {name} {error}", (), ()
        if pa.types.is_nested(kind) and further[-1].name.lower() in RESERVED:
            return f"foreign: column {name} is called as another that the views show", (), ()
    return None, tuple((column.name, str(column.type)) for column in schema), tuple(further)


def declarations(live: Iterable[LiveFile]) -> dict[str, Column]:
    """By name, what the ground floor declares and what these files declare beside it.

    Where files differ in a title and the like, the newest is right; where they differ in kind, the column holds both.
    """
    found: dict[str, Column] = {}
    spelt: dict[str, str] = {}
    for further in _oldest_first(live):
        for column in further:
            name = spelt.setdefault(column.name.lower(), column.name)
            kind = wider(found[name].kind, column.kind) if name in found else column.kind
            if kind != column.kind and isinstance(column, Key):
                column = replace(column, default=None)  # it is of another kind
            found[name] = replace(column, name=name, kind=kind)
    return found | DECLARED


def defaults(live: Iterable[LiveFile]) -> dict[str, dict[str, dict[str, Any]]]:
    """By the name of a key and the part of a cell that it belongs to: the value that each of these parts has it at by default."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for further in _oldest_first(live):
        for key in further:
            if isinstance(key, Key) and key.default is not None:
                found.setdefault(key.name, {}).setdefault(key.part, {}).update(dict.fromkeys(key.of, key.default))
    return found


def _oldest_first(live: Iterable[LiveFile]) -> list[tuple[Column, ...]]:
    """The further columns that files declare, each set of them once; what is only supposed of them comes first."""
    last: dict[tuple[Column, ...], int] = {}
    for file in live:
        last[file.further] = max(file.declared_at, last.get(file.further, 0))
    return sorted(last, key=lambda further: last[further])


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
                seen = found[entry]
                yield LiveFile(entry, seen.columns, seen.n_rows, seen.request, seen.further, seen.declared_at)

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
