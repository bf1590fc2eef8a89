"""Disks that fill up or stop taking writes."""

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from sweepkit.store.files import RESERVE_BYTES
from tests.campaign.faults import fault
from tests.campaign.scene import BAD_INPUT, DONE, MISSING, Scene, Skipped

ENDINGS = {DONE, MISSING, BAD_INPUT}
"""Struck before the first pack, the sweep refuses to start."""


def _call(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skipped(f"{' '.join(words[:2])} does not work here: {done.stderr.strip()}")


@fault("disk-full")
def disk_full(scene: Scene) -> None:
    """The disk of the results fills up to the last bytes, and is cleared when the sweep has ended."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        raise Skipped("a disk of its own needs root and mount")
    scene.results.mkdir()
    _call("mount", "-t", "tmpfs", "-o", f"size={RESERVE_BYTES + (8 << 20)}", "tmpfs", str(scene.results))
    scene.closing.callback(close, scene)
    ballast = scene.results / ".ballast"

    def fill() -> None:
        left = scene.rng.choice([0, 0, 2_000, 20_000, 60_000])
        with ballast.open("wb") as file:
            while (free := shutil.disk_usage(scene.results).free - left) >= 4096:
                try:
                    return os.posix_fallocate(file.fileno(), 0, free - free % 4096)
                except OSError as error:  # the sweep wrote in between
                    if error.errno != errno.ENOSPC:
                        raise

    sweep = scene.start()
    scene.moment(sweep)
    scene.strike(sweep, "the disk is full", fill)
    scene.finish(sweep, ENDINGS)
    ballast.unlink()


def close(scene: Scene) -> None:
    """Move the results off their disk, so that it can go."""
    if os.path.ismount(scene.results):
        shutil.copytree(scene.results, scene.folder / "kept", symlinks=True)
        subprocess.run(["umount", "-l", str(scene.results)], check=True)
        scene.results.rmdir()
        (scene.folder / "kept").rename(scene.results)


def locker(folder: Path) -> tuple[Callable[[], None], Callable[[], None]]:
    """Make a folder refuse new files, and undo it. Modes do not bind root, an attribute of the file system does."""
    if os.geteuid() != 0:
        return lambda: folder.chmod(0o555), lambda: folder.chmod(0o755)
    return lambda: _call("chattr", "+i", str(folder)), lambda: _call("chattr", "-i", str(folder))


@fault("read-only")
def read_only(scene: Scene) -> None:
    """The results directory or a folder in it stops taking files, for a while or until the sweep has ended."""
    if os.geteuid() == 0:
        _call("chattr", "+i", str(scene.folder))
        _call("chattr", "-i", str(scene.folder))
    sweep = scene.start()
    scene.moment(sweep)
    folder = scene.results / scene.rng.choice(["", "packs", "packs", "leases", "plans"])
    if not folder.is_dir():
        folder = scene.results
    if not folder.is_dir():
        folder.mkdir()
    lock, unlock = locker(folder)
    for_good = scene.rng.random() < 0.7
    scene.strike(sweep, f"{folder.name} is read-only", lock)
    try:
        if not for_good:
            time.sleep(scene.rng.uniform(0.2, 3))
        else:
            scene.finish(sweep, ENDINGS)
    finally:
        unlock()
    scene.tell("it takes files again")
    if not for_good:
        scene.finish(sweep, ENDINGS)
