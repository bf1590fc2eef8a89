"""Analysis of results: `from analysis import Results` opens a results directory in a notebook or a script; `Study` and the other
names make a study of one's own."""

from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.claims.kinds.declared import kind as kind
    from analysis.figures.drawn import Drawn as Drawn
    from analysis.figures.drawn import Figure as Figure
    from analysis.figures.drawn import Missing as Missing
    from analysis.overlays.declared import theory
    from analysis.results import Results as Results
    from analysis.study import Study as Study

_HOMES = {
    "Results": "results", "Study": "study", "theory": "overlays.declared", "kind": "claims.kinds.declared",
    "Figure": "figures.drawn", "Drawn": "figures.drawn", "Missing": "figures.drawn",
}  # fmt: skip
__all__ = [*_HOMES]

run_path(str(Path(__file__).parents[1] / "sweepkit" / "console" / "shadowing.py"))  # a user's file may hide a package


def __getattr__(name: str) -> Any:
    """A name of the interface, imported when it is asked for: what needs little of this package starts sooner."""
    if name in _HOMES:
        return getattr(import_module(f"analysis.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
