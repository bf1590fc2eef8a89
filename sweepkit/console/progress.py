"""Progress of work that takes minutes: a bar on a terminal, else a line now and then."""

import threading
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from rich.progress import track

from sweepkit.console.terminal import err, told
from sweepkit.console.words import duration

T = TypeVar("T")

EVERY_S = 30.0
"""Seconds between two lines where there is no terminal for a bar."""


def tracked(items: Sequence[T], words: str) -> Iterator[T]:
    """The items, one after the other; `words` say what is done with them. A thread prints lines, as one item may take long."""
    if err.is_terminal:
        yield from track(items, words, console=err, transient=True)
        return
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
