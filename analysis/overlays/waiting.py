"""Theory that takes seconds to minutes, computed with a progress bar for a command that waits, and kept on disk."""

from collections.abc import Sequence

from rich.progress import track

from analysis.overlays.overlays import Later
from console.terminal import err, told


def computed(missing: Sequence[Later]) -> None:
    """Compute theory that takes long, with a progress bar; each value is kept on disk, so that Ctrl-C loses one at most."""
    words = f"theory of {len(missing)} points, which is kept on disk (--no-wait, or wait=False in Python, leaves it out)"
    if not err.is_terminal:
        told(f"computing {words} ...")
    for later in track(missing, words, console=err, transient=True, disable=not err.is_terminal):
        later.compute()


def left_out(missing: Sequence[Later]) -> None:
    """Say that theory is not shown."""
    told(f"the theory of {len(missing)} points is not computed yet and left out")
