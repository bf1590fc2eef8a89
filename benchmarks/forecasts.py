"""`python -m benchmarks.forecasts [searches]`: the forecasts of `--dry-run` beside the sweeps' true time and the memory of their
workers. `searches`: the networks that searches are forecast to take beside those that they took in `evidence`; trains nothing."""

import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from statistics import mean
from typing import Any

import psutil
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from orchestrator.grid.load import load_grid
from orchestrator.plan.missing import missing_cells
from orchestrator.search.rehearsal import places, rehearsed
from orchestrator.search.searchers import Searchers, Searching
from sweepkit.shipped import grids
from sweepkit.store.store import Store

SWEEPS = [
    ["grid.yaml"],
    ["grid.yaml", "L=2,3", "seed=0", "gamma=1", "steps=1000"],
    ["figc3", "seed=0"],
    ["fig2", "L=8,64,1024", "sigma2=1,4", "seed=0", "steps=4000"],
    ["figf1", "d=1024", "seed=0,1", "steps=4000"],
    ["fig1b_rich", "L=3,100,1024", "d=16,256", "seed=0,1", "steps=1000"],
    ["fig1e_lazy", "L=256,1024", "d=256,1024", "seed=0", "steps=1000"],
    ["rate_transfer_quick"],
    ["power_law_quick", "seed=range(4)"],
    ["nstar_ridge_quick"],
    ["lstar_quick", "d=16,128"],
    ["templates_quick", "--only", "network=one_hot"],
]
SEARCHES = (
    "lstar_quick",
    "lstar_measures",
    "nstar_he3_quick",
    "nstar_ridge_quick",
    "nstar_cnn",
    "templates_more",
    "richness_transition",
)


def forecast(words: list[str]) -> dict[str, Any]:
    """The forecast of `--dry-run` for an empty store."""
    with tempfile.TemporaryDirectory() as empty:
        command = [sys.executable, "-m", "orchestrator.sweep", *words, "--dry-run", "--json", "--results", empty]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def truth(words: list[str]) -> tuple[float, int]:
    """Wall seconds of the sweep, and the largest resident memory of its workers together, in bytes; of its own process, if that
    trains."""
    with tempfile.TemporaryDirectory() as results:
        command = [sys.executable, "-m", "orchestrator.sweep", *words, "-q", "--results", results]
        started, most, own = time.perf_counter(), 0, 0
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
            while sweep.poll() is None:
                process = psutil.Process(sweep.pid)
                most, own = max(most, _workers_bytes(process)), max(own, process.memory_info().rss)
                time.sleep(0.1)
        if sweep.returncode:
            raise RuntimeError(f"{' '.join(words)} ended with {sweep.returncode}")
        return time.perf_counter() - started, most or own


def _workers_bytes(sweep: psutil.Process) -> int:
    found = 0
    try:
        for process in sweep.children(recursive=True):
            if "Trainable" in " ".join(process.cmdline()):
                found += process.memory_info().rss
    except psutil.Error:  # a worker ended meanwhile: the next look sees the others
        return 0
    return found


def main() -> None:
    """Print the table."""
    title = "predicted / true; aims: within 1.5 in time, 1.2 in memory"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("sweep", "cells", "predicted s", "true s", "ratio", "predicted GiB", "true GiB", "ratio"):
        table.add_column(name, justify="left" if name == "sweep" else "right")
    for words in SWEEPS:
        said = forecast(words)
        seconds, memory = truth(words)
        wall_s = said.get("searches", said)["wall_s"]
        figures = [
            f"{wall_s:.0f}", f"{seconds:.0f}", f"{wall_s / seconds:.2f}",
            f"{said['bytes'] / 2**30:.2f}", f"{memory / 2**30:.2f}", f"{said['bytes'] / memory:.2f}",
        ]  # fmt: skip
        table.add_row(" ".join(words), str(said["cells"]), *figures)
    Console(width=150).print(table)


def searches() -> None:
    """Print the networks that the ended searches of `evidence` took, and those of rehearsals from their beginning."""
    store = Store("evidence")
    held = store.statuses()
    table = Table(box=SIMPLE_HEAD, title="networks a search", title_justify="left")
    for name in ("grid", "searches", "rehearsed", "taken", "ratio"):
        table.add_column(name, justify="left" if name == "grid" else "right")
    for name in SEARCHES:
        grid = load_grid(grids()[name])
        missing = partial(missing_cells, grid.cells, held, retry_failed=False, force=False)
        searchers = Searchers(grid, store, held, missing)
        searchers.start()
        ended = [s for s in searchers.all if not s.awaited]
        taken = [s.state.n_networks for s in ended]
        begun = [Searching.of(s.search).state for s in ended]
        tried = [rehearsed(state, place, seed) for seed, (state, place) in enumerate(zip(begun, places(len(begun)), strict=True))]
        again = [sum(map(len, steps)) for steps in tried]
        table.add_row(name, str(len(ended)), f"{mean(again):.0f}", f"{mean(taken):.0f}", f"{mean(again) / mean(taken):.2f}")
    Console(width=150).print(table)


if __name__ == "__main__":
    ways = {"": main, "searches": searches}
    if (asked := " ".join(sys.argv[1:])) not in ways:
        sys.exit(__doc__)
    ways[asked]()
