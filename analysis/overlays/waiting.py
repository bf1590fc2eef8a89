"""Theory that takes seconds to minutes, computed with a progress bar for a command that waits, and kept on disk."""

import time
from collections.abc import Callable, Sequence

from rich.progress import track

from analysis.overlays.overlays import Later
from console.terminal import err, told


def computed(missing: Sequence[Later]) -> None:
    """Compute theory that takes long, with a progress bar; each value is kept on disk, so that Ctrl-C loses one at most."""
    words = f"theory of {len(missing)} points, which is kept on disk (--no-wait leaves it out)"
    if not err.is_terminal:
        told(f"computing {words} ...")
    for later in track(missing, words, console=err, transient=True, disable=not err.is_terminal):
        later.compute()


def computed_within(seconds: float) -> Callable[[Sequence[Later]], None]:
    """A function that computes theory for this long, and says how much of it is left out then. Each value is kept on disk."""

    def compute(missing: Sequence[Later]) -> None:
        end = time.monotonic() + seconds
        for done, later in enumerate(missing):
            if time.monotonic() > end:
                left = f"theory of {len(missing) - done} points is left out, as it takes longer than {seconds:g} s"
                return told(f"{left}: the same call goes on from there, and wait=True computes it all; values are kept on disk")
            later.compute()

    return compute


def left_out(missing: Sequence[Later]) -> None:
    """Say that theory is not shown."""
    told(f"the theory of {len(missing)} points is not computed yet and left out")
