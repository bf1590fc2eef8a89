"""The messages of every command on the terminal: what it is doing, how far it is, and what is wrong with its input."""

import threading
import time
from collections.abc import Iterator, Sequence
from typing import NoReturn, TypeVar

import typer
from rich.console import Console

from sweepkit.console.escaping import printable

T = TypeVar("T")

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


EVERY_S = 30.0
"""Seconds between two lines where there is no terminal for a bar."""


def tracked(items: Sequence[T], words: str) -> Iterator[T]:
    """The items, one after the other; `words` say what is done with them. A thread prints lines, as one item may take long."""
    if err.is_terminal:
        from rich.progress import track  # here, as below: help need not wait for them

        yield from track(items, words, console=err, transient=True)
        return
    from sweepkit.console.words import duration

    told(f"{words} ...")
    start, over, done = time.monotonic(), threading.Event(), 0

    def run() -> None:
        while not over.wait(EVERY_S):
            told(f"{words}: {done} of {len(items)}, {duration(time.monotonic() - start)}")

    threading.Thread(target=run, daemon=True).start()
    try:
        for item in items:
            yield item
            done += 1
    finally:
        over.set()
