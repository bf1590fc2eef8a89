"""One try from fault to verdict: disturb, give the same command again until all is done, compare with the undisturbed run."""

import json
import os
import random
import re
import shutil
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sweepkit.store.upkeep.check import STALE_S
from tests.campaign import check
from tests.campaign.check import Violation
from tests.campaign.commands import Running, end_all, orphans_adopted, start
from tests.campaign.faults import FAULTS
from tests.campaign.scene import DONE, MISSING, Scene, Skipped, Undisturbed

MOST_RUNS = 4
"""How often the command is given again at most."""
ON_RAY = {"ray": 1.0, "mixed": 1 / 3, "debug": 0.0}
"""The share of tries in which the command that is given again runs on Ray."""
COMMAND_S = 120.0


@dataclass(frozen=True)
class Verdict:
    """What became of one try; `skipped` says why it was none."""

    fault: str
    index: int
    folder: str
    seconds: float
    amid: bool = False
    violations: tuple[Violation, ...] = ()
    skipped: str = ""


def undisturbed(folder: Path) -> Undisturbed:
    """The run without a fault, on Ray as all others; one that an earlier campaign made in this folder will do.
    RuntimeError where even that does not work."""
    made = folder / "made.json"
    if made.exists():
        return Undisturbed(folder / "results", **json.loads(made.read_text()))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    scene = Scene(folder, random.Random(0), Undisturbed(folder, 60, 1), 120)
    with orphans_adopted():
        scene.finish(sweep := scene.start(), {DONE})
        seconds = time.monotonic() - sweep.started
        scene.violations += [Violation("alive", text) for text in end_all(scene.end_s)]
        _clean(scene)
    if scene.violations:
        raise RuntimeError(f"the undisturbed run is not right: {scene.violations}; see {folder}")
    made.write_text(json.dumps({"seconds": seconds, "files": scene.packs()}))
    return Undisturbed(scene.results, seconds, scene.packs())


def attempt(fault: str, seed: int, index: int, folder: Path, reference: Undisturbed, patience_s: float, again: str) -> Verdict:
    """One try; everything random in it comes from seed and index. Run it in a process of its own: it adopts orphans."""
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    scene = Scene(folder, random.Random(f"{seed}/{index}/{fault}"), reference, patience_s)
    scene.on_ray = scene.rng.random() < ON_RAY[again]
    try:
        with orphans_adopted():
            try:
                FAULTS[fault].disturb(scene)
                _again(scene)
                _judge(scene)
            finally:
                scene.thaw()
                end_all(0, scene.stays)
                scene.closing.close()
                end_all(0)
    except Skipped as reason:
        return Verdict(fault, index, str(folder), time.monotonic() - began, skipped=str(reason))
    except Exception:  # noqa: BLE001 - a fault in the campaign spoils its try, and not the hours of the others
        scene.violations.append(Violation("unreadable", f"the campaign itself failed: {traceback.format_exc()}"))
    for violation in scene.violations:
        scene.tell(f"WRONG {violation.kind}: {violation.text}")
    return Verdict(fault, index, str(folder), time.monotonic() - began, scene.amid, tuple(scene.violations))


def _again(scene: Scene) -> None:
    """The same command again, and what it and `store check` say is to be done, until all is done and all files are whole."""
    for _ in range(MOST_RUNS):
        # Either at once, beside what is left of the first run, or once that is gone: then nothing may be trained twice.
        patient = scene.rng.random() < 0.5
        scene.thaw()
        if patient:
            _expect_end(scene)
        held = scene.committed()
        sweep = scene.start(*scene.options, *(() if scene.on_ray else ("--debug",)))
        scene.finish(sweep, {DONE, MISSING})
        if patient:
            # Of a file that was damaged, a reader may or may not notice: both are right.
            whole = {path: data for path, data in held.items() if path not in scene.destroyed}
            scene.violations += check.trained_again(whole, scene.committed())
        scene.look()
        scene.violations += check.unexplained(scene.results, scene.where, scene.elsewhere)
        if sweep.code != DONE:
            if "--retry-failed" in sweep.said():
                scene.options = tuple(dict.fromkeys((*scene.options, "--retry-failed")))
            continue
        if not scene.destroyed or not _repair(scene):  # all files are checked once more in the end
            return
    scene.violations.append(Violation("lost", f"not all is done after {MOST_RUNS} further runs"))


def _repair(scene: Scene) -> bool:
    """Ask `store check`, and delete the files it calls bad as it says. Whether there were any."""
    asked = _check(scene)
    bad = re.findall(r"^bad +(\S+): ", asked.said(), re.M)
    for path in sorted(scene.destroyed - set(bad)):
        if _is_damaged(scene, path):
            scene.violations.append(Violation("lost", f"{path} was damaged, and check does not notice"))
    for path in bad:
        if path not in scene.destroyed:
            scene.violations.append(Violation("lost", f"{path} is bad, and the fault did not touch it"))
        (scene.results / path).unlink()
        scene.tell(f"{path} is deleted, as check says")
    if asked.code != (1 if bad else 0):
        scene.violations.append(Violation("unreadable", f"check names {len(bad)} bad files and exits with {asked.code}"))
    return bool(bad)


def _is_damaged(scene: Scene, path: str) -> bool:
    """Whether the file is there and has other bytes than before the fault."""
    file = scene.results / path
    return file.is_file() and path in scene.harmed and file.read_bytes() == scene.harmed[path]


def _judge(scene: Scene) -> None:
    scene.thaw()
    _expect_end(scene)
    _clean(scene)
    now = scene.committed()
    wanted = check.content(scene.undisturbed.results)
    scene.violations += check.compare(check.content(scene.results), wanted)
    scene.violations += check.vanished(scene.before, now, scene.destroyed)


def _expect_end(scene: Scene) -> None:
    """Processes of earlier sweeps end by themselves, in bounded time."""
    began = time.monotonic()
    left = end_all(scene.end_s, scene.stays)
    scene.tell(f"no process is left after {time.monotonic() - began:.1f} s" if not left else f"left alive: {left}")
    scene.violations += [Violation("alive", text) for text in left]


def _clean(scene: Scene) -> None:
    """When temporaries have come of age, `check --clean` leaves none."""
    long_ago = time.time() - 2 * STALE_S
    for path in scene.results.rglob(".*.inprogress"):
        os.utime(path, (long_ago, long_ago))
    cleaned = _check(scene, "--clean")
    scene.violations += [
        Violation("leftover", f"check --clean says: {line}") for line in cleaned.said().splitlines() if "bad  " in line
    ]
    scene.look()
    scene.violations += check.leftovers(scene.results, scene.folder / "t")


def _check(scene: Scene, *options: str) -> Running:
    scene.checks += 1
    words = ("orchestrator.store", "check", "--results", scene.where, *options)
    asked = start(scene.folder, f"check{scene.checks}", *words, environment=scene.environment)
    scene.finish(asked, {0, 1}, COMMAND_S)
    return asked


def drawn(seed: int, count: int, names: Sequence[str]) -> list[str]:
    """The fault of each index: every kind once in each round, rare ones in every fourth, in an order of the round's own."""
    found: list[str] = []
    for round_ in range(count):
        if len(found) >= count:
            break
        kinds = [name for name in names if round_ % 4 == 0 or not FAULTS[name].rare]
        random.Random(f"{seed}/{round_}").shuffle(kinds)
        found += kinds
    return found[:count]
