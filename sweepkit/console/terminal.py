"""The messages of every command on the terminal: what it is doing, and what is wrong with its input before it leaves."""

from typing import NoReturn

import typer
from rich.console import Console

from sweepkit.console.escaping import printable

err = Console(stderr=True)
"""Standard error: everything that is not an answer goes here."""


def complain(message: str) -> None:
    """Say what is wrong, in red where there is colour."""
    err.print(printable(message), style="red", highlight=False, soft_wrap=True, markup=False, emoji=False)


def stop(message: str, code: int = 2) -> NoReturn:
    """Say what is wrong and leave: with 2 for bad input, with 1 for something that the command cannot do now."""
    complain(message)
    raise typer.Exit(code)


def told(text: str) -> None:
    """Say what is being done."""
    err.print(printable(text), highlight=False, soft_wrap=True, markup=False, emoji=False)
