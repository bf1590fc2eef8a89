"""The forecast of a sweep as Python gets it."""

import io
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from orchestrator.plan.announce import Outlook
from orchestrator.plan.forecast import Forecast, print_forecast

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Foreseen:
    """The networks that a sweep would train, and the time and memory they take."""

    lines: tuple[str, ...]
    """The announcement, and warnings."""
    forecast: Forecast
    outlook: Outlook | None
    """The networks that unfinished searches will ask for."""

    @property
    def networks(self) -> int:
        """The number of networks to train, without those that searches will ask for later."""
        return sum(shape.cells for shape in self.forecast.shapes)

    @property
    def seconds(self) -> float:
        """From the start to the end, with what searches will ask for."""
        return self.outlook.wall_s if self.outlook else self.forecast.wall_s

    @property
    def table(self) -> "pd.DataFrame":
        """One row per shape of networks: its engine, its device, the numbers of networks and packs, seconds, bytes of a pack."""
        import pandas as pd

        return pd.DataFrame([asdict(shape) for shape in self.forecast.shapes])

    def __repr__(self) -> str:
        lines = list(self.lines)
        if self.networks:
            text = io.StringIO()
            plain = Console(file=text, width=120, color_system=None, force_terminal=False, force_jupyter=False)
            print_forecast(self.forecast, plain, goes_on=self.outlook is not None)
            lines += [line.rstrip() for line in text.getvalue().rstrip().splitlines()]
        else:
            lines.append("nothing to train")
        return "\n".join([*lines, *([self.outlook.describe()] if self.outlook else [])])
