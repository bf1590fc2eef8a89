"""Results in a directory of this machine or of a shared file system."""

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from store.files.base import RESERVE_BYTES, Entry, ResultsError, temporary


@dataclass(frozen=True)
class LocalFiles:
    """A directory of this machine or of a shared file system."""

    root: str

    @property
    def at_once(self) -> int:
        return 4

    def exists(self) -> bool:
        if os.path.exists(self.root) and not os.path.isdir(self.root):
            raise ResultsError(f"{self.root} is a file, and results are kept in a directory: name another place")
        return os.path.isdir(self.root)

    def prepare(self, need_bytes: int = 0) -> None:
        self.exists()
        try:
            os.makedirs(self.root, exist_ok=True)
            free = shutil.disk_usage(self.root).free
        except OSError as error:
            raise ResultsError(f"cannot write to the results directory {self.root}: {error.strerror}") from None
        if free < need_bytes + RESERVE_BYTES:
            raise ResultsError(
                f"too little disk for the results in {self.root}: {_gb(need_bytes + RESERVE_BYTES)} GB needed, "
                f"{_gb(free)} GB free; free some or choose another place for the results"
            )
        probe = temporary("probe")
        self.write(probe, b"probe")
        self.delete(probe)

    def entries(self, folder: str, hidden: bool = False) -> list[Entry]:
        found = []
        with _as_nothing_where_gone(f"{self.root}/{folder}"), os.scandir(os.path.join(self.root, folder)) as items:
            for item in items:
                with _as_nothing_where_gone(item.path):  # it may vanish after it is listed
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
    """Ignore a path that does not exist or is a link to nowhere. ResultsError if it may exist and cannot be looked at."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise ResultsError(f"cannot look into {path}: {error.strerror}") from None


def _sync_folder(folder: Path) -> None:
    # Without this the rename itself may be lost in a power cut.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.3g}"
