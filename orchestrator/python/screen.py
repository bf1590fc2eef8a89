"""The progress of a sweep: in a notebook a bar that every front end shows without further packages, elsewhere the terminal."""

import sys
from html import escape
from importlib import import_module
from typing import Any

from orchestrator.running.progress import Screen, Snapshot
from orchestrator.running.screens import screen_of
from sweepkit.console.escaping import printable
from sweepkit.console.terminal import err, told

EVERY_S = 0.5
"""Seconds between two pictures: each is a message to the browser, and the last one is kept in the notebook's file."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


def screen_here(quiet: bool) -> Screen:
    """The screen for the progress: a bar in a notebook, the terminal elsewhere."""
    return Bar() if in_notebook() and not quiet else screen_of(err, quiet)


def say_here(text: str) -> None:
    """Tell a person what is being done. Notebooks show standard error as if it were an error."""
    if in_notebook():
        print(printable(text), flush=True)
    else:
        told(text)


class Bar:
    """A bar below the cell that runs, with the latest networks."""

    every_s = EVERY_S

    def __init__(self) -> None:
        self._shown: Any = None

    def show(self, now: Snapshot) -> None:
        self._draw(now, now.last)

    def close(self, last: Snapshot) -> None:
        self._draw(last, ())

    def _draw(self, now: Snapshot, latest: tuple[str, ...]) -> None:
        shown: Any = import_module("IPython.display")  # the kernel has it

        lines = "".join(f'<div style="opacity:0.6">{escape(text)}</div>' for text in latest)
        bar = f'<progress value="{now.fraction:.4f}" max="1" style="width:20em;vertical-align:middle"></progress>'
        picture = shown.HTML(f"<div>{bar} {100 * now.fraction:.0f} % &nbsp; {escape(now.line())}{lines}</div>")
        if self._shown is None:
            self._shown = shown.display(picture, display_id=True)
        else:
            self._shown.update(picture)
