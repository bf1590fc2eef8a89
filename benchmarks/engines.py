"""`python -m benchmarks.engines`: ms per step and network of each engine, side by side in one run, on one core."""

import time

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from orchestrator.cost import ENGINES, EngineName, can_train
from orchestrator.progress import duration
from orchestrator.work import make_engine
from trainables.cell import Cell, lazy_gamma
from trainables.tasks import SameDifferent

SHAPES = [
    # L, d, width, sigma2
    (3, 256, 1024, 0.0),
    (12, 128, 512, 0.0),
    (16, 256, 1024, 0.0),
    (16, 1024, 4096, 0.0),
    (64, 256, 1024, 0.0),
    (64, 64, 1024, 1.0),
    (64, 256, 1024, 1.0),
]
SECONDS = 1.5
"""How long each engine is timed on each shape."""


def ms_per_step(engine: EngineName, cells: list[Cell]) -> float:
    """Milliseconds of training a step and network, data included, evaluation left out."""
    made = make_engine(engine, cells, "cpu")
    made.train(0, 10)
    steps, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < SECONDS:
        made.train(10 + steps, 20)
        steps += 20
    return 1e3 * elapsed / steps / len(cells)


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    table = Table(
        box=SIMPLE_HEAD, title="ms per step and network, one core; x: times faster than reference", title_justify="left"
    )
    for name in ("L", "d", "width", "sigma2", *ENGINES, "25,000 steps of the fastest"):
        table.add_column(name, justify="right")
    for n_symbols, d, width, sigma2 in SHAPES:
        task = SameDifferent(L=n_symbols, d=d, sigma2=sigma2)
        cells = [Cell(task=task, width=width, gamma=g, base_lr=0.1, seed=0) for g in (1.0, 0.1, 0.01, lazy_gamma(task))]
        found = {engine: ms_per_step(engine, cells) for engine in ENGINES if can_train(engine, cells[0])}
        shown = [f"{found[e]:.3f} ({found['reference'] / found[e]:.1f}x)" if e in found else "-" for e in ENGINES]
        table.add_row(str(n_symbols), str(d), str(width), f"{sigma2:g}", *shown, duration(25 * min(found.values())))
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
