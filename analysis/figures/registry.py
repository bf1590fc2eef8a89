"""All figures: those of the studies."""

from pathlib import PurePosixPath

from analysis.figures.along import figure_of
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.figures.names import OWN
from analysis.studies.declared import Declared
from analysis.studies.gathered import Gathered
from analysis.studies.loading import of_each, part
from sweepkit.store.searches import Question
from sweepkit.studies import StudyError


def figures_of(study: Declared) -> list[Figure]:
    """The figures that a study brings: those it declares, then those in `FIGURES` of its module `figures`, else all there."""
    module = part(study.folder, "figures")
    held = getattr(module, "FIGURES", vars(module).values()) if module else ()
    lists = [value if type(value) in (list, tuple) else (value,) for value in held]  # a Figure is a tuple, too
    own = [one for values in lists for one in values if isinstance(one, Figure)]
    return [*(figure_of(study, along) for along in study.figures), *own]


def _all() -> dict[str, Figure]:
    names = {name.lower() for name in RESERVED}

    def gather(study: Declared) -> list[Figure]:
        own = figures_of(study)
        mine = [one.name.lower() for one in own]
        for i, name in enumerate(mine):
            if name in names or name in mine[:i]:
                raise StudyError(f"study {study.name}: figure {own[i].name!r} is there already: give it another name")
        names.update(mine)
        return own

    every = [one for _, own in of_each(gather) for one in own]
    numbered = sorted((one for one in every if one.is_numbered), key=lambda one: one.name)
    return {one.name: one for one in (*numbered, *every)}


RESERVED = tuple(OWN)
"""Words that stand for figures of any sweep."""
FIGURES = Gathered(_all)
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


__all__ = ["FIGURES", "Drawn", "Figure", "Missing", "figures_of", "of_sweep", "thresholds_of"]
