"""Theory that takes seconds to minutes: computed with its progress for a command that waits, kept on disk, or left out."""

import time

from rich.progress import track

from analysis.overlays.overlays import Compute, Later
from console.terminal import err, told
from console.words import duration

LINE_EVERY_S = 30.0
"""Seconds between two lines of progress where standard error is no terminal."""


def computed(missing: list[Later]) -> bool:
    """Compute theory that takes long, and show how far it is; each value is kept on disk, so that Ctrl-C loses one at most."""
    words = f"theory of {len(missing)} points, which is kept on disk (--no-wait leaves it out)"
    if err.is_terminal:
        for later in track(missing, words, console=err, transient=True):
            later.compute()
        return True
    told(f"computing {words} ...")
    began = said = time.monotonic()
    for done, later in enumerate(missing, 1):
        later.compute()
        now = time.monotonic()
        if now - said > LINE_EVERY_S and done < len(missing):
            said = now
            told(f"{done} of {len(missing)} points, elapsed {duration(now - began)}")
    return True


def computed_within(seconds: float) -> Compute:
    """A function that computes theory for this long, and says how much of it is left out then. Each value is kept on disk."""

    def compute(missing: list[Later]) -> bool:
        end = time.monotonic() + seconds
        for done, later in enumerate(missing):
            if time.monotonic() > end:
                left = f"theory of {len(missing) - done} points is left out, as it takes longer than {seconds:g} s"
                told(f"{left}: the same call goes on from there, and wait=True computes it all; values are kept on disk")
                return done > 0
            later.compute()
        return True

    return compute


def left_out(missing: list[Later]) -> bool:
    """Say that theory is not shown."""
    told(f"the theory of {len(missing)} points is not computed yet and left out")
    return False
