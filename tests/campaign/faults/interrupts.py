"""A user who changes their mind."""

import signal
import time

from tests.campaign.faults import fault
from tests.campaign.scene import DONE, INTERRUPTED, MISSING, Scene

SOON_S = 20.0
"""A second Ctrl-C ends the sweep within this."""


def _interrupt(scene: Scene, what: signal.Signals, times: int) -> None:
    sweep = scene.start()
    scene.moment(sweep)
    group = what == signal.SIGINT  # a terminal's Ctrl-C reaches every process of the command
    for _ in range(times):
        scene.strike(sweep, what.name, lambda: sweep.signal(what, group))
        time.sleep(scene.rng.uniform(0, 1))
    # One that comes when the last pack has landed finds all done.
    scene.finish(sweep, {INTERRUPTED, DONE, MISSING} if not scene.amid else {INTERRUPTED, DONE}, SOON_S if times > 1 else None)


@fault("ctrl-c")
def ctrl_c(scene: Scene) -> None:
    """Ctrl-C once: packs in flight finish."""
    _interrupt(scene, signal.SIGINT, 1)


@fault("ctrl-c-twice")
def ctrl_c_twice(scene: Scene) -> None:
    """Ctrl-C two or three times: the sweep ends at once."""
    _interrupt(scene, signal.SIGINT, scene.rng.choice([2, 2, 3]))


@fault("sigterm")
def sigterm(scene: Scene) -> None:
    """SIGTERM, as schedulers send it: packs in flight finish."""
    _interrupt(scene, signal.SIGTERM, 1)
