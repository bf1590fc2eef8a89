"""Folders of a user's data: where they are, who named them, and what is said of a file there that cannot be read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sweepkit.console.cache import cache_folder

DATA_DIR = "SWEEP_DATA_DIR"
"""Environment variable that names the folder if the grid does not."""


def absolute(path: str | os.PathLike[str]) -> Path:
    """The absolute path that a user meant. `Path.expanduser` would raise a RuntimeError at the home of nobody; this leaves it."""
    return Path(os.path.expanduser(path)).absolute()


def data_folder(data_dir: str) -> tuple[Path, str]:
    """The absolute path of the folder, and who named it. A relative path starts at the current directory."""
    if data_dir:
        return absolute(data_dir), "the grid's data_dir"
    if named := os.environ.get(DATA_DIR):
        return absolute(named), DATA_DIR
    return cache_folder() / "data", "the default place"


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Inside, an OSError becomes a ValueError that says in one line which file cannot be read, or, if unknown, that this folder
    cannot."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{error.filename or folder} cannot be read: {error.strerror or error}") from None
