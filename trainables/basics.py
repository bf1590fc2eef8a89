"""What tasks and the features that some of them need have in common; below both, so that either can be imported first."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class TaskError(Exception):
    """What a task needs beside its keys is not there or not usable; one line that says how to mend it."""


class Preparation(NamedTuple):
    """A file that a task makes before it trains: what it holds, where it will lie, and its size at most."""

    what: str
    file: Path
    n_bytes: int
