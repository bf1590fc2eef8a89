"""The files that a reader reads: those that are whole, that belong to this project, and that no compacted file replaces."""

import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sweepkit.declarations.columns import Column, Key
from sweepkit.store.columns import DECLARATION, read_field, wider
from sweepkit.store.files import UNUSABLE, Entry, Files, ResultsError, Unreadable, side_by_side
from sweepkit.store.files.base import COMPACTED, FAILED, PACKS, PLANS
from sweepkit.store.schema import BESIDE, DECLARED, NOTES, OF_GRID, PLAN_SCHEMA, PLANNED_FIND, REQUIRED, RESERVED, SCHEMA

MOST_ROWS_A_BYTE = 1
"""The most rows per byte that a file may claim. The id of a cell takes some 10 bytes, so a small file that claims a billion rows
is made to fill its readers' memory."""
COVERS = b"covers"
"""Metadata of a compacted file: a JSON list of the files that it replaces. Its rename publishes rows and list in one step."""


class Request(NamedTuple):
    """The values that all rows of a plan file share; `planned_at` in microseconds since 1970."""

    sweep: str
    planned_at: int
    whole: bool


class Asked(NamedTuple):
    """The text of a grid, and the command that asked for it: a plan file holds them beside its rows."""

    grid: str = ""
    command: str = ""


NOT_SAID = Asked()
"""A plan of an older version, or one that a program wrote."""


class Notes(NamedTuple):
    """Note and tags that a person gave a sweep. `told_at` in microseconds since 1970."""

    sweep: str
    note: str = ""
    tags: tuple[str, ...] = ()
    told_at: int = 0

    def written(self) -> str:
        """The notes as a file holds them."""
        return json.dumps(self._asdict())

    @classmethod
    def read(cls, text: bytes | str) -> "Notes":
        """The notes that a file holds. ValueError if it holds none."""
        try:
            found = cls(**json.loads(text))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError("its notes on a sweep are not as this project writes them") from error
        texts = (found.sweep, found.note, *found.tags) if isinstance(found.tags, list) else (None,)
        is_sound = all(isinstance(text, str) and text.isprintable() for text in texts) and isinstance(found.told_at, int)
        if not is_sound or not found.sweep:
            raise ValueError("its notes on a sweep are not as this project writes them")
        return found._replace(tags=tuple(found.tags))


class Inspection(NamedTuple):
    """The contents of one file's footer, or the `problem` with it. Files with equal `columns` can be read as one."""

    problem: str | None
    columns: tuple[tuple[str, str], ...] = ()
    n_rows: int = 0
    covers: tuple[str, ...] = ()
    request: Request | None = None
    further: tuple[Column, ...] = ()
    declared_at: int = 0
    asked: Asked = Asked()
    notes: Notes | None = None


class LiveFile(NamedTuple):
    """A file that readers read. `request` is that of a plan file whose rows agree in it, else None.

    `further`: the declarations of the file's further columns. `declared_at`: the time of the file's last row in microseconds
    since 1970 if the file itself declares such columns, else 0. `notes`: those of a file without rows among the plans.
    """

    entry: Entry
    columns: tuple[tuple[str, str], ...]
    n_rows: int
    request: Request | None = None
    further: tuple[Column, ...] = ()
    declared_at: int = 0
    asked: Asked = Asked()
    notes: Notes | None = None

    @property
    def sweep(self) -> str:
        """The sweep whose plan or notes these are; empty if the file does not say."""
        return self.request.sweep if self.request else self.notes.sweep if self.notes else ""

    @property
    def told_at(self) -> int:
        """When the plan was asked for or the notes were made, in microseconds since 1970; 0 if the file does not say."""
        return self.request.planned_at if self.request else self.notes.told_at if self.notes else 0


@dataclass(frozen=True)
class Snapshot:
    """A results directory at one moment. `superseded` maps a merged file to its successor, `bad` a file to its problem."""

    rows: tuple[LiveFile, ...]
    plans: tuple[LiveFile, ...]
    superseded: dict[Entry, Entry]
    bad: dict[Entry, str]


_PAUSES_S = (0, 0, 0, *(0.01 * 2**k for k in range(7)), *[1] * 60)
"""Seconds of the pauses before a directory is read again: file servers keep a listing for up to a minute."""
_inspected: dict[tuple[str, Entry], Inspection] = {}


def inspect(files: Files, entry: Entry) -> Inspection:
    """The contents of a file's footer, read once per process. FileNotFoundError if the file is gone."""
    key = (files.root, entry)
    if key not in _inspected:
        _inspected[key] = _inspect(files, entry)
    return _inspected[key]


class Turns:
    """Tries at reading a directory in which a file was listed and was not there. Pauses between them grow."""

    def __init__(self, files: Files) -> None:
        self._files, self._pauses_s = files, iter(_PAUSES_S)

    def wait(self, gone: Exception) -> None:
        """Wait before the next try. ResultsError, with what was gone, once a file server has had a minute to list files anew."""
        pause_s = next(self._pauses_s, None)
        if pause_s is None:
            raise ResultsError(f"{self._files.root} lists files that are not there when they are read: {gone}") from gone
        time.sleep(pause_s)


class FileDamaged(Exception):
    """A file proved damaged and is left out from now on: what was worked out with it has to be worked out again."""


def condemn(files: Files, entry: Entry, problem: str) -> None:
    """Leave the file out from now on, for a fault that its footer does not show."""
    _inspected[(files.root, entry)] = Inspection(problem)


def _inspect(files: Files, entry: Entry) -> Inspection:
    if UNUSABLE.search(entry.path):
        return Inspection("foreign: this project does not use such names")
    if not entry.path.endswith(".parquet"):
        return Inspection("foreign: not a .parquet file")
    if entry.size == 0:
        return Inspection("empty file")
    is_plan = entry.path.startswith(f"{PLANS}/")
    try:
        with files.open(entry) as source:
            metadata = pq.read_metadata(source)
        schema = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError, ValueError) as error:
        return Inspection(f"torn or not Parquet: {_of_content(error, entry, files)}")
    listed = _Listed(tuple(schema.names), schema)
    beside = tuple(_told(schema.field(name)) for name in listed.names if name not in (_PLANNED if is_plan else _OURS))
    problem, columns, further = _columns(listed, is_plan, beside)
    # Other programs leave the declarations out; so did older versions, whose files are known by the digest in their names.
    if not (problem or is_plan or schema.field(0).metadata) and _is_not_named(entry.path, files.read(entry.path)):
        problem = "foreign: another program has written it, as its name has no digest of its bytes"
    # A file that is not read replaces none: the files that it lists are read as long as they are there.
    covers = _covers(metadata) if entry.path.startswith(f"{COMPACTED}/") and not problem else ()
    if covers is None:
        return Inspection("foreign: its list of the files that it replaces is not a list of paths")
    if MOST_ROWS_A_BYTE * entry.size < metadata.num_rows:
        return Inspection(f"foreign: {metadata.num_rows:,} rows cannot be in {entry.size:,} bytes")
    request = _request(metadata) if is_plan and not problem else None
    declared_at = _last_row(metadata) if any(told for *_, told in beside) and not problem else 0
    asked, notes = Asked(), None
    if is_plan and not problem:
        said = metadata.metadata or {}
        asked = Asked(*(said.get(key, b"").decode(errors="replace") for key in OF_GRID))
        try:
            notes = Notes.read(said[NOTES]) if NOTES in said else None
        except ValueError as error:
            problem = f"foreign: {error}"
    return Inspection(problem, columns, metadata.num_rows, covers, request, further, declared_at, asked, notes)


def _told(column: pa.Field) -> tuple[str, pa.DataType, bytes | None]:
    """Name and type of a further column, and the declaration that the file holds for it."""
    return column.name, column.type, (column.metadata or {}).get(DECLARATION)


def _last_row(metadata: pq.FileMetaData) -> int:
    """The time at which the last row of a file was finished, in microseconds since 1970; 0 if the footer does not say."""
    column = metadata.schema.names.index("finished_at")
    statistics = [metadata.row_group(i).column(column).statistics for i in range(metadata.num_row_groups)]
    return max((s.max_raw for s in statistics if s and s.has_min_max), default=0)


def _covers(metadata: pq.FileMetaData) -> tuple[str, ...] | None:
    """The files that a compacted file replaces; None if its list is not as this project writes it."""
    try:
        found = json.loads((metadata.metadata or {}).get(COVERS, b"[]"))
    except (ValueError, RecursionError):
        return None
    return tuple(found) if isinstance(found, list) and all(isinstance(path, str) for path in found) else None


def _request(metadata: pq.FileMetaData) -> Request | None:
    """The one value of each column but cell_id, from the statistics in the footer; None if they do not show a single value."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    names = metadata.schema.names
    found = []
    for name in Request._fields:
        statistics = [group.column(names.index(name)).statistics for group in groups]
        if not all(s and s.has_min_max and s.has_null_count and s.null_count == 0 for s in statistics):
            return None
        try:
            values = {value for s in statistics for value in ((s.min_raw, s.max_raw) if name == "planned_at" else (s.min, s.max))}
        except UnicodeDecodeError:  # not UTF-8: a query that reads the column reports it
            return None
        if len(values) != 1:
            return None
        found.append(values.pop())
    return Request(*found)


_OF_PLANS = PLAN_SCHEMA.append(PLANNED_FIND)
_OURS, _PLANNED = frozenset(SCHEMA.names), frozenset(_OF_PLANS.names)


@dataclass(frozen=True)
class _Listed:
    """A schema with a quick hash, that of its names. Two are equal if their names and types are, whatever their metadata say."""

    names: tuple[str, ...]
    schema: pa.Schema = field(hash=False)


@lru_cache(maxsize=256)
def _columns(
    listed: _Listed, is_plan: bool, beside: tuple[tuple[str, pa.DataType, bytes | None], ...]
) -> tuple[str | None, tuple[tuple[str, str], ...], tuple[Column, ...]]:
    """The problem with a file's columns or None, their names and types, and the declarations of the columns `beside` ours.

    The results are cached: thousands of files share a few schemas.
    """
    schema, ours = listed.schema, _OF_PLANS if is_plan else SCHEMA
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
            return f"foreign: column {name} has the name of another column that the views show", (), ()
    return None, tuple((column.name, str(column.type)) for column in schema), tuple(further)


def declarations(live: Iterable[LiveFile]) -> dict[str, Column]:
    """The declarations of all columns, by name: those of the package `declarations`, and the further ones of these files.

    If files differ in a title or the like, the newest file wins. If they differ in kind, the column gets a kind that fits both.
    Parts that share a key with one default, such as trainings, share its declaration, whatever files name them.
    """
    found: dict[str, Column] = {}
    spelt: dict[str, str] = {}
    for further in _oldest_first(live):
        for column in further:
            name = spelt.setdefault(column.name.lower(), column.name)
            kind = wider(found[name].kind, column.kind) if name in found else column.kind
            if kind != column.kind and isinstance(column, Key):
                column = replace(column, default=None)  # the default is of the narrower kind
            before = found.get(name)
            if (
                isinstance(column, Key)
                and isinstance(before, Key)
                and (before.part, before.default) == (column.part, column.default)
            ):
                column = replace(column, of=tuple(dict.fromkeys((*before.of, *column.of))))
            found[name] = replace(column, name=name, kind=kind)
    return found | DECLARED


def defaults(live: Iterable[LiveFile]) -> dict[str, dict[str, dict[str, Any]]]:
    """The defaults of keys: by name of the key, by the part of a cell that it belongs to, and by the name of that part."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for further in _oldest_first(live):
        for key in further:
            if isinstance(key, Key) and key.default is not None:
                found.setdefault(key.name, {}).setdefault(key.part, {}).update(dict.fromkeys(key.of, key.default))
    return found


def _oldest_first(live: Iterable[LiveFile]) -> list[tuple[Column, ...]]:
    """The sets of further columns that files declare, each set once, oldest first. Sets that were only guessed, from files
    without declarations, come before all others."""
    last: dict[tuple[Column, ...], int] = {}
    for file in live:
        last[file.further] = max(file.declared_at, last.get(file.further, 0))
    return sorted(last, key=lambda further: last[further])


def take(files: Files) -> Snapshot:
    """The present state of the directory. If a file vanishes meanwhile, the directory is read again: a file server may list files
    for a while that another machine has deleted."""
    turns = Turns(files)
    while True:
        try:
            return _take(files)
        except FileNotFoundError as error:
            turns.wait(error)


def _take(files: Files) -> Snapshot:
    # The order matters while a compaction runs, which publishes first and deletes later. If a pack is missing from the
    # first listing because it was deleted, the file that replaced it was published before `compacted` is listed.
    # Compacted files replace each other too, so their folder is listed until two listings agree.
    packs = [*files.entries(PACKS), *files.entries(FAILED)]
    compacted = files.entries(COMPACTED)
    while (again := files.entries(COMPACTED)) != compacted:
        compacted = again
    plans = files.entries(PLANS)

    listed = [*packs, *compacted, *plans]
    unseen = [entry for entry in listed if (files.root, entry) not in _inspected]
    list(side_by_side(files, lambda entry: inspect(files, entry), unseen))  # pyarrow reads footers without Python's lock
    found = {entry: inspect(files, entry) for entry in listed}
    bad = {entry: seen.problem for entry, seen in found.items() if seen.problem}
    merged = {path for entry in compacted for path in found[entry].covers}
    superseded_by = {path: e for e in compacted if e.path not in merged for path in found[e].covers}

    def live(entries: list[Entry]) -> Iterator[LiveFile]:
        for entry in entries:
            if entry not in bad and entry.path not in superseded_by:
                seen = found[entry]
                yield LiveFile(
                    entry, seen.columns, seen.n_rows, seen.request, seen.further, seen.declared_at, seen.asked, seen.notes
                )

    return Snapshot(
        rows=tuple(live([*compacted, *packs])),
        plans=tuple(live(plans)),
        superseded={entry: superseded_by[entry.path] for entry in found if entry.path in superseded_by},
        bad=bad,
    )


def plans_of(files: Files, sweep: str) -> list[tuple[int, str]]:
    """The plans of a sweep in order, each with its time in microseconds since 1970 and its path."""
    found = []
    for entry in files.entries(PLANS):
        with suppress(FileNotFoundError):  # replaced meanwhile
            if (request := inspect(files, entry).request) and request.sweep == sweep:
                found.append((request.planned_at, entry.path))
    return sorted(found)


def latest_plan(files: Files, sweep: str) -> int:
    """The time of the sweep's latest plan, in microseconds since 1970; 0 if it has none."""
    return max((at for at, _ in plans_of(files, sweep)), default=0)


_DIGEST = re.compile(r"-([0-9a-f]{12})\.parquet$")


def named(folder: str, stem: str, data: bytes) -> str:
    """The path of a file of rows. The digest in it makes a commit idempotent and every file immutable."""
    return f"{folder}/{stem}-{hashlib.sha256(data).hexdigest()[:12]}.parquet"


def verify(files: Files, entry: Entry) -> str | None:
    """The problem with a file, or None, by its digest and the checksum of every page. FileNotFoundError if it is gone."""
    data = files.read(entry.path)
    try:
        parquet = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        for i in range(parquet.num_row_groups):
            parquet.read_row_group(i).validate(full=True)  # finds texts that are not UTF-8 too, which DuckDB refuses
    except (pa.ArrowException, OSError, ValueError) as error:
        return f"torn or flipped bits: {_of_content(error, entry, files)}"
    if _DIGEST.search(entry.path) and _is_not_named(entry.path, data):
        return "flipped bits: the bytes do not match the digest in the file's name"
    return None


def _is_not_named(path: str, data: bytes) -> bool:
    """True if the name of a file has no digest of its bytes."""
    digest = _DIGEST.search(path)
    return digest is None or digest[1] != hashlib.sha256(data).hexdigest()[:12]


def _of_content(error: Exception, entry: Entry, files: Files) -> str:
    """The first line of an error that the content of a file caused. Any other error is raised: FileNotFoundError if the file is
    gone, Unreadable if the system could not read it. pyarrow gives errors of the system their number, errors of content none."""
    if isinstance(error, FileNotFoundError):
        raise error
    if isinstance(error, MemoryError) or getattr(error, "errno", None):
        raise Unreadable.of(f"{files.root}/{entry.path}", error) from error
    return next(iter(str(error).splitlines()), type(error).__name__)
