"""The trackers that runs can be shared with: each is named once, here. None is imported before it is opened."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sweepkit.console.words import nearest
from sweepkit.store.files import ResultsError
from sweepkit.store.sharing.destination import Destination


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
    from sweepkit.store.sharing.to_mlflow import MLflow

    return MLflow.at(**options)


def _wandb(**options: Any) -> Destination:
    from sweepkit.store.sharing.to_wandb import opened

    return opened(**options)


def _tensorboard(**options: Any) -> Destination:
    from sweepkit.store.sharing.to_tensorboard import TensorBoard

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
        legal = f"legal: {', '.join(TRACKERS)}; --out names a folder for files"
        raise ResultsError(f"unknown destination {name!r}{nearest(name, TRACKERS) or ';'} {legal}")
    return TRACKERS[name]
