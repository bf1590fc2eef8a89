"""Processes that are killed or frozen."""

import time

from tests.campaign.faults import fault
from tests.campaign.scene import DONE, MISSING, Scene

ENDINGS = {DONE, MISSING}
ACTOR = ("ray::PackTrainable", "ray::ResourceTrainable")
"""Tune wraps the trainable's name in that of its resources while it trains."""


def _kill(scene: Scene, *names: str) -> None:
    sweep = scene.start()
    scene.moment(sweep)
    victim = scene.target(sweep, *names)
    if victim:
        scene.strike(sweep, f"kill -9 {names[0]} ({victim.pid})", victim.kill)
    # A sweep that was quicker than the moment drawn ended by itself.
    scene.finish(sweep, ({-9} if scene.amid else {-9, DONE}) if names == ("driver",) else ENDINGS)


def _freeze(scene: Scene, names: tuple[str, ...], for_good: bool) -> None:
    sweep = scene.start()
    scene.moment(sweep)
    victim = scene.target(sweep, *names)
    if not victim:
        return scene.finish(sweep, ENDINGS)
    scene.strike(sweep, f"SIGSTOP {names[0]} ({victim.pid})", victim.suspend)
    scene.frozen.append(victim)
    if not for_good:
        time.sleep(scene.rng.uniform(1, 8))
        scene.thaw()
        scene.tell("thawed")
        return scene.finish(sweep, ENDINGS)
    # What never moves again is given up after a while: Ctrl-C, and again.
    scene.finish(sweep, ENDINGS, seconds=scene.rng.uniform(5, 20) + scene.undisturbed.seconds)


@fault("kill-actor")
def kill_actor(scene: Scene) -> None:
    """kill -9 of a worker that trains a pack."""
    _kill(scene, *ACTOR)


@fault("kill-actor-often")
def kill_actor_often(scene: Scene) -> None:
    """kill -9 of workers that train, two to six times."""
    sweep = scene.start()
    scene.moment(sweep)
    for _ in range(scene.rng.randint(2, 6)):
        if victim := scene.target(sweep, *ACTOR):
            scene.strike(sweep, f"kill -9 of {victim.pid}", victim.kill)
        time.sleep(scene.rng.uniform(0, 2))
    scene.finish(sweep, ENDINGS)


@fault("kill-worker")
def kill_worker(scene: Scene) -> None:
    """kill -9 of any process that Ray started for itself or for tasks: idle workers, its agents."""
    _kill(scene, "ray::")


@fault("kill-raylet")
def kill_raylet(scene: Scene) -> None:
    """kill -9 of Ray's node process, which places workers."""
    _kill(scene, "raylet")


@fault("kill-head", rare=True)
def kill_head(scene: Scene) -> None:
    """kill -9 of Ray's head process (GCS), which knows where everything is."""
    _kill(scene, "gcs_server")


@fault("kill-driver")
def kill_driver(scene: Scene) -> None:
    """kill -9 of the command itself."""
    _kill(scene, "driver")


@fault("freeze-actor")
def freeze_actor(scene: Scene) -> None:
    """A worker stops for some seconds (SIGSTOP), then goes on."""
    _freeze(scene, ACTOR, for_good=False)


@fault("freeze-raylet")
def freeze_raylet(scene: Scene) -> None:
    """Ray's node process stops for some seconds."""
    _freeze(scene, ("raylet",), for_good=False)


@fault("freeze-head")
def freeze_head(scene: Scene) -> None:
    """Ray's head process stops for some seconds."""
    _freeze(scene, ("gcs_server",), for_good=False)


@fault("freeze-for-good", rare=True)
def freeze_for_good(scene: Scene) -> None:
    """A worker, the node process or the head stops and stays so; the user gives up and interrupts. It wakes when all is over."""
    _freeze(scene, scene.rng.choice([ACTOR, ("raylet",), ("gcs_server",)]), for_good=True)


@fault("freeze-driver", rare=True)
def freeze_driver(scene: Scene) -> None:
    """The command stops; the same command is given elsewhere and ends; then the first wakes."""
    first = scene.start()
    scene.moment(first)
    if victim := scene.target(first, "driver"):
        scene.strike(first, f"SIGSTOP driver ({victim.pid})", victim.suspend)
        scene.frozen.append(victim)
        scene.finish(scene.start(), ENDINGS)
        scene.thaw()
        scene.tell("thawed")
    scene.finish(first, ENDINGS)
