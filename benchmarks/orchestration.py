"""`python -m benchmarks.orchestration`: time per network beyond training, beside the plain way of one Tune trial per network; and
the planning of 100,000 cells."""

import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from orchestrator.grid.load import load_grid
from sweepkit.store.views import fetch
from trainables.limits import cores

GRID = """
sweep: small
defaults: {{steps: 1000, eval_every: 1000, test_size: 256}}
grids: [{{task: same_different, L: [2, 3, 4, 5, 6], d: 32, width: 128, gamma: [1, 0.3], seed: {{range: {seeds}}}}}]
"""
PLAIN_TRIALS = 12


def sweep(n_cells: int) -> tuple[float, float]:
    """Wall seconds of a sweep of small cells, and in how many of them its engines trained."""
    with tempfile.TemporaryDirectory() as folder:
        grid, results = Path(folder, "grid.yaml"), str(Path(folder, "results"))
        grid.write_text(GRID.format(seeds=n_cells // 10))
        started = time.perf_counter()
        command = [sys.executable, "-m", "orchestrator.sweep", str(grid), "-q", "--results", results]
        subprocess.run(command, check=True, capture_output=True)
        wall = time.perf_counter() - started
        ((cells, trained),) = fetch(results, "select count(*), sum(seconds) from cells where status = 'ok'")
        assert cells == n_cells, f"{cells} of {n_cells} cells"
        return wall, trained / cores()


def plan(n_cells: int) -> float:
    """Seconds of processor in which a grid of so many cells is read and planned."""
    with tempfile.TemporaryDirectory() as folder:
        grid = Path(folder, "grid.yaml")
        grid.write_text(GRID.format(seeds=n_cells // 10))
        started = time.process_time()
        cells = len(load_grid(str(grid)).cells)
        assert cells == n_cells, f"{cells} of {n_cells} cells"
        return time.process_time() - started


def plain(n_trials: int) -> tuple[float, float]:
    """Wall seconds of one Tune trial per network without Ray's start, and in how many of them the trials trained."""
    import ray
    from ray import tune

    def train(config: dict[str, int]) -> None:
        from trainables.cell import cell_of
        from trainables.engines.dense.reference import Reference
        from trainables.tasks import SameDifferent
        from trainables.trainers.run import PackRun

        task = SameDifferent(L=3, d=32)
        cell = cell_of(task, width=128, gamma=1.0, base_lr=0.1, steps=1000, seed=config["seed"], test_size=256)
        run = PackRun([cell], Reference([cell]))
        run.advance(float("inf"))
        tune.report({"accuracy": run.results()[0].test_acc[-1], "seconds": run.seconds})

    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = tune.Tuner(
            tune.with_resources(train, {"cpu": 1}),
            param_space={"seed": tune.grid_search(list(range(n_trials)))},
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        ).fit()
        wall = time.perf_counter() - started
        trained = sum((found[k].metrics or {})["seconds"] for k in range(n_trials))
    ray.shutdown()
    return wall, trained / cores()


def main() -> None:
    """Print the table."""
    table = Table(box=SIMPLE_HEAD, title="small networks, 1000 steps; seconds from the command to its end", title_justify="left")
    for name in ("way", "networks", "wall s", "training s", "ms a network beyond training", "start left out"):
        table.add_column(name, justify="left" if name == "way" else "right")
    start, trained = sweep(10)
    start -= trained
    for n in (10, 1000, 10_000):
        wall, trained = sweep(n)
        beyond = wall - trained
        shown = [f"{wall:.1f}", f"{trained:.1f}", f"{1e3 * beyond / n:.1f}", f"{1e3 * max(0.0, beyond - start) / n:.1f}"]
        table.add_row("sweep", f"{n:,}", *shown)
    wall, trained = plain(PLAIN_TRIALS)
    each = f"{1e3 * (wall - trained) / PLAIN_TRIALS:.0f}"
    table.add_row("one Tune trial each", str(PLAIN_TRIALS), f"{wall:.1f}", f"{trained:.1f}", "", each)
    console = Console(width=120)
    console.print(table)
    console.print(f"100,000 cells are planned in {plan(100_000):.1f} s of processor")


if __name__ == "__main__":
    main()
