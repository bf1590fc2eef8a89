"""The file system under a results directory: what the store needs of it, and the local one.

An object store joins as another class with these methods (one PUT is its atomic write); nothing above knows the difference.
"""

import errno
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

RESERVE_BYTES = 64 << 20
"""Disk that must stay free besides what a sweep will write."""


UNUSABLE = re.compile(r"[*?[\x00-\x1f\ud800-\udfff]")
"""What no path of results may hold: DuckDB reads patterns and no files where these stand, and takes text in UTF-8 alone."""


class ResultsError(Exception):
    """The results directory cannot be used; the message is for a person."""


class Entry(NamedTuple):
    """One file: its path below the root, size in bytes, time of last change in seconds since 1970."""

    path: str
    size: int
    modified: float


class Files(Protocol):
    """Paths are relative to the root, with `/`. Names that begin with a dot are temporaries, hidden unless asked for."""

    @property
    def root(self) -> str: ...

    def exists(self) -> bool:
        """Whether there is a results directory at all."""

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

    def open(self, path: str) -> pa.NativeFile:
        """Random access for pyarrow. FileNotFoundError when it is gone."""

    def address(self, path: str) -> str:
        """The name by which DuckDB reads the file."""


@dataclass(frozen=True)
class LocalFiles:
    """A directory of this machine or of a shared file system."""

    root: str

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
        probe = f".probe.{uuid.uuid4().hex}.inprogress"
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
        temporary = final.with_name(f".{final.name}.{uuid.uuid4().hex}.inprogress")
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            try:
                with open(temporary, "wb") as sink:
                    sink.write(data)
                    sink.flush()
                    os.fsync(sink.fileno())
                os.replace(temporary, final)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            _sync_folder(final.parent)
        except OSError as error:
            raise ResultsError(f"cannot write {final}: {error.strerror}") from error

    def delete(self, path: str) -> None:
        self._at(path).unlink(missing_ok=True)

    def open(self, path: str) -> pa.NativeFile:
        return pa.OSFile(str(self._at(path)), "rb")

    def address(self, path: str) -> str:
        return str(self._at(path))

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
    """The file system behind `--results`: a local path (made absolute) or file:// URI. ResultsError for any other URI."""
    text = str(results)
    scheme, separator, rest = text.partition("://")
    if separator and scheme.lower() == "file":
        text = rest
    elif separator:
        raise ResultsError(
            f"results at {text!r}: {scheme}:// is not supported yet; give a local path or one of a shared file system"
        )
    if not text.strip():
        raise ResultsError("the results directory has an empty name")
    if wrong := UNUSABLE.search(text):
        raise ResultsError(
            f"results at {text!r}: the path holds {wrong[0]!r}, from which DuckDB cannot read; choose another name"
        )
    return LocalFiles(os.path.abspath(os.path.expanduser(text)))


def age_s(entry: Entry) -> float:
    """Seconds since the file last changed."""
    return time.time() - entry.modified


def _sync_folder(folder: Path) -> None:
    # Without it the rename itself may be lost in a power cut.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.3g}"
