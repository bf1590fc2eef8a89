"""Figures of the paper, and the results of drawing them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from analysis.overlays.overlays import Compute, Later
from sweepkit.console.commands import sweep_command
from sweepkit.console.words import capital
from sweepkit.declarations.columns import Metric
from sweepkit.store.searches import Question


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


class Titled(NamedTuple):
    """A figure with its title, and the usual name of its files."""

    title: str
    caption: str
    chart: Any
    frame: pd.DataFrame
    name: str

    def with_caption(self) -> "Titled":
        """The figure with its caption in the picture; one of matplotlib has it already."""
        from analysis.charts.shown.titles import captioned

        return self if hasattr(self.chart, "savefig") else self._replace(chart=captioned(self.chart, self.caption))


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
    draw_by: Callable[..., Drawn | Missing] | None = None
    """Function that draws it by another `measure`, and at another `level` if it `has_level`; None for a figure that shows one
    measure alone."""
    says: str = "test accuracy"
    """The words of the title that name its own measure."""
    has_level: bool = False
    """True for a figure that shows where a measure reaches a level."""
    thresholds: tuple[Question, ...] = ()
    """The thresholds that it shows; page Scaling opens at their levels for the sweeps of its grids."""

    @property
    def is_numbered(self) -> bool:
        """Whether its name is the number of a figure of the paper."""
        return f"Fig. {self.name}" in self.source

    def title_by(self, measure: Metric) -> str:
        """The title of the figure by another measure: that measure's title stands in place of the own one's words."""
        for own, other in ((self.says, measure.title), (capital(self.says), capital(measure.title))):
            if own in self.title:
                return self.title.replace(own, other)
        return f"{self.title}, by {measure.title}"

    def draw_in_full(
        self, results: str, sweep: str | None, compute: Compute, measure: str | None = None, level: float | None = None
    ) -> Drawn | Missing:
        """The figure that `draw` gives, or `draw_by` another measure or at another level. Theory that takes long is handed to
        `compute`; if that computed some, the figure is drawn again. ValueError if the figure shows one measure alone, or has no
        level."""
        if measure is not None and self.draw_by is None:
            raise ValueError(f"figure {self.name} shows one measure alone")
        if level is not None and not self.has_level:
            raise ValueError(f"figure {self.name} has no level")
        other = {key: value for key, value in (("measure", measure), ("level", level)) if value is not None}

        def draw() -> Drawn | Missing:
            return self.draw_by(results, sweep, **other) if self.draw_by and other else self.draw(results, sweep)

        drawn = draw()
        if not isinstance(drawn, Missing) and drawn.missing and compute(drawn.missing):
            return draw()
        return drawn

    def commands(self, results: str) -> list[str]:
        """The commands that yield its data."""
        return [command_of(grid, results) for grid in self.grids]


def command_of(grid: str, results: str) -> str:
    """The command for one of a figure's grids."""
    name, *overrides = grid.split()
    return sweep_command(name, results, *overrides)
