"""Results in a directory of this machine or of a shared file system."""

import errno
import os
import pwd
import shlex
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from sweepkit.console.writing import make_folder, share, whole
from sweepkit.store.files.base import CLOCK_S, RESERVE_BYTES, UNFINISHED, Entry, ResultsError, Unreadable, temporary


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
        if above := next((place for place in Path(self.root).parents if place.is_file()), None):
            raise ResultsError(f"cannot write to the results directory {self.root}: {above} is a file; name another place")
        return os.path.isdir(self.root)

    def prepare(self, need_bytes: int = 0, folders: Collection[str] = ()) -> None:
        self.exists()
        try:
            make_folder(Path(self.root))
            free = shutil.disk_usage(self.root).free
        except OSError as error:
            raise ResultsError(f"cannot write to the results directory {self.root}: {error.strerror}") from None
        if free < need_bytes + RESERVE_BYTES:
            raise ResultsError(
                f"too little disk for the results in {self.root}: {_gb(need_bytes + RESERVE_BYTES)} GB needed, "
                f"{_gb(free)} GB free; free some or choose another place for the results"
            )
        probe = temporary("probe")
        try:
            self.write(probe, b"probe")
        except ResultsError as error:
            why = error.__cause__
            said = f"cannot write in {self.root}: {why.strerror if isinstance(why, OSError) else error}"
            with suppress(ResultsError):  # what could not be written need not be there
                self.delete(probe)
            raise ResultsError(said) from error
        self.delete(probe)
        for folder in folders:
            self._check(folder)

    def _check(self, folder: str) -> None:
        """ResultsError if the folder is there, made by another user perhaps, and cannot be written. A folder of this user's that
        an older version left to this user alone is shared as the root is."""
        path = self._at(folder)
        if not path.is_dir():
            return
        is_own = path.stat().st_uid == os.geteuid()
        if is_own:
            share(path, Path(self.root))
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            share_it = f"chgrp -R GROUP {shlex.quote(self.root)}; chmod -R g+rwX {shlex.quote(self.root)}"
            raise ResultsError(
                f"cannot write in {path}: {os.strerror(errno.EACCES)}; chmod u+rwx {shlex.quote(str(path))} allows it"
                if is_own
                else f"cannot write in {path}, which belongs to user {_owner(path)}. To share these results with a group, that "
                f"user types: {share_it}"
            )

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
        with _readable(self._at(path)):
            return self._at(path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        final = self._at(path)
        try:
            with whole(final, aside=temporary(final.name), durable=True) as sink:
                sink.write(data)
        except OSError as error:
            raise ResultsError(f"cannot write {final}: {error.strerror}") from error

    def delete(self, path: str) -> None:
        try:
            self._at(path).unlink(missing_ok=True)
        except OSError as error:
            raise ResultsError(f"cannot delete {self._at(path)}: {error.strerror}") from error

    def open(self, entry: Entry) -> pa.NativeFile:
        with _readable(self._at(entry.path)):
            return pa.OSFile(self.address(entry), "rb")

    def address(self, entry: Entry) -> str:
        return str(self._at(entry.path))

    def now(self) -> float:
        return time.time() + _ahead_s(self.root, int(time.monotonic() / CLOCK_S))

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


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Unreadable if the file is there and cannot be read; FileNotFoundError if it is not there."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable.of(path, error) from error


@lru_cache(maxsize=16)
def _ahead_s(root: str, period: int) -> float:
    """Seconds by which the clock that dates the files, that of a file server perhaps, is ahead of this machine's.

    A file without a name tells, or with one for a moment where the file system has none without. Who may not make one takes the
    clock of this machine: 0.
    """
    before = time.time()
    try:
        with tempfile.TemporaryFile(dir=root, prefix=".clock.", suffix=UNFINISHED) as probe:
            probe.write(b"now")
            probe.flush()
            dated = os.fstat(probe.fileno()).st_mtime
    except OSError:
        return 0.0
    return dated - (before + time.time()) / 2


def _owner(path: Path) -> str:
    number = path.stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # of another machine's accounts
        return str(number)


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.3g}"
