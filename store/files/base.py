"""The file system under a results directory: what the store needs of it, and the local one.

Buckets are `store.files.s3`; nothing above knows the difference.
"""

import re
import threading
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa

LARGE_BYTES = 8 << 20
"""From this size on a file keeps a connection busy by itself."""
RESERVE_BYTES = 64 << 20
"""Disk that must stay free besides what a sweep will write."""
UNFINISHED = ".inprogress"
"""How names of temporary files end. A reader never takes one for a result; one that is old is a dead process's."""
UNUSABLE = re.compile(r"[*?[\x00-\x1f\ud800-\udfff]")
"""What no path of results may hold: DuckDB reads patterns and no files where these stand, and takes text in UTF-8 alone."""


class ResultsError(Exception):
    """The results directory cannot be used; the message is for a person."""


class Entry(NamedTuple):
    """One file: its path below the root, size in bytes, time of last change in seconds since 1970 by the clock of `Files.now`.

    `version` is another where the content is, in a store that tells; else empty."""

    path: str
    size: int
    modified: float
    version: str = ""


T = TypeVar("T")


def temporary(name: str) -> str:
    """A hidden name for what is to become `name`, taken by nobody else."""
    return f".{name}.{uuid.uuid4().hex}{UNFINISHED}"


class Files(Protocol):
    """Paths are relative to the root, with `/`. Names that begin with a dot are temporaries, hidden unless asked for."""

    @property
    def root(self) -> str: ...

    @property
    def at_once(self) -> int:
        """How many files it pays to ask for side by side."""

    def exists(self) -> bool:
        """Whether there are results at all. ResultsError, soon, where the place cannot be reached."""

    def prepare(self, need_bytes: int = 0) -> None:
        """Make the root writable; ResultsError if it is not, or if the disk has too little room."""

    def entries(self, folder: str, hidden: bool = False) -> list[Entry]:
        """Files directly in the folder, by name; none where there is no such folder."""

    def entry(self, path: str) -> Entry | None:
        """The file as it is now, None where it is gone."""

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes) -> None:
        """All or nothing, and durable on return; replaces. ResultsError if it cannot."""

    def delete(self, path: str) -> None:
        """No error when it is gone already."""

    def open(self, entry: Entry) -> pa.NativeFile:
        """Random access for pyarrow. FileNotFoundError when it is gone."""

    def address(self, entry: Entry) -> str:
        """The name by which DuckDB reads the file."""

    def now(self) -> float:
        """Seconds since 1970 by the clock that dates the files."""


def age_s(files: Files, entry: Entry) -> float:
    """Seconds since the file last changed; 0 where the clocks, which servers tell to the second, say that it is yet to be."""
    return max(0.0, files.now() - entry.modified)


def side_by_side(files: Files, work: Callable[[Entry], T], entries: Iterable[Entry]) -> Iterable[T]:
    """`work` on each, in their order, as many at once as `files` says; large files, which fill memory and line, one by one."""
    turn = threading.Lock()

    def in_turn(entry: Entry) -> T:
        with turn if entry.size >= LARGE_BYTES else nullcontext():
            return work(entry)

    with ThreadPoolExecutor(files.at_once) as pool:
        yield from pool.map(in_turn, entries)
