"""`python -m tests.campaign --seed 0 --count 20`: strike sweeps with faults, run them again, see what is wrong."""

import argparse
import multiprocessing
import signal
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from types import FrameType

import psutil
from rich.console import Console

from tests.campaign.faults import FAULTS
from tests.campaign.table import show, show_violations
from tests.campaign.trial import ON_RAY, Verdict, attempt, drawn, undisturbed


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="every random choice follows from it and the number of the try")
    parser.add_argument("--count", type=int, default=20, help="how many faults (default 20); every kind comes once in a round")
    parser.add_argument("--fault", nargs="+", choices=sorted(FAULTS), metavar="NAME", help=f"only these of {', '.join(FAULTS)}")
    parser.add_argument("--index", type=int, help="only this try, of the one --fault")
    parser.add_argument("--jobs", type=int, default=1, help="tries at once")
    parser.add_argument("--patience", type=float, default=90, help="seconds that a sweep may take beyond what is expected")
    parser.add_argument(
        "--again",
        choices=sorted(ON_RAY),
        default="mixed",
        help="how the command is given again: on Ray, with --debug, or either",
    )
    parser.add_argument(
        "--folder", type=Path, help="where, with a short name (default: a new one in /tmp); its undisturbed run is used again"
    )
    parser.add_argument("--keep", action="store_true", help="keep what every try left; without it only of those that went wrong")
    found = parser.parse_args(words)
    if found.index is not None and len(found.fault or ()) != 1:
        parser.error("--index is the number of a try of one --fault")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """0 when nothing was wrong, 1 else."""
    given, console = arguments(words), Console(highlight=False, width=200)
    # Ray's sockets lie below, and their names must stay short.
    root = given.folder or Path(tempfile.mkdtemp(prefix="c-", dir="/tmp"))
    root = root.absolute()
    names = given.fault or list(FAULTS)
    plan = [(given.index, names[0])] if given.index is not None else list(enumerate(drawn(given.seed, given.count, names)))
    signal.signal(signal.SIGTERM, _leave)
    context = multiprocessing.get_context("spawn")
    verdicts: list[Verdict] = []
    with ProcessPoolExecutor(given.jobs, mp_context=context, max_tasks_per_child=1) as pool:
        try:
            reference = pool.submit(undisturbed, root / "u").result()
            console.print(f"undisturbed: {reference.files} packs, {reference.seconds:.0f} s; {len(plan)} faults, in {root}")
            fixed = (reference, given.patience, given.again)
            tries = [pool.submit(attempt, fault, given.seed, index, root / str(index), *fixed) for index, fault in plan]
            for done in as_completed(tries):
                verdicts.append(verdict := done.result())
                state = verdict.skipped or f"{len(verdict.violations)} wrong"
                console.print(f"{len(verdicts)}/{len(plan)} {verdict.fault} ({verdict.index}): {state}, {verdict.seconds:.0f} s")
                if verdict.violations:
                    show_violations(verdict, given.seed, console)
                elif not given.keep:
                    _remove(Path(verdict.folder))
        except BaseException:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would take the table away
            _end_children()
            pool.shutdown(wait=False, cancel_futures=True)
            show(verdicts, console)
            raise
    show(verdicts, console)
    return int(any(verdict.violations for verdict in verdicts))


def _leave(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signum)


def _end_children() -> None:
    for process in psutil.Process().children(recursive=True):
        try:
            if not any("resource_tracker" in word for word in process.cmdline()):  # needed until this process ends, and ends then
                process.kill()
        except psutil.NoSuchProcess:
            continue


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)  # a late process of Ray may still write its log there


if __name__ == "__main__":
    sys.exit(main())
