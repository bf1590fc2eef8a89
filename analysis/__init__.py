"""Analysis of results: `from analysis import Results` opens a results directory in a notebook, and `Study` a study."""

from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.results import Results
    from analysis.study import Study

__all__ = ["Results", "Study"]

run_path(str(Path(__file__).parents[1] / "sweepkit" / "console" / "shadowing.py"))  # a user's file may hide a package


def __getattr__(name: str) -> Any:
    """A name of the interface, imported when it is asked for: what needs little of this package starts sooner."""
    if name in __all__:
        return getattr(import_module(f"analysis.{name.lower()}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
