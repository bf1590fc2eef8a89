"""The file system under a results directory: the interface that the store needs.

`sweepkit.store.files.local` and `sweepkit.store.files.s3` implement it; the rest of the store does not know the difference.
"""

import os
import re
import threading
import uuid
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa

from sweepkit.console.errors import PlainError

PACKS, FAILED, COMPACTED, PLANS = "packs", "failed", "compacted", "plans"
FOLDERS = (PACKS, FAILED, COMPACTED, PLANS)
"""The folders of data files."""
LEASES, LOGS, WEIGHTS = "leases", "logs", "weights"
WRITTEN = (*FOLDERS, LEASES, LOGS, WEIGHTS)
"""The folders that a sweep or a compaction writes into."""
LARGE_BYTES = 8 << 20
"""From this size on, a file keeps a connection busy by itself."""
CLOCK_S = 600.0
"""Seconds for which a comparison of clocks is trusted."""
RESERVE_BYTES = 64 << 20
"""Disk that must stay free besides what a sweep will write."""
UNFINISHED = ".inprogress"
"""The ending of temporary files' names. A reader never takes such a file for a result; an old one belongs to a dead process."""
UNUSABLE = re.compile(r"[*?[\x00-\x1f\ud800-\udfff]")
"""Characters that no path of results may hold: wildcards, which DuckDB takes for a pattern, control characters, and surrogates,
which UTF-8 cannot hold."""


class ResultsError(PlainError):
    """The results directory cannot be used; the message is for a person."""


class NoResults(ResultsError):
    """There is no results directory of this name, or no sweep has written into it."""


class Unreadable(ResultsError):
    """A file is there and cannot be read now. Nothing is known of its content: it is not damaged for that."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)  # as given, so that another process can be handed it
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"cannot read {self.path}: {self.reason}"

    @classmethod
    def of(cls, path: str | Path, error: Exception) -> "Unreadable":
        number, other = getattr(error, "errno", None), "too little memory" if isinstance(error, MemoryError) else str(error)
        return cls(str(path), os.strerror(number) if number else other)


class Entry(NamedTuple):
    """One file: its path below the root, size in bytes, time of last change in seconds since 1970 by the clock of `Files.now`.

    `version` changes with the content in a store that tells versions; in other stores it is empty.
    """

    path: str
    size: int
    modified: float
    version: str = ""


T = TypeVar("T")


def temporary(name: str) -> str:
    """A hidden and unique name for a file that is to become `name`."""
    return f".{name}.{uuid.uuid4().hex}{UNFINISHED}"


class Files(Protocol):
    """A file system. Paths are relative to the root, with `/`. A name with a leading dot is a temporary file's, hidden unless
    asked for."""

    @property
    def root(self) -> str: ...

    @property
    def at_once(self) -> int:
        """The number of files that it pays to ask for at the same time."""

    def exists(self) -> bool:
        """Whether there are results at all. ResultsError, without a long wait, if the place cannot be reached."""

    def prepare(self, need_bytes: int = 0, folders: Collection[str] = ()) -> None:
        """Make the root. ResultsError if it, or one of these folders that is there already, cannot be written, or if the disk has
        too little room."""

    def entries(self, folder: str, hidden: bool = False) -> list[Entry]:
        """The files directly in the folder, sorted by name; none if there is no such folder."""

    def entry(self, path: str) -> Entry | None:
        """The file as it is now; None if it is gone."""

    def read(self, path: str) -> bytes:
        """FileNotFoundError if the file is gone, Unreadable if it is there and cannot be read."""

    def write(self, path: str, data: bytes) -> None:
        """Write or replace a file: all or nothing, and durable on return. ResultsError if it cannot."""

    def delete(self, path: str) -> None:
        """Delete a file. No error if it is gone already; ResultsError if it cannot be deleted."""

    def open(self, entry: Entry) -> pa.NativeFile:
        """The file, opened for pyarrow's random access. Errors as in `read`; those of reading itself are pyarrow's."""

    def address(self, entry: Entry) -> str:
        """The name by which DuckDB reads the file."""

    def now(self) -> float:
        """Seconds since 1970 by the clock that dates the files."""


def age_s(files: Files, entry: Entry) -> float:
    """Seconds since the file last changed. Never negative: servers round their clock to the second, so a new file may seem to
    come from the future."""
    return max(0.0, files.now() - entry.modified)


def side_by_side(files: Files, work: Callable[[Entry], T], entries: Iterable[Entry]) -> Iterable[T]:
    """The results of `work` on each entry, in their order, `files.at_once` at a time; large files, which fill the memory, one by
    one."""
    turn = threading.Lock()

    def in_turn(entry: Entry) -> T:
        with turn if entry.size >= LARGE_BYTES else nullcontext():
            return work(entry)

    with ThreadPoolExecutor(files.at_once) as pool:
        yield from pool.map(in_turn, entries)
