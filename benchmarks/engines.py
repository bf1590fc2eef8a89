"""`python -m benchmarks.engines`: ms per step and network of every engine in one run, beside the limits of the machine.

`reference` trains one network with all cores; the other engines train one pack per core. The aims are ratios to `reference`.
"""

from itertools import count

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.limits import CORES, Limits, limits, on_every_core, rate
from orchestrator.cost.calibration import machine_rates
from orchestrator.cost.model import CostModel
from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from orchestrator.plan.machine import Machine
from orchestrator.plan.packing import PackQueue
from sweepkit.console.words import duration
from sweepkit.shipped import grids
from trainables.cell import Cell, cell_of, lazy_gamma
from trainables.engines import ENGINES, descent_engine
from trainables.streams import BLOCK_STEPS
from trainables.tasks import PSVRT, Pentomino, SameDifferent, Task

SHAPES: list[tuple[Task, int, int, str]] = [
    # task, width, gammas that share their inputs, aim
    (SameDifferent(L=3, d=256), 1024, 6, "200 x"),
    (SameDifferent(L=12, d=128), 512, 3, ""),
    (SameDifferent(L=16, d=256), 1024, 6, "100 x"),
    (SameDifferent(L=16, d=1024), 4096, 6, "400 x"),
    (SameDifferent(L=64, d=256), 1024, 6, ""),
    (SameDifferent(L=1024, d=64), 1024, 6, ""),
    (SameDifferent(L=64, d=64, sigma2=1.0), 1024, 11, "1.5 x the product limit"),
    (SameDifferent(L=8192, d=64, sigma2=1.0), 1024, 1, "data below 10%"),
    (SameDifferent(L=64, d=256, sigma2=1.0), 1024, 11, ""),
    (PSVRT(L=256), 512, 6, "0.125 to 0.14 ms"),
    (PSVRT(L=1024, patches=10), 512, 6, ""),
    (Pentomino(L=16), 512, 6, "0.125 to 0.14 ms"),
    (Pentomino(L=16, patches=10), 512, 6, ""),
]
"""The aim for images is a twentieth of the authors' loop, which takes 2.5 to 2.8 ms per step of one network on both cores."""
SECONDS = 1.5
"""The seconds for which each engine is timed on each shape; the best of five parts of them counts."""


def cells_of(task: Task, width: int, gammas: int) -> list[Cell]:
    """A group of cells that share their inputs, from rich to lazy."""
    values = [10 ** (-k / 2) for k in range(gammas - 1)] + [1.0 if gammas == 1 else lazy_gamma(task)]
    return [cell_of(task, width=width, gamma=gamma, seed=0) for gamma in values]


def steps_a_second(engine: str, cells: list[Cell], steps: int) -> float:
    """Steps times networks per second, with data and without evaluation."""
    made = descent_engine(engine).trainer(cells)
    made.train(0, 10)
    return steps * len(cells) * rate(lambda: made.train(10, steps), SECONDS)


def data_seconds(cell: Cell) -> float:
    """Seconds to draw one step's data, in blocks as `batched` does."""
    from trainables.engines.dense.batched import Batched

    made, blocks = Batched([cell]), count(1)
    return 1 / BLOCK_STEPS / rate(lambda: made.staging.take(next(blocks)))


def row(shape: tuple[Task, int, int, str], best: Limits) -> list[str]:
    """One line of the table: the times, and their ratios to those of `reference` and of the machine's limits."""
    task, width, gammas, aim = shape
    cells = cells_of(task, width, gammas)
    torch.set_num_threads(CORES)
    reference = 1e3 / steps_a_second("reference", cells[:1], 10)
    engines = [e.name for e in ENGINES.values() if not (e.is_oracle or e.is_general) and e.trains(cells[0])]
    steps = {"batched": 20, "gram": 100, "patches": 100}
    found = {engine: 1e3 / sum(on_every_core(steps_a_second, engine, cells, steps[engine])) for engine in engines}
    fastest = min(found, key=found.__getitem__)
    amounts = ENGINES[fastest].step_amounts(cells[0], gammas)
    products = 1e3 * (amounts.get("product", 0.0) + amounts.get("tile", 0.0)) / best.products
    # Rows that a step at least reads and writes: the changes of the weights, and for `gram` what they start from.
    rows = {"gram": 6 * 2 * getattr(task, "L", 0), "batched": 3 * task.input_dim, "patches": 2 * task.input_dim}[fastest]
    times = {e: f"{t:.4f} ({reference / t:.0f} x)" for e, t in found.items()}
    of_limits = [f"{found[fastest] / products:.2f}", f"{1e3 * rows * width * 4 / best.memory / found[fastest]:.2f}"]
    noisy = isinstance(task, SameDifferent) and task.sigma2 > 0
    data = f"{100 * 1e3 * data_seconds(cells[0]) / gammas / CORES / found['batched']:.0f}%" if noisy else ""
    own = next((f"{times[e]} {e}" for e in engines if e != "batched"), "-")
    keys = " ".join(f"{k}={v}" for k, v in task.identity().items() if k in ("L", "d", "sigma2", "patches") and v)
    return [f"{task.name} {keys}", str(width), str(gammas), f"{reference:.3f}", times["batched"], own, *of_limits, data, aim]


def paper() -> Table:
    """CPU hours of every figure's grid, predicted by the cost model with this machine's rates."""
    table = Table(box=SIMPLE_HEAD, title="the paper in CPU hours, one core each, as predicted", title_justify="left")
    for name in ("grid", "networks", "reference", "these engines", "here, all cores"):
        table.add_column(name, justify="left" if name == "grid" else "right")
    total, rates = [0.0, 0.0, 0.0], machine_rates(print)
    for path in [path for name, path in grids().items() if name.startswith("fig")]:
        try:
            grid = load_grid(str(path), ())
        except GridError:
            table.add_row(path.stem, "", "", "", "needs data that are not here")
            continue
        hours = []
        for engine in ("reference", None):
            queue = PackQueue(grid.cells, Machine(CORES, 2**40), CostModel(rates), engine)
            hours.append(sum(queue.cell_seconds(i) for i in range(len(grid.cells))) / 3600)
        total = [total[0] + len(grid.cells), total[1] + hours[0], total[2] + hours[1]]
        table.add_row(path.stem, str(len(grid.cells)), *_hours(hours))
    table.add_row("all", f"{total[0]:.0f}", *_hours(total[1:]))
    return table


def _hours(hours: list[float]) -> list[str]:
    return [f"{hours[0]:,.0f} h", f"{hours[1]:,.1f} h", duration(3600 * hours[1] / CORES)]


def main() -> None:
    """Print both tables."""
    best = limits()
    print(
        f"{CORES} cores together: {2 * best.products / 1e9:.0f} GFLOP/s in products (torch.mm {2 * best.torch_mm / 1e9:.0f}), "
        f"{best.memory / 1e9:.0f} GB/s of memory"
    )
    title = (
        "ms a step and network, all cores; (x): times faster than reference. Of the faster engine: its time over that of its\n"
        "products alone at the limit; time to stream its state through memory over its time; share of drawing data"
    )
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    columns = ("cells", "width", "gammas", "reference", "batched", "own engine", "/ products", "memory", "data", "aim")
    for name in columns:
        table.add_column(name, justify="left" if name == "cells" else "right")
    for shape in SHAPES:
        table.add_row(*row(shape, best))
    console = Console(width=170)
    console.print(table)
    console.print(paper())


if __name__ == "__main__":
    main()
