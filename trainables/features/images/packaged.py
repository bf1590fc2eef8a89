"""Images that lie as a table in a Python package. The table is read, the package never imported."""

import gzip
import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trainables.basics import TaskError
from trainables.features.images.table import Images, Table


class Packaged(NamedTuple):
    """A compressed table of whole numbers in a package: a line is an image's pixels, row by row, and then its label."""

    package: str
    """The package as Python imports it."""
    requirement: str
    """The requirement to install: its name in the registry, and the version that was seen to hold the file."""
    file: str
    """Path in the package's folder."""
    white: int
    """The largest pixel."""


class Read(NamedTuple):
    """A table that was read."""

    images: Images
    digest: str
    """First digits of the sha256 of the table, however it was compressed."""


@lru_cache
def read(table: Packaged) -> Read:
    """The images of the table, read once a process. TaskError, in one line, says what to install."""
    spec = find_spec(table.package)
    folders = (spec and spec.submodule_search_locations) or ()
    install = f"python -m pip install {table.requirement}"
    if not folders:
        raise TaskError(f"the images are a file of a package that is not installed: {install}")
    path = Path(folders[0], table.file)
    try:
        text = gzip.decompress(path.read_bytes())
        values = np.loadtxt(text.decode().splitlines(), np.float32, delimiter=",", ndmin=2)
    except FileNotFoundError:
        raise TaskError(f"{path} is not there: this version of the package has no images; {install}") from None
    except (OSError, EOFError, ValueError) as error:
        if isinstance(error, OSError) and error.errno:  # the system's; gzip's has no number
            raise TaskError(f"{path} cannot be read: {error.strerror}") from None
        raise TaskError(f"{path} cannot be read as images ({error}): {install}") from None
    digest = hashlib.sha256(text).hexdigest()[:8]
    pixels = values[:, :-1].astype(np.uint8)
    return Read(Images(Table(pixels, table.white), values[:, -1].astype(np.int64), None), digest)
