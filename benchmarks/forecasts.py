"""`python -m benchmarks.forecasts`: the forecasts of `--dry-run` beside the sweeps' true time and the memory of their workers."""

import json
import subprocess
import sys
import tempfile
import time

import psutil
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

SWEEPS = [
    ["grid.yaml"],
    ["grid.yaml", "L=2,3", "seed=0", "gamma=1", "steps=1000"],
    ["figc3", "seed=0"],
    ["fig2", "L=8,64,1024", "sigma2=1,4", "seed=0", "steps=4000"],
    ["figf1", "d=1024", "seed=0,1", "steps=4000"],
    ["fig1b_rich", "L=3,100,1024", "d=16,256", "seed=0,1", "steps=1000"],
    ["fig1e_lazy", "L=256,1024", "d=256,1024", "seed=0", "steps=1000"],
]


def forecast(words: list[str]) -> dict[str, float]:
    """The forecast of `--dry-run` for an empty store."""
    with tempfile.TemporaryDirectory() as empty:
        command = [sys.executable, "-m", "orchestrator.sweep", *words, "--dry-run", "--json", "--results", empty]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def truth(words: list[str]) -> tuple[float, int]:
    """Wall seconds of the sweep, and the largest resident memory of its workers together, in bytes."""
    with tempfile.TemporaryDirectory() as results:
        command = [sys.executable, "-m", "orchestrator.sweep", *words, "-q", "--results", results]
        started, most = time.perf_counter(), 0
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
            while sweep.poll() is None:
                most = max(most, _workers_bytes(psutil.Process(sweep.pid)))
                time.sleep(0.1)
        if sweep.returncode:
            raise RuntimeError(f"{' '.join(words)} ended with {sweep.returncode}")
        return time.perf_counter() - started, most


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
        figures = [
            f"{said['wall_s']:.0f}", f"{seconds:.0f}", f"{said['wall_s'] / seconds:.2f}",
            f"{said['bytes'] / 2**30:.2f}", f"{memory / 2**30:.2f}", f"{said['bytes'] / memory:.2f}",
        ]  # fmt: skip
        table.add_row(" ".join(words), str(said["cells"]), *figures)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
