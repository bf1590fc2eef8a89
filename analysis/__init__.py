"""Analysis of results: `from analysis import Results` opens a results directory in a notebook or a script."""

from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.results import Results

__all__ = ["Results"]

run_path(str(Path(__file__).parents[1] / "sweepkit" / "console" / "shadowing.py"))  # a user's file may hide a package


def __getattr__(name: str) -> Any:
    """`Results`, imported when it is asked for: commands that need little of this package start sooner."""
    if name == "Results":
        from analysis.results import Results

        return Results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
