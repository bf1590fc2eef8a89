"""Theory that takes seconds to minutes: computed with its progress for a command that waits, kept on disk, or left out."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import track

from analysis.overlays.overlays import Compute, Later
from sweepkit.console.terminal import err, told
from sweepkit.console.words import counted, duration

EVERY_S = 30.0
"""Seconds between two lines of progress where there is no terminal for a bar."""


def computed(missing: list[Later], otherwise: str = "--no-wait leaves it out") -> bool:
    """Compute theory that takes long, with a progress bar, or with a line now and then where there is no terminal. Each value is
    kept on disk, so that Ctrl-C loses one at most. `otherwise`: how to do without it."""
    words = f"theory of {counted(len(missing), 'point')}, which is kept on disk ({otherwise})"
    if err.is_terminal:
        for later in track(missing, words, console=err, transient=True):
            later.compute()
        return True
    told(f"computing {words} ...")
    done = 0
    with _lines(lambda: f"theory of {done} of {counted(len(missing), 'point')} computed"):
        for later in missing:
            later.compute()
            done += 1
    return True


@contextmanager
def _lines(says: Callable[[], str]) -> Iterator[None]:
    """Print a line every half minute, with the time that has passed. A thread prints it: one point alone may take minutes."""
    start, over = time.monotonic(), threading.Event()

    def run() -> None:
        while not over.wait(EVERY_S):
            told(f"{says()}, {duration(time.monotonic() - start)}")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def computed_within(seconds: float) -> Compute:
    """A function that computes theory for this long, and says how much of it is left out then. Each value is kept on disk."""

    def compute(missing: list[Later]) -> bool:
        end = time.monotonic() + seconds
        for done, later in enumerate(missing):
            if time.monotonic() > end:
                left = f"theory of {counted(len(missing) - done, 'point')} is left out, as it takes longer than {seconds:g} s"
                told(f"{left}: the same call goes on from there, and wait=True computes it all; values are kept on disk")
                return done > 0
            later.compute()
        return True

    return compute


def left_out(missing: list[Later]) -> bool:
    """Say that theory is not shown."""
    told(f"the theory of {counted(len(missing), 'point')} is not computed yet and left out")
    return False
