"""Two commands at once."""

import time

from tests.campaign.faults import fault
from tests.campaign.scene import DONE, MISSING, Scene


@fault("two-drivers")
def two_drivers(scene: Scene) -> None:
    """The same command twice at once, the second at a random moment of the first."""
    first = scene.start()
    scene.moment(first)
    scene.strike(first, "a second driver", lambda: None)
    second = scene.start()
    scene.finish(first, {DONE})
    scene.finish(second, {DONE})


@fault("two-drivers-kill")
def two_drivers_one_killed(scene: Scene) -> None:
    """The same command twice at once, and one of them killed."""
    drivers = [scene.start()]
    time.sleep(scene.rng.uniform(0, 3))
    drivers.append(scene.start())
    killed, other = scene.rng.sample(drivers, 2)
    scene.moment(killed)
    if victim := scene.target(killed, "driver"):
        scene.strike(killed, f"kill -9 {killed.out.stem} ({victim.pid})", victim.kill)
    scene.finish(killed, {-9, DONE} if not scene.amid else {-9})
    scene.finish(other, {DONE, MISSING})
