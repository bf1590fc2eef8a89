"""Digests of files that may be large: computed once, and kept until the file changes."""

import gzip
import hashlib
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal

from sweepkit.console.cache import cache_folder
from sweepkit.console.writing import write_whole

Algorithm = Literal["md5", "sha256"]
KEPT_FROM = 2**26
"""Bytes from which a file's digest is also kept on disk; smaller files are read quickly."""


def file_digest(path: Path, algorithm: Algorithm = "sha256", unpacked: bool = False) -> str:
    """Hexadecimal digest of the file's content, or of what it holds, if it is compressed by gzip and `unpacked` is asked for.
    OSError if the file cannot be read, EOFError or zlib.error if it is torn.

    A kept digest is found by path, size, and the times of the last change of content (mtime) and of the inode (ctime).
    """
    stat = path.stat()
    digest = _kept_digest if stat.st_size >= KEPT_FROM else _digest
    return digest(str(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, algorithm, unpacked)


@lru_cache(maxsize=1024)
def _digest(path: str, size: int, mtime_ns: int, ctime_ns: int, algorithm: Algorithm, unpacked: bool) -> str:
    with gzip.open(path) if unpacked else open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()


def _kept_digest(path: str, size: int, mtime_ns: int, ctime_ns: int, algorithm: Algorithm, unpacked: bool) -> str:
    of = (path, size, mtime_ns, ctime_ns, algorithm, *(["unpacked"] if unpacked else []))
    name = hashlib.sha256(repr(of).encode()).hexdigest()[:32]
    kept = cache_folder() / "digests" / name
    length = 2 * hashlib.new(algorithm, usedforsecurity=False).digest_size
    # None is kept yet, or a disk that failed left one that cannot be read or is no text.
    with suppress(OSError, UnicodeDecodeError):
        if re.fullmatch(rf"[0-9a-f]{{{length}}}", text := kept.read_text()):
            return text
    found = _digest(path, size, mtime_ns, ctime_ns, algorithm, unpacked)
    with suppress(OSError):  # then it is computed again next time
        write_whole(kept, found)
    return found
