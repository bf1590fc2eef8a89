"""Screens for the progress of a sweep: a live display on a terminal, elsewhere a line every 30 s, or nothing."""

from math import inf

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestrator.running.progress import Screen, Snapshot

LINE_EVERY_S = 30.0
REDRAW_EVERY_S = 0.2


def screen_of(console: Console, quiet: bool) -> Screen:
    """The screen that suits the console."""
    return Silence() if quiet else Terminal(console) if console.is_terminal else Lines(console)


class Silence:
    """Shows nothing."""

    every_s = inf

    def show(self, now: Snapshot) -> None:
        """Do nothing."""

    def close(self, last: Snapshot) -> None:
        """Do nothing."""


class Lines:
    """One line every 30 s, for a file or a pipe."""

    every_s = LINE_EVERY_S

    def __init__(self, console: Console) -> None:
        self.console = console
        self._is_first = True

    def show(self, now: Snapshot) -> None:
        if not self._is_first:  # at the start there is nothing to tell
            self.console.print(now.line(), highlight=False)
        self._is_first = False

    def close(self, last: Snapshot) -> None:
        self.console.print(last.line(), highlight=False)


class Terminal:
    """A bar and the latest networks, drawn over the last picture."""

    every_s = REDRAW_EVERY_S

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live = Live(console=console, refresh_per_second=5, transient=True)

    def show(self, now: Snapshot) -> None:
        self.live.start()  # does nothing the second time
        self.live.update(_panel(now))

    def close(self, last: Snapshot) -> None:
        self.live.stop()
        self.console.print(last.line(), highlight=False)


def _panel(now: Snapshot) -> Group:
    bar = Table.grid(padding=(0, 1))
    bar.add_row(ProgressBar(total=1.0, completed=now.fraction, width=40), Text(f"{100 * now.fraction:5.1f} %"))
    return Group(bar, Text(now.line()), *(Text(f"  {text}", style="dim") for text in now.last))
