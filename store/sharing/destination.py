"""A destination of runs: the interface that `share` needs, and the trackers there are."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from console.words import nearest
from store.files import ResultsError
from store.sharing.runs import Run, digest


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


@dataclass(frozen=True)
class Tracker:
    """A kind of destination: its package and options, and how it is opened. Nothing is imported before that."""

    name: str
    title: str
    module: str
    """The module that must be there."""
    options: tuple[str, ...]
    """The options of the command that it takes, as keywords of `open`."""
    open: Callable[..., Destination]

    def opened(self, options: Mapping[str, Any]) -> Destination:
        """The destination, reachable and writable. ResultsError if it is not, or if its package is missing."""
        if find_spec(self.module) is None:
            extra = f"'sweep-orchestrator[{self.name}]'"
            raise ResultsError(
                f"--to {self.name} needs the package {self.module}, which is not installed: "
                f"pip install {extra}, or uv pip install {extra}"
            )
        return self.open(**{name: value for name, value in options.items() if name in self.options and value is not None})


def _mlflow(**options: Any) -> Destination:
    from store.sharing.to_mlflow import MLflow

    return MLflow.at(**options)


def _wandb(**options: Any) -> Destination:
    from store.sharing.to_wandb import opened

    return opened(**options)


def _tensorboard(**options: Any) -> Destination:
    from store.sharing.to_tensorboard import TensorBoard

    return TensorBoard.at(**options)


TRACKERS = {
    tracker.name: tracker
    for tracker in (
        Tracker("mlflow", "MLflow", "mlflow", ("tracking_uri",), _mlflow),
        Tracker("wandb", "Weights & Biases", "wandb", ("project", "entity", "offline", "out"), _wandb),
        Tracker("tensorboard", "TensorBoard", "tensorboard", ("out",), _tensorboard),
    )
}
"""The trackers by the name that `--to` takes."""


def tracker(name: str) -> Tracker:
    """The tracker of that name. ResultsError for any other."""
    if name not in TRACKERS:
        raise ResultsError(f"unknown destination {name!r}{nearest(name, TRACKERS) or ';'} legal: {', '.join(TRACKERS)}")
    return TRACKERS[name]


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
