"""Definitions that tasks and their features share. This module imports neither, so either can be imported first."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sweepkit.console.errors import PlainError

if TYPE_CHECKING:
    from rich.console import Console

Array = np.ndarray[Any, Any]


class TaskError(PlainError):
    """Something that a task needs besides its keys is missing or unusable. The message is one line and says how to fix it."""


class CardUnusable(RuntimeError):
    """A card or its software cannot train at all; the message says why and what helps. No fault of the cells."""


class CardFault(RuntimeError):
    """CUDA failed amid work. The process cannot use the card any more; another process may. No fault of the cells."""


class CannotRecordError(RuntimeError):
    """A step cannot be recorded for a card, for example because a user's network waits for the device. Processors can take it."""


class Preparation(NamedTuple):
    """A file that a task makes before it trains: its content in words, its future path, and its largest possible size."""

    what: str
    file: Path
    n_bytes: int


def say(console: "Console", text: str) -> None:
    """Print the text as it is: rich markup is not interpreted, and long lines such as paths are not broken."""
    console.print(text, highlight=False, soft_wrap=True, markup=False)
