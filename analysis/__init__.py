"""Analysis of results: `from analysis import Results` opens a results directory in a notebook or a script."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.results import Results

__all__ = ["Results"]


def __getattr__(name: str) -> Any:
    """`Results`, imported when it is asked for: commands that need little of this package start sooner."""
    if name == "Results":
        from analysis.results import Results

        return Results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
