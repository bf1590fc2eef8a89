"""`make nightly`: what is too long for `.ci/run`, step after step, and one table of it at the end.

Run it before a large change is called done. Each step's words are in `nightly/STEP.log`, and seeds follow from the date, so that
every night tries other cases: the table has the commands that try the same ones again. Exit 1 where a step failed.
"""

import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "nightly"
TAIL = 40
"""Lines of a failed step's log that are shown."""


def steps(seed: int) -> list[dict[str, str]]:
    """Steps by name, with their commands; those of one group run beside each other.

    Tests that start hosts or strike at times of their own run alone; the others wait more than they compute.
    """
    pytest = "pytest -rfE --max-worker-restart 0"
    return [
        {"tests": f"{pytest} -n 3 --dist loadfile --no-loadscope-reorder -m 'nightly and not alone'"},
        {"tests-alone": f"{pytest} -m alone"},
        {"campaign": f"tests.campaign --count 30 --seed {seed}", "fuzz": f"tests.fuzz --count 10000 --seed {seed}"},
    ]


@dataclass(frozen=True)
class Ended:
    command: str
    status: int
    minutes: float
    last: str
    """The last line that the step printed."""


def run(name: str, command: str) -> Ended:
    began = time.monotonic()
    log = LOGS / f"{name}.log"
    with log.open("w") as out:
        words = [sys.executable, "-m", *shlex.split(command)]
        status = subprocess.run(words, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT).returncode
    lines = log.read_text(errors="replace").rstrip().splitlines() or [""]
    print(f"{name}: exit {status}" + "".join(f"\n  {line}" for line in lines[-TAIL:] if status), flush=True)
    return Ended(command, status, (time.monotonic() - began) / 60, lines[-1].strip(" ="))


def table(ended: Mapping[str, Ended]) -> Table:
    shown = Table("step", "", "minutes", "its last line", "command", box=None)
    for name, one in ended.items():
        said = "passed" if one.status == 0 else f"exit {one.status}"
        shown.add_row(name, said, f"{one.minutes:.0f}", one.last, f"python -m {one.command}")
    return shown


def main(seed: int = int(datetime.now(UTC).strftime("%Y%m%d")), only: str = "") -> None:
    """Run all steps, or those whose names hold a word."""
    LOGS.mkdir(exist_ok=True)
    ended: dict[str, Ended] = {}
    for group in steps(seed):
        group = {name: command for name, command in group.items() if only in name}
        with ThreadPoolExecutor(max(1, len(group))) as pool:
            ended |= zip(group, pool.map(run, group, group.values()), strict=True)
    Console(width=200).print(table(ended))
    raise typer.Exit(int(any(one.status for one in ended.values())))


if __name__ == "__main__":
    typer.run(main)
