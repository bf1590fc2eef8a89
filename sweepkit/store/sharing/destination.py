"""A destination of runs: the interface that `share` needs, and the lock that lets one export at a time write to it."""

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sweepkit.store.files import ResultsError
from sweepkit.store.sharing.runs import Run, digest


class Broken(Exception):
    """The tracker stopped answering amid an export. Runs that are complete stay, and the same command goes on."""


class Destination(Protocol):
    """A tracker that takes runs. One export at a time writes to it."""

    @property
    def place(self) -> str:
        """The words for where runs go: `MLflow at http://127.0.0.1:5000`."""

    @property
    def look(self) -> str:
        """The command that shows the runs; empty if there is none."""

    @property
    def at_once(self) -> int:
        """The number of runs that it pays to write at the same time."""

    def complete(self, sweep: str) -> Mapping[str, str]:
        """The content of each complete run of a sweep, by identity. Removes what a killed export left."""

    def write(self, sweep: str, run: Run) -> None:
        """Write a run that is not there, or put it in place of the run of its identity. After a kill at any moment the run is
        whole, or not among the complete ones."""


@contextmanager
def alone(place: str) -> Iterator[None]:
    """Hold the place, so that no second export of this user on this machine writes the same runs. ResultsError if one does."""
    path = Path(tempfile.gettempdir(), f"sweep-export-{os.getuid()}-{digest(place)}.lock")
    with open(path, "a") as lock:  # the kernel frees it when the process ends, however that happens
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsError(f"another export to {place} is under way: wait until it ends") from None
        yield
