"""The trackers that runs can be shared with: each is named once, here. None is imported before it is opened."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sweepkit.console.words import nearest
from sweepkit.extras import missing_extra
from sweepkit.store.files import ResultsError
from sweepkit.store.sharing.destination import Destination


@dataclass(frozen=True)
class Tracker:
    """A kind of destination: its name, also that of the extra it needs, its options, and how it is opened."""

    name: str
    title: str
    options: tuple[str, ...]
    """The options of the command that it takes, as keywords of `open`."""
    open: Callable[..., Destination]

    def opened(self, options: Mapping[str, Any]) -> Destination:
        """The destination, reachable and writable. ResultsError if it is not, or if its package is missing."""
        if why := missing_extra(self.name):
            raise ResultsError(why)
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
        Tracker("mlflow", "MLflow", ("tracking_uri",), _mlflow),
        Tracker("wandb", "Weights & Biases", ("project", "entity", "offline", "out"), _wandb),
        Tracker("tensorboard", "TensorBoard", ("out",), _tensorboard),
    )
}
"""The trackers by the name that `--to` takes."""


def tracker(name: str) -> Tracker:
    """The tracker of that name. ResultsError for any other."""
    if name not in TRACKERS:
        legal = f"legal: {', '.join(TRACKERS)}; --out names a folder for files"
        raise ResultsError(f"unknown destination {name!r}{nearest(name, TRACKERS) or ';'} {legal}")
    return TRACKERS[name]
