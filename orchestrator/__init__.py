"""Sweeps: from a grid to stored results. In Python: `from orchestrator import Grid, run`."""

from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

run_path(str(Path(__file__).parents[1] / "sweepkit" / "console" / "shadowing.py"))  # a user's file may hide a package

if TYPE_CHECKING:
    from orchestrator.grid.load import Grid
    from orchestrator.grid.syntax.problems import GridError
    from orchestrator.options import SweepError
    from orchestrator.python.calls import forecast, run
    from orchestrator.python.foreseen import Foreseen
    from orchestrator.python.summary import Summary
    from sweepkit.store.files import ResultsError
    from trainables.tasks.base import TaskError

__all__ = ["Foreseen", "Grid", "GridError", "ResultsError", "Summary", "SweepError", "TaskError", "forecast", "run"]

_HOME = {
    "Grid": "orchestrator.grid.load",
    "GridError": "orchestrator.grid.syntax.problems",
    "ResultsError": "sweepkit.store.files",
    "TaskError": "trainables.tasks.base",
    "SweepError": "orchestrator.options",
    "Summary": "orchestrator.python.summary",
    "Foreseen": "orchestrator.python.foreseen",
    "forecast": "orchestrator.python.calls",
    "run": "orchestrator.python.calls",
}


def __getattr__(name: str) -> Any:
    """A name of `__all__`, imported when it is asked for: commands that need little of this package start sooner."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
