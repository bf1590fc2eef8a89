"""What every command says of bad input, how it leaves then, and how it shows that something takes long."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console
from rich.progress import track

from store.printable import printable

if TYPE_CHECKING:
    from analysis.overlays import Later

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


def computed(missing: "Sequence[Later]") -> None:
    """Compute theory that takes long, with a bar; each value is kept on disk, so that Ctrl-C loses one at most."""
    words = f"theory of {len(missing)} points, kept on disk (--no-wait leaves it out)"
    if not err.is_terminal:
        told(f"computing {words} ...")
    for later in track(missing, words, console=err, transient=True, disable=not err.is_terminal):
        later.compute()


def left_out(missing: "Sequence[Later]") -> None:
    """Say that theory is not shown."""
    told(f"the theory of {len(missing)} points is not computed yet and left out")
