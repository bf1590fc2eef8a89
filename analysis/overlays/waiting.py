"""Theory that takes seconds to minutes: computed with its progress for a command that waits, kept on disk, or left out."""

import time

from analysis.overlays.overlays import Compute, Later
from sweepkit.console.terminal import told, tracked
from sweepkit.console.words import counted


def computed(missing: list[Later], otherwise: str = "--no-wait leaves it out") -> bool:
    """Compute theory that takes long, with its progress. Each value is kept on disk, so that Ctrl-C loses one at most.
    `otherwise`: how to do without it."""
    for later in tracked(missing, f"theory of {counted(len(missing), 'point')}, which is kept on disk ({otherwise})"):
        later.compute()
    return True


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
