"""`python -m benchmarks.gpu`: ms per step and network on this machine's GPU with full packs, and a forecast for figure C3."""

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from trainables.cell import Cell, cell_of, lazy_gamma
from trainables.engines import descent_engine
from trainables.tasks import SameDifferent
from trainables.trainers.base import Trainer

RICH = [float(g) for g in np.logspace(0, 2, 6)]
LADDER = [None, *(float(g) for g in np.logspace(-4.5, 0, 10))]
"""The gammas of figures C3 and 2; None is lazy."""
SHAPES: list[tuple[str, int, int, int, float, Sequence[float | None], int]] = [
    # engine, L, d, width, sigma2, gammas, seeds
    ("gram", 2, 256, 1024, 0.0, RICH, 43),
    ("gram", 12, 256, 1024, 0.0, RICH, 6),
    ("gram", 12, 256, 1024, 0.0, RICH, 43),
    ("gram", 12, 256, 1024, 0.0, LADDER, 24),
    ("gram", 64, 64, 1024, 0.0, LADDER, 24),
    ("gram", 16, 1024, 4096, 0.0, RICH, 22),
    ("batched", 12, 256, 1024, 0.0, RICH, 43),
    ("batched", 64, 64, 1024, 1.0, LADDER, 16),
    ("batched", 64, 256, 1024, 1.0, LADDER, 16),
]
SECONDS = 3.0
"""The seconds for which each engine is timed on each shape."""
C3_SEEDS, C3_STEPS, C3_EVALUATIONS = 6, 25_000, 25


def cells_of(n_symbols: int, d: int, width: int, sigma2: float, gammas: Sequence[float | None], seeds: int) -> list[Cell]:
    """A pack: every gamma for every seed."""
    task = SameDifferent(L=n_symbols, d=d, sigma2=sigma2)
    return [
        cell_of(task, width=width, gamma=lazy_gamma(task) if g is None else g, base_lr=0.1, seed=s)
        for s in range(seeds)
        for g in gammas
    ]


def seconds_of(run: Callable[[], object]) -> float:
    """Mean seconds of a run that ends with its result on the host. The first run is not counted."""
    run()
    n, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < SECONDS:
        run()
        n += 1
    return elapsed / n


def step_seconds(made: Trainer, steps: int = 500) -> float:
    """Seconds per step of the pack, with draws and without evaluation."""
    return seconds_of(lambda: made.train(0, steps)) / steps


def figure_c3_seconds() -> tuple[float, float, float]:
    """Predicted seconds to make, to train and to evaluate the packs of figure C3, one after the other.

    A step's time depends on L alone and an evaluation's on d alone. Both are measured on packs of the figure's size, at a few
    values of L and d.
    """
    ls, ds = (2, 5, 8, 12), (128, 256, 512, 1024)
    gram = descent_engine("gram")
    steps, making, evaluating = [], 0.0, 0.0
    for n_symbols in ls:
        steps.append(step_seconds(gram.trainer(cells_of(n_symbols, 256, 1024, 0.0, RICH, C3_SEEDS), "cuda")))
    for d in ds:
        started = time.perf_counter()
        made = gram.trainer(cells_of(12, d, 1024, 0.0, RICH, C3_SEEDS), "cuda")
        torch.cuda.synchronize()
        making += 11 * (time.perf_counter() - started)
        evaluating += 11 * C3_EVALUATIONS * seconds_of(lambda made=made: made.evaluate(1000))  # type: ignore[misc]
    training = sum(np.interp(n_symbols, ls, steps) for n_symbols in range(2, 13)) * len(ds) * C3_STEPS
    return making, float(training), evaluating


def main() -> int:
    """Print the table and the prediction."""
    if not torch.cuda.is_available():
        print("no CUDA device on this machine", file=sys.stderr)
        return 2
    table = Table(box=SIMPLE_HEAD, title=f"{torch.cuda.get_device_name()}, float32", title_justify="left")
    for name in ("engine", "L", "d", "width", "sigma2", "networks", "ms per step", "ms per step and network"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    for engine, n_symbols, d, width, sigma2, gammas, seeds in SHAPES:
        cells = cells_of(n_symbols, d, width, sigma2, gammas, seeds)
        ms = 1e3 * step_seconds(descent_engine(engine).trainer(cells, "cuda"), 500 if engine == "gram" else 50)
        row = (n_symbols, d, width, f"{sigma2:g}", len(cells), f"{ms:.4f}", f"{ms / len(cells):.6f}")
        table.add_row(engine, *map(str, row))
        torch.cuda.empty_cache()
    Console(width=130).print(table)
    making, training, evaluating = figure_c3_seconds()
    print(
        f"figure C3, 1584 networks in 44 packs one after the other: {(making + training + evaluating) / 60:.2f} minutes "
        f"(weights {making:.0f} s, training {training:.0f} s, evaluation {evaluating:.0f} s)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
