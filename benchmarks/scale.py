"""`python -m benchmarks.scale [PACKS ...] [--slots N ...] [--pause S]`: sweeps of many packs of 100 cells that train nothing.

Grid, queue, Ray Tune, workers, commits and store are the real ones (benchmarks/idle_task.py is the task). For each number of
packs: the driver's time per pack; the same command once all is done; queries; `compact`; and that command and the queries again.
With --slots, the rate at which the driver can feed N packs at once, each S seconds long. 10,000 packs take some 10 minutes and 1
GB of disk.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.views import alone, measure
from sweepkit.store.files.base import PACKS
from sweepkit.store.views import fetch
from trainables.limits import cores

PACK = 100
PACKS_A_SEED = 20
GRID = """\
sweep: scale
tasks: [{task}]
defaults: {{steps: 25, eval_every: 1, batch: 1, test_size: 1, width: 8}}
grids:
  - task: idle
    L: {{range: [2, 12]}}
    d: [128, 256]
    number: {{range: 10}}
    gamma: {{geomspace: [0.1, 1, 10]}}
    pause_s: {pause}
    seed: {{range: {seeds}}}
resources: {{pack_seconds: 50, cpus_per_pack: {cpus}}}
"""
"""L and d make the shapes: each seed has 20 packs, each of 10 numbers times 10 gammas. Seeds come last, as in most grids."""
EVERY_S = 0.25
"""Seconds between two looks at a process."""


@dataclass(frozen=True)
class Followed:
    """A command that has ended: wall seconds, and its processor seconds and memory over time (since 1970), without its
    children."""

    wall: float
    at: NDArray[np.float64]
    cpu: NDArray[np.float64]
    mb: NDArray[np.float64]

    @property
    def peak_mb(self) -> float:
        return float(self.mb.max())


def follow(*words: str) -> Followed:
    """Run `python -m ...` to its end. RuntimeError with its output if it fails."""
    started = time.time()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([sys.executable, "-m", *words], stdout=output, stderr=subprocess.STDOUT)
        looked = psutil.Process(process.pid)
        seen: list[tuple[float, float, float]] = []
        while process.poll() is None:
            try:
                with looked.oneshot():
                    times = looked.cpu_times()
                    seen.append((time.time(), times.user + times.system, looked.memory_info().rss / 2**20))
            except psutil.Error:  # it has ended
                break
            time.sleep(EVERY_S)
        if process.wait():
            output.seek(0)
            raise RuntimeError(f"{' '.join(words)} failed: {output.read()}")
    at, cpu, mb = np.array(seen).T
    return Followed(time.time() - started, at, cpu, mb)


def write_grid(folder: Path, n_packs: int, slots: int | None, pause_s: float) -> Path:
    """A grid of this many packs, or up to 19 more. With `slots`, packs share the cores so that `slots` of them run at once."""
    path = folder / "grid.yaml"
    cpus = cores() / slots if slots else 1
    task = Path(__file__).with_name("idle_task.py")
    path.write_text(GRID.format(task=task, seeds=-(-n_packs // PACKS_A_SEED), cpus=cpus, pause=pause_s))
    return path


def sweep(grid: Path, results: str, *words: str) -> Followed:
    """Run `orchestrator.sweep` on this grid; --large lets a million cells through."""
    return follow("orchestrator.sweep", str(grid), "-q", "--large", "--results", results, *words)


def check(results: str) -> int:
    """The number of cells. RuntimeError unless each is there once and all were planned and are ok."""
    ((rows, cells, ok),) = fetch(results, "SELECT count(*), count(DISTINCT cell_id), count_if(status = 'ok') FROM cells")
    ((planned,),) = fetch(results, "SELECT count(DISTINCT cell_id) FROM plans")
    if not rows == cells == ok == planned:
        raise RuntimeError(f"{planned} cells planned, {rows} rows of {cells} cells, {ok} of them ok")
    return int(cells)


def by_pack(run: Followed, results: str) -> dict[str, str]:
    """The time per pack and the driver's processor time per pack, in the first, fourth, seventh and last tenth of a sweep."""
    with os.scandir(Path(results, PACKS)) as files:
        ends = np.sort([file.stat().st_mtime for file in files])
    cpu, mb = np.interp(ends, run.at, run.cpu), np.interp(ends, run.at, run.mb)
    edges = np.linspace(0, len(ends) - 1, 11).astype(int)
    n = np.maximum(1, np.diff(edges))
    wall_ms, cpu_ms = 1e3 * np.diff(ends[edges]) / n, 1e3 * np.diff(cpu[edges]) / n
    some = [0, 3, 6, 9]
    return {
        "packs": f"{len(ends):,}",
        "s to the first": f"{ends[0] - run.at[0]:.0f}",
        "packs a second": f"{(len(ends) - 1) / max(1e-9, ends[-1] - ends[0]):.1f}",
        "ms a pack": " ".join(f"{wall_ms[k]:.0f}" for k in some),
        "of the driver's CPU": " ".join(f"{cpu_ms[k]:.1f}" for k in some),
        "driver's CPU busy": f"{100 * (cpu[-1] - cpu[0]) / max(1e-9, ends[-1] - ends[0]):.0f} %",
        "driver MB": " ".join(f"{mb[edges[k + 1]]:.0f}" for k in some),
        "s after the last": f"{run.at[-1] - ends[-1]:.0f}",
    }


def table(title: str, rows: dict[str, dict[str, str]]) -> Table:
    """A table with a line per row and a column per name."""
    load = f"load {os.getloadavg()[0]:.1f} on {cores()} cores"
    shown = Table(box=SIMPLE_HEAD, title=f"{title}; {load}", title_justify="left")
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    for name in ("", *names):
        shown.add_column(name, justify="right" if name else "left")
    for label, row in rows.items():
        shown.add_row(label, *(row.get(name, "") for name in names))
    return shown


def store_row(grid: Path, results: str) -> dict[str, str]:
    """Seconds of the sweep's command when nothing is left to do, and of queries over the store as it is."""
    again = sweep(grid, results)
    ((cell,),) = fetch(results, "SELECT min(cell_id) FROM cells")
    asked = alone(measure, results, "scale", cell)
    names = ("first connect", "ask again", "Curves", "progress", "one curve", "100 curves")
    return {
        "nothing to do": f"{again.wall:.1f}",
        "its CPU": f"{again.cpu[-1]:.1f}",
        "its MB": f"{again.peak_mb:.0f}",
        **{name: f"{asked[name]:.2f}" for name in names},
    }


def main(n_packs: list[int], slots: list[int], pause_s: float, folder: str | None, debug: bool = False) -> None:
    """Print the tables."""
    console = Console(width=170)
    packs: dict[str, dict[str, str]] = {}
    stores: dict[str, dict[str, str]] = {}
    how = ["--debug"] if debug else []
    with tempfile.TemporaryDirectory(dir=folder) as made:
        for n in n_packs:
            place = Path(made, str(n))
            place.mkdir()
            grid, results = write_grid(place, n, None, 0.0), str(place / "results")
            run = sweep(grid, results, *how)
            cells = f"{check(results):,} cells"
            packs[cells] = by_pack(run, results) | {"peak MB": f"{run.peak_mb:.0f}"}
            stores[f"{cells} in packs"] = store_row(grid, results)
            merging = follow("orchestrator.store", "compact", "--now", "--results", results)
            stores[f"{cells} compacted"] = store_row(grid, results)
            stores[f"{cells} compacted"] |= {"compact": f"{merging.wall:.1f}", "compact MB": f"{merging.peak_mb:.0f}"}
            check(results)
        console.print(table("A pack of 100 cells, in the first, fourth, seventh and last tenth of a sweep", packs))
        console.print(table("The store, in seconds", stores))
        fed: dict[str, dict[str, str]] = {}
        for at_once in slots:
            place = Path(made, f"slots{at_once}")
            place.mkdir()
            grid, results = write_grid(place, n_packs[0], at_once, pause_s), str(place / "results")
            run = sweep(grid, results)
            check(results)
            fed[f"{at_once} slots"] = by_pack(run, results) | {"wanted a second": f"{at_once / pause_s:.1f}" if pause_s else ""}
        if fed:
            console.print(table(f"Packs of {pause_s:g} s that the driver feeds", fed))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packs", nargs="*", type=int, default=[100, 1000])
    parser.add_argument("--slots", nargs="*", type=int, default=[], metavar="N", help="measure also with N packs at once")
    parser.add_argument("--pause", type=float, default=1.0, metavar="S", help="seconds that each of these packs takes")
    parser.add_argument("--folder", help="folder for the stores that are measured; default: the system's for temporary files")
    given = parser.parse_args()
    main(given.packs, given.slots, given.pause, given.folder)
