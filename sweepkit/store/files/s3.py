"""Results in a bucket: each file is one object, written by one PUT.

DuckDB and Parquet read local copies. A file of rows never changes once it has its name, so each machine copies it once. A plan is
replaced under its name, so the name of a copy also holds the object's version.
"""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from sweepkit.console.cache import cache_folder
from sweepkit.store.files.base import CLOCK_S, Entry, ResultsError, Unreadable, temporary
from sweepkit.store.files.bucket import FIRST, Bucket, endpoint, server_time, usual

if TYPE_CHECKING:
    from obstore.store import S3Store

PAGE = 1000
"""The number of keys that a server lists in one answer."""
RANGES = "0123456789abcdefghijklmnopqrstuvwxyz"
"""First characters of names at which a long listing is divided. Names of packs begin with digits of a hash, all equally often."""
UNUSED_S = 3600.0
"""Age in seconds from which a copy is removed if its object is gone. A reader with an older listing then lists again."""


@dataclass(frozen=True)
class S3Files:
    """Objects below s3://bucket/prefix. Cheap to make and to pickle; each process uses its own credentials and endpoint."""

    root: str

    def __post_init__(self) -> None:
        Bucket.parse(self.root)
        endpoint()
        usual()

    @property
    def at_once(self) -> int:
        return 32

    def exists(self) -> bool:
        """Whether there are results at all. ResultsError, within seconds, if the bucket cannot be reached."""
        return self._bucket.ask(lambda client: any(page for page in client.list(chunk_size=1)), FIRST)

    def prepare(self, need_bytes: int = 0, folders: Collection[str] = ()) -> None:
        """Check that the bucket can be written. It has no folders, and it does not fill up."""
        self.exists()
        probe = temporary("probe")
        try:
            self.write(probe, b"probe")
        finally:
            self.delete(probe)

    def entries(self, folder: str, hidden: bool = False) -> list[Entry]:
        top = self._bucket.ask(lambda client: client.list_with_delimiter(None)["objects"]) if not folder else []
        metas = self._listed(folder) if folder else top
        start = len(folder) + 1 if folder else 0
        names = ((meta, meta["path"][start:]) for meta in metas)
        found = [_entry(meta) for meta, name in names if name and "/" not in name and (hidden or not name.startswith("."))]
        _forget_gone(self._copies, folder, found)
        return sorted(found)

    def entry(self, path: str) -> Entry | None:
        try:
            return _entry(self._bucket.ask(lambda client: client.head(path)))
        except FileNotFoundError:
            return None

    def read(self, path: str) -> bytes:
        return self._got(path, 0)[0]

    def write(self, path: str, data: bytes) -> None:
        try:
            self._bucket.ask(lambda client: client.put(path, data, use_multipart=False), usual(len(data)))
        except FileNotFoundError:
            raise ResultsError(f"cannot write {self.root}/{path}: the server knows no such bucket or key") from None

    def delete(self, path: str) -> None:
        try:
            self._bucket.ask(lambda client: client.delete(path))
        except FileNotFoundError:  # AWS reports no error here, other servers do
            return

    def open(self, entry: Entry) -> pa.NativeFile:
        copy = self.address(entry)
        try:
            return pa.OSFile(copy, "rb")
        except FileNotFoundError:
            raise
        except OSError as error:
            raise Unreadable.of(copy, error) from error

    def address(self, entry: Entry) -> str:
        """The path of the local copy, fetched unless it is there. FileNotFoundError if this version of the object is gone."""
        copy = self._copies / entry.path
        copy = copy.with_name(f"{quote(copy.stem, safe='')}~{quote(entry.version, safe='')}{copy.suffix}")
        try:
            if os.stat(copy).st_size == entry.size:
                return str(copy)
        except OSError:  # not there, or out of reach: the attempt to make it reports why
            pass
        data, version = self._got(entry.path, entry.size)
        if (version, len(data)) != (entry.version, entry.size):
            raise FileNotFoundError(f"{self.root}/{entry.path} was replaced")
        part = copy.with_name(temporary("copy"))
        try:
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                part.write_bytes(data)
                os.replace(part, copy)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise ResultsError(
                f"cannot keep a copy of {self.root} in {copy.parent}: {error.strerror}; set SWEEP_S3_CACHE to another place"
            ) from None
        return str(copy)

    def now(self) -> float:
        return time.time() + _ahead_s(endpoint(), int(time.monotonic() / CLOCK_S))

    @property
    def _bucket(self) -> Bucket:
        return Bucket.parse(self.root)

    @property
    def _copies(self) -> Path:
        copies = os.environ.get("SWEEP_S3_CACHE") or _default_copies(os.environ.get("XDG_CACHE_HOME", ""))
        where = quote(self.root.removeprefix("s3://"), safe="")
        return Path(copies, quote(endpoint(), safe="") or "aws", where)

    def _got(self, path: str, size: int) -> tuple[bytes, str]:
        """Bytes and version of an object. `size`: its size if it is known, else 0."""

        def get(client: "S3Store") -> tuple[bytes, str]:
            answer = client.get(path)
            return answer.bytes().to_bytes(), _version(answer.meta)

        return self._bucket.ask(get, usual(size))

    def _listed(self, folder: str) -> list[Mapping[str, Any]]:
        """The objects below the folder. A listing of several pages is divided into ranges of names, listed at the same time."""
        first: Sequence[Mapping[str, Any]] = self._bucket.ask(lambda client: next(iter(client.list(folder, chunk_size=PAGE)), []))
        if len(first) < PAGE:
            return list(first)
        last = first[-1]["path"]
        starts = [last, *(start for start in (f"{folder}/{c}" for c in RANGES) if start > last)]
        with ThreadPoolExecutor(len(starts)) as pool:
            parts = pool.map(lambda start, end: self._between(folder, start, end), starts, [*starts[1:], ""])
            return [*first, *(meta for part in parts for meta in part)]

    def _between(self, folder: str, start: str, end: str) -> list[Mapping[str, Any]]:
        """The objects after `start`, up to and including `end`; up to the last if `end` is empty."""
        found: list[Mapping[str, Any]] = []

        def go_on(client: "S3Store") -> None:
            after = found[-1]["path"] if found else start  # a retry goes on after the last page that came
            for page in client.list(folder, offset=after, chunk_size=PAGE):
                for meta in page:
                    if end and meta["path"] > end:
                        return
                    found.append(meta)

        self._bucket.ask(go_on)
        return found


def _entry(meta: Mapping[str, Any]) -> Entry:
    return Entry(meta["path"], meta["size"], meta["last_modified"].timestamp(), _version(meta))


def _version(meta: Mapping[str, Any]) -> str:
    return (meta["e_tag"] or "").strip('"')


@lru_cache(maxsize=16)
def _ahead_s(at: str, period: int) -> float:
    """Seconds by which the server's clock is ahead of ours; 0 if the server does not tell."""
    before = time.time()
    told = server_time()
    return told - (before + time.time()) / 2 if told is not None else 0.0


@lru_cache(maxsize=4)
def _default_copies(home: str) -> str:
    """The folder of copies in the user's cache folder, which is looked for once for each `home` (XDG_CACHE_HOME)."""
    return str(cache_folder() / "s3")


_looked_at: set[Path] = set()


def _forget_gone(copies: Path, folder: str, entries: Sequence[Entry]) -> None:
    """Remove old copies of objects that are gone, once per process and folder."""
    place = copies / folder
    if not folder or place in _looked_at:
        return
    _looked_at.add(place)
    there = {quote(Path(entry.path).stem, safe="") + "~" + quote(entry.version, safe="") for entry in entries}
    try:
        for copy in os.scandir(place):
            if Path(copy.name).stem not in there and time.time() - copy.stat().st_mtime > UNUSED_S:
                os.unlink(copy.path)
    except OSError:
        return  # no copies yet, another process was faster, or they are another user's: they only cost room
