"""What a figure is, and what drawing one gives."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from analysis.overlays.overlays import Later
from console.commands import sweep_command


@dataclass(frozen=True)
class Drawn:
    """A figure over some data: `frame` is what it shows, as its CSV holds it."""

    chart: Any
    frame: pd.DataFrame
    caption: str
    """What the networks are, how many, and what was left out."""
    sql: str | None = None
    """The query behind it; None for a figure of theory alone."""
    missing: list[Later] = field(default_factory=list)
    """Theory that is left out as it takes long; once computed, drawing again shows it."""


@dataclass(frozen=True)
class Missing:
    """The store lacks what the figure needs."""

    needs: str


class Figure(NamedTuple):
    """A figure of the paper."""

    name: str
    title: str
    source: str
    grids: tuple[str, ...]
    """Grids that yield its data: the paper's own, then a smaller one; overrides may follow a grid's name."""
    draw: Callable[[str, str | None], Drawn | Missing]
    """From a results directory and of a sweep (None: all)."""

    @property
    def is_numbered(self) -> bool:
        """Whether its name is the number of a figure of the paper."""
        return f"Fig. {self.name}" in self.source

    def draw_in_full(self, results: str, sweep: str | None, compute: Callable[[list[Later]], None]) -> Drawn | Missing:
        """`draw`, with the theory that takes long computed by `compute`."""
        drawn = self.draw(results, sweep)
        if isinstance(drawn, Missing) or not drawn.missing:
            return drawn
        compute(drawn.missing)
        return self.draw(results, sweep)

    def commands(self, results: str) -> list[str]:
        """What to type to get its data."""
        return [command_of(grid, results) for grid in self.grids]


def command_of(grid: str, results: str) -> str:
    """What to type for one of a figure's grids."""
    name, *overrides = grid.split()
    return sweep_command(name, results, *overrides)
