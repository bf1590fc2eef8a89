"""What tasks and the features that some of them need have in common; below both, so that either can be imported first."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rich.console import Console

Array = np.ndarray[Any, Any]


class TaskError(Exception):
    """What a task needs beside its keys is not there or not usable; one line that says how to mend it."""


class Preparation(NamedTuple):
    """A file that a task makes before it trains: what it holds, where it will lie, and its size at most."""

    what: str
    file: Path
    n_bytes: int


def say(console: "Console", text: str) -> None:
    """Print the words as they are: no markup is read into them, and no line of a file's path is broken."""
    console.print(text, highlight=False, soft_wrap=True, markup=False)
