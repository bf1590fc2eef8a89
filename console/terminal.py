"""How every command speaks on the terminal: what it is doing, what is wrong with its input, and how it leaves then."""

from typing import NoReturn

import typer
from rich.console import Console

from console.printable import printable

err = Console(stderr=True)
"""Where everything goes that is no answer."""


def complain(message: str) -> None:
    """Say what is wrong, in red where there is colour."""
    err.print(printable(message), style="red", highlight=False, soft_wrap=True, markup=False, emoji=False)


def stop(message: str, code: int = 2) -> NoReturn:
    """Bad input (2), or what the command cannot do now (1): say what is wrong, and leave."""
    complain(message)
    raise typer.Exit(code)


def told(text: str) -> None:
    """Say what is being done."""
    err.print(printable(text), highlight=False, soft_wrap=True, markup=False, emoji=False)
