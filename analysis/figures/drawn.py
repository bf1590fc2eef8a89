"""Figures of the paper, and the results of drawing them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from analysis.overlays.overlays import Later
from console.commands import sweep_command
from declarations.metric import Metric


@dataclass(frozen=True)
class Drawn:
    """A drawn figure; `frame` holds the data that it shows, as its CSV does."""

    chart: Any
    frame: pd.DataFrame
    caption: str
    """Words: which networks, how many, and what was left out."""
    sql: str | None = None
    """The query behind it; None for a figure of theory alone."""
    missing: list[Later] = field(default_factory=list)
    """Theory that is left out because it takes long; once it is computed, drawing again shows it."""


@dataclass(frozen=True)
class Missing:
    """A figure that cannot be drawn, as the store lacks what it needs."""

    needs: str


class Figure(NamedTuple):
    """A figure of the paper."""

    name: str
    title: str
    source: str
    grids: tuple[str, ...]
    """Grids that yield its data: the paper's own, then a smaller one; overrides may follow a grid's name."""
    draw: Callable[[str, str | None], Drawn | Missing]
    """Function that draws it from a results directory and a sweep (None: all sweeps)."""
    draw_by: Callable[[str, str | None, str], Drawn | Missing] | None = None
    """Function that draws it by another measure, the third argument; None for a figure that shows one measure alone."""
    says: str = "test accuracy"
    """The words of the title that name its own measure."""

    @property
    def is_numbered(self) -> bool:
        """Whether its name is the number of a figure of the paper."""
        return f"Fig. {self.name}" in self.source

    def title_by(self, measure: Metric) -> str:
        """The title of the figure by another measure: that measure's title stands in place of the own one's words."""
        for own, other in ((self.says, measure.title), (_capital(self.says), _capital(measure.title))):
            if own in self.title:
                return self.title.replace(own, other)
        return f"{self.title}, by {measure.title}"

    def draw_in_full(
        self, results: str, sweep: str | None, compute: Callable[[list[Later]], None], measure: str | None = None
    ) -> Drawn | Missing:
        """The figure that `draw` gives, or `draw_by` another measure. Theory that takes long is handed to `compute`, then the
        figure is drawn again. ValueError if the figure shows one measure alone."""
        if measure is not None and self.draw_by is None:
            raise ValueError(f"figure {self.name} shows one measure alone")

        def draw() -> Drawn | Missing:
            return self.draw(results, sweep) if measure is None or not self.draw_by else self.draw_by(results, sweep, measure)

        drawn = draw()
        if isinstance(drawn, Missing) or not drawn.missing:
            return drawn
        compute(drawn.missing)
        return draw()

    def commands(self, results: str) -> list[str]:
        """The commands that yield its data."""
        return [command_of(grid, results) for grid in self.grids]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def command_of(grid: str, results: str) -> str:
    """The command for one of a figure's grids."""
    name, *overrides = grid.split()
    return sweep_command(name, results, *overrides)
