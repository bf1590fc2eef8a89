"""What every command says of bad input, and how it leaves then."""

from typing import NoReturn

import typer
from rich.console import Console

err = Console(stderr=True)
"""Where everything goes that is no answer."""


def stop(message: str) -> NoReturn:
    """Bad input: say what is wrong, in red where there is colour, and leave with 2."""
    err.print(message, style="red", highlight=False, soft_wrap=True, markup=False, emoji=False)
    raise typer.Exit(2)
