"""All figures. A new one needs a file in a room beside this one, and a line in the room's own list."""

from pathlib import PurePosixPath

from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.figures.equilibrium import EQUILIBRIUM_FIGURES
from analysis.figures.richness import RICHNESS_FIGURES
from analysis.figures.symbols import SYMBOL_FIGURES
from analysis.figures.templates import TEMPLATE_FIGURES
from analysis.figures.training import TRAINING_FIGURES
from sweepkit.store.searches import Question

_ALL = (*SYMBOL_FIGURES, *EQUILIBRIUM_FIGURES, *RICHNESS_FIGURES, *TEMPLATE_FIGURES, *TRAINING_FIGURES)
FIGURES = {f.name: f for f in (*sorted((f for f in _ALL if f.is_numbered), key=lambda f: f.name), *_ALL)}
"""The figures by name: first those numbered in the paper, in its order, then the others as they are listed."""


def of_sweep(sweep: str) -> list[Figure]:
    """The figures whose grids have the name of a sweep; `-` and `_` are one there."""
    return [figure for figure in FIGURES.values() if any(_plain(_stem(grid)) == _plain(sweep) for grid in figure.grids)]


def thresholds_of(sweep: str | None) -> list[tuple[str, Question]]:
    """The thresholds that the figures of a sweep show, each with the figure's name."""
    return [(figure.name, asked) for figure in (of_sweep(sweep) if sweep else ()) for asked in figure.thresholds]


def _stem(grid: str) -> str:
    return PurePosixPath(grid.split()[0]).stem


def _plain(name: str) -> str:
    return name.replace("_", "-")


__all__ = ["FIGURES", "Drawn", "Figure", "Missing", "of_sweep", "thresholds_of"]
