"""Files that are damaged or lost, amid a sweep and at rest."""

import shutil
from functools import partial
from pathlib import Path

from tests.campaign.commands import Running
from tests.campaign.faults import fault
from tests.campaign.scene import DONE, MISSING, Scene
from tests.sweeps import wait_until

HARMS = ("tear", "empty", "foreign", "delete", "flip")
"""Cut short, cut to nothing, overwritten with other bytes, removed, some bits flipped."""


def harm(scene: Scene, path: Path, how: str) -> None:
    data = path.read_bytes()
    scene.destroyed.add(str(path.relative_to(scene.results)))
    if how == "tear":
        path.write_bytes(data[: scene.rng.randrange(1, len(data))])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "foreign":
        path.write_bytes(scene.rng.randbytes(len(data)))
    elif how == "delete":
        path.unlink()
    else:
        spoilt = bytearray(data)
        for position in scene.rng.sample(range(len(data)), scene.rng.randint(1, 8)):
            spoilt[position] ^= 1 << scene.rng.randrange(8)
        path.write_bytes(bytes(spoilt))
    if path.exists():
        scene.harmed[str(path.relative_to(scene.results))] = path.read_bytes()


def _harm_some(scene: Scene, sweep: Running | None, files: list[Path], most: int) -> None:
    for path in scene.rng.sample(files, min(len(files), scene.rng.randint(1, most))):
        how = scene.rng.choice(HARMS)
        scene.strike(sweep, f"{how} {path.name}", partial(harm, scene, path, how))


@fault("damage-amid")
def damage_amid(scene: Scene) -> None:
    """One to three committed files are torn, emptied, overwritten, deleted or lose bits while the sweep goes on."""
    sweep = scene.start()
    scene.moment(sweep)
    wait_until(lambda: scene.packs() > 0 or not sweep.runs, 10 * scene.undisturbed.seconds)
    _harm_some(scene, sweep, sorted((scene.results / "packs").glob("[!.]*.parquet")), 3)
    scene.finish(sweep, {DONE, MISSING})


@fault("damage-at-rest")
def damage_at_rest(scene: Scene) -> None:
    """One to five files of a finished sweep, of packs or of the plan, are torn, emptied, overwritten, deleted or lose bits."""
    shutil.copytree(scene.undisturbed.results, scene.results)
    files = sorted([*scene.results.glob("packs/*.parquet"), *scene.results.glob("plans/*.parquet")])
    _harm_some(scene, None, files, 5)
    scene.on_ray = False
