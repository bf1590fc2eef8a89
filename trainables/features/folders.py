"""Folders of a user's data: where they are, and who named them."""

import os
from pathlib import Path

from console.cache import cache_folder

DATA_DIR = "SWEEP_DATA_DIR"
"""Environment variable that names the folder if the grid does not."""


def data_folder(data_dir: str) -> tuple[Path, str]:
    """The absolute path of the folder, and who named it. A relative path starts at the current directory."""
    if data_dir:
        return Path(data_dir).expanduser().absolute(), "the grid's data_dir"
    if named := os.environ.get(DATA_DIR):
        return Path(named).expanduser().absolute(), DATA_DIR
    return cache_folder() / "data", "the default place"
