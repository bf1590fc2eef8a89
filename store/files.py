"""The file system under a results directory: what the store needs of it, and the local one.

Buckets are `store.s3`; nothing above knows the difference.
"""

import errno
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
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


@dataclass(frozen=True)
class LocalFiles:
    """A directory of this machine or of a shared file system."""

    root: str

    @property
    def at_once(self) -> int:
        return 4

    def exists(self) -> bool:
        return os.path.isdir(self.root)

    def prepare(self, need_bytes: int = 0) -> None:
        try:
            os.makedirs(self.root, exist_ok=True)
            free = shutil.disk_usage(self.root).free
        except OSError as error:
            raise ResultsError(f"cannot write to the results directory {self.root}: {error.strerror}") from None
        if free < need_bytes + RESERVE_BYTES:
            raise ResultsError(
                f"too little disk for the results in {self.root}: {_gb(need_bytes + RESERVE_BYTES)} GB needed, "
                f"{_gb(free)} GB free; free some or choose another place with --results"
            )
        probe = temporary("probe")
        self.write(probe, b"probe")
        self.delete(probe)

    def entries(self, folder: str, hidden: bool = False) -> list[Entry]:
        found = []
        with _as_nothing_where_gone(f"{self.root}/{folder}"), os.scandir(os.path.join(self.root, folder)) as items:
            for item in items:
                with _as_nothing_where_gone(item.path):  # between the listing and the question about it
                    if (hidden or not item.name.startswith(".")) and item.is_file():
                        stat = item.stat()
                        found.append(Entry(f"{folder}/{item.name}" if folder else item.name, stat.st_size, stat.st_mtime))
        return sorted(found)

    def entry(self, path: str) -> Entry | None:
        try:
            stat = self._at(path).stat()
        except FileNotFoundError:
            return None
        return Entry(path, stat.st_size, stat.st_mtime)

    def read(self, path: str) -> bytes:
        return self._at(path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        final = self._at(path)
        part = final.with_name(temporary(final.name))
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            try:
                with open(part, "wb") as sink:
                    sink.write(data)
                    sink.flush()
                    os.fsync(sink.fileno())
                os.replace(part, final)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
            _sync_folder(final.parent)
        except OSError as error:
            raise ResultsError(f"cannot write {final}: {error.strerror}") from error

    def delete(self, path: str) -> None:
        self._at(path).unlink(missing_ok=True)

    def open(self, entry: Entry) -> pa.NativeFile:
        return pa.OSFile(self.address(entry), "rb")

    def address(self, entry: Entry) -> str:
        return str(self._at(entry.path))

    def now(self) -> float:
        return time.time()

    def _at(self, path: str) -> Path:
        return Path(self.root, path)


@contextmanager
def _as_nothing_where_gone(path: str) -> Iterator[None]:
    """What is not there, or is a link to nowhere, is no file; ResultsError for what may be one and cannot be looked at."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise ResultsError(f"cannot look into {path}: {error.strerror}") from None


def open_files(results: str) -> Files:
    """The file system behind `--results`: a local path (made absolute), a file:// or an s3:// URI. ResultsError for any other."""
    text = str(results)
    scheme, separator, rest = text.partition("://")
    if separator and scheme.lower() == "file":
        text = rest
    elif separator and scheme.lower() == "s3":
        from store.bucket import Bucket
        from store.s3 import S3Files

        return S3Files(Bucket.parse(text).uri)
    elif separator:
        raise ResultsError(f"results at {text!r}: {scheme}:// is not supported; give a local path, or s3://BUCKET/PREFIX")
    if not text.strip():
        raise ResultsError("the results directory has an empty name")
    if near := re.match(r"(s3|file):/*(?=[^/])", text, re.IGNORECASE):
        raise ResultsError(f"results at {text!r}: write {near[1].lower()}://{text[near.end() :]}")
    if wrong := UNUSABLE.search(text):
        raise ResultsError(
            f"results at {text!r}: the path holds {wrong[0]!r}, from which DuckDB cannot read; choose another name"
        )
    return LocalFiles(os.path.abspath(os.path.expanduser(text)))


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


def _sync_folder(folder: Path) -> None:
    # Without it the rename itself may be lost in a power cut.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.3g}"
