"""Files of images as they lie on a disk: plain, compressed by gzip, or in an archive that was not unpacked."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from sweepkit.console.words import in_a_line
from trainables.basics import TaskError
from trainables.features.digests import file_digest
from trainables.features.images.sets import ImageSet, Published

TORN = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError)
"""Errors of reading a damaged compressed file."""


class Place(NamedTuple):
    """Where the content of a file lies."""

    path: str
    member: str = ""
    """Its name in the archive at this path; empty for a file of its own."""

    @property
    def is_packed(self) -> bool:
        return self.path.endswith(".gz")

    def __str__(self) -> str:
        return f"{self.path} ({self.member})" if self.member else self.path


@contextmanager
def opened(place: Place) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """The content, to be read from the start. OSError or one of TORN if it cannot be read."""
    if place.member:
        with tarfile.open(place.path) as archive:
            member = archive.extractfile(place.member)
            if member is None:
                raise tarfile.ReadError(f"{place.member} is no file there")
            yield member
    elif place.is_packed:
        with gzip.open(place.path) as packed:
            yield packed
    else:
        with open(place.path, "rb") as file:
            yield file


def content(place: Place) -> bytes:
    """The whole content. TaskError, in one line, if it cannot be read or is damaged."""
    try:
        with opened(place) as file:
            return file.read()
    except (OSError, KeyError, *TORN) as error:
        if isinstance(error, OSError) and error.errno:  # the system's; gzip's has no number
            raise TaskError(f"{place} cannot be read: {error.strerror}") from error
        raise TaskError(f"{place} is torn ({in_a_line(error)}); replace it") from error


def placed(folder: Path, images: ImageSet) -> dict[Published, Place | None]:
    """The place of each file of the set, None for those that are not there. An archive counts if it is the published one, which
    its md5 tells."""
    found = {file: _own_place(folder, images, file) for file in images.files}
    archive = folder / images.archive
    lacks = any(place is None for place in found.values())
    if lacks and images.archive and archive.is_file() and file_digest(archive, "md5") == images.archive_md5:
        return {file: Place(str(archive), f"{images.folders[0]}/{file.name}") for file in images.files}
    return found


def _own_place(folder: Path, images: ImageSet, file: Published) -> Place | None:
    packed = ("",) if images.is_pickled else ("", ".gz")
    candidates = (folder / sub / f"{file.name}{end}" for sub in images.folders for end in packed)
    return next((Place(str(path)) for path in candidates if path.is_file()), None)


def digest_and_size(place: Place, file: Published) -> tuple[str, int]:
    """md5 and number of bytes of the content. Of an archive they are those that are published, as its own md5 is."""
    if place.member:
        return file.md5, file.n_bytes
    path = Path(place.path)
    return file_digest(path, "md5", unpacked=place.is_packed), _size(path) if place.is_packed else path.stat().st_size


def _size(packed: Path) -> int:
    """Bytes of the content of a file compressed by gzip, modulo 2^32: its last four bytes [RFC 1952]."""
    with packed.open("rb") as file:
        file.seek(-4, 2)
        return int.from_bytes(file.read(4), "little")
