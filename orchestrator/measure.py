"""`python -m orchestrator.measure`: this machine's rates as JSON, from a few seconds of every engine on one core.

The amounts of work of each measured shape are known, so the rates are what explains all times best: least squares of the
relative error, no rate below zero.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import nnls

from orchestrator.amounts import Amounts, evaluation_amounts, step_amounts
from orchestrator.calibration import Rates
from orchestrator.work import make_engine
from trainables.cell import Cell, lazy_gamma
from trainables.engines.base import EngineName
from trainables.equilibrium.cell import EquilibriumCell
from trainables.tasks import PSVRT, Hermite3, Pentomino, SameDifferent, Task


class Shape(NamedTuple):
    """A group of `n` cells that see the same inputs; gamma 0 is lazy."""

    task: Task
    width: int
    gamma: float = 1
    n: int = 1
    batch: int = 128


def _pairs(n_symbols: int, d: int, sigma2: float = 0.0) -> SameDifferent:
    return SameDifferent(L=n_symbols, d=d, sigma2=sigma2)


SHAPES: dict[EngineName, list[Shape]] = {
    "gram": [Shape(_pairs(3, 64), 1024), Shape(_pairs(3, 64), 256, n=4), Shape(_pairs(3, 64), 256, batch=8192),
             Shape(_pairs(16, 64), 1024), Shape(_pairs(16, 64), 1024, 0), Shape(_pairs(64, 256), 1024),
             Shape(_pairs(12, 512), 4096)],
    "batched": [Shape(_pairs(16, 16, 1), 1024), Shape(_pairs(16, 64, 1), 1024), Shape(_pairs(16, 64, 1), 256),
                Shape(_pairs(16, 64, 1), 1024, n=4), Shape(_pairs(16, 256, 1), 1024)],
    "patches": [Shape(PSVRT(L=16), 512), Shape(PSVRT(L=1024), 512, n=4), Shape(PSVRT(L=1024, patches=2), 512),
                Shape(PSVRT(L=1024, patches=10), 512), Shape(PSVRT(L=4, patches=2), 2048),
                Shape(PSVRT(L=12, patches=2, patch_size=2), 256), Shape(Pentomino(L=16), 512, n=4),
                Shape(Pentomino(L=16, patches=6), 512)],
    "reference": [Shape(_pairs(16, 16, 1), 256), Shape(_pairs(16, 64, 1), 1024), Shape(_pairs(16, 256, 1), 1024)],
}  # fmt: skip
RAY_S = 11.5
"""What Ray needs on two cores: its processes, the library in each worker, the end. What the engines need to load is measured."""
RAY_BYTES = 90 * 2**20
"""What Ray adds to a worker's memory."""
WINDOW_S = 0.08


def cells_of(shape: Shape) -> list[Cell]:
    """The group of cells that a shape stands for."""
    gammas = [shape.gamma / (1 + k) for k in range(shape.n)] if shape.gamma else [lazy_gamma(shape.task)]
    task, width, base_lr = shape.task, shape.width, shape.task.default_base_lr
    return [Cell(task=task, width=width, gamma=gamma, base_lr=base_lr, batch=shape.batch, seed=0) for gamma in gammas]


def seconds_of(run: Callable[[], object], rounds: int = 3, window_s: float | None = None) -> float:
    """Shortest mean time of a run over some windows: other work on the machine only ever adds."""
    window_s = window_s or WINDOW_S
    run()
    best = float("inf")
    for _ in range(rounds):
        n, started = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - started) < window_s:
            run()
            n += 1
        best = min(best, elapsed / n)
    return best


def fit(measured: list[tuple[Amounts, float]]) -> dict[str, float]:
    """Rates that explain the measured seconds of these amounts."""
    kinds = list(dict.fromkeys(k for amounts, _ in measured for k in amounts))
    relative = np.array([[amounts.get(k, 0.0) / seconds for k in kinds] for amounts, seconds in measured])
    size = np.linalg.norm(relative, axis=0)  # amounts differ by eight orders: unscaled, the largest would be taken for zero
    found, _ = nnls(relative / size, np.ones(len(measured)))
    return dict(zip(kinds, (found / size).tolist(), strict=True))


def rates_of(engine: EngineName) -> dict[str, float]:
    """Rates of one engine on one core."""
    measured = []
    for shape in SHAPES[engine]:
        cells = cells_of(shape)
        made, n = make_engine(engine, cells, "cpu"), 20
        seconds = seconds_of(lambda made=made, n=n: made.train(0, n)) / n / len(cells)  # type: ignore[misc]
        measured.append((step_amounts(cells[0], engine, len(cells)), seconds))
        if shape.task.L > 3:  # type: ignore[attr-defined]  # those of three symbols tell what a step costs by itself
            seconds = seconds_of(lambda made=made: made.test_accuracy(0), 1) / len(cells)  # type: ignore[misc]
            measured.append((evaluation_amounts(cells[0], engine, len(cells)), seconds))
    return fit(measured)


def langevin_rates() -> dict[str, float]:
    """Rates of sampling networks at equilibrium: of a step of all chains, and of the products in it."""
    from trainables.equilibrium.chains import Chains

    measured = []
    for d, n_train in ((8, 32), (32, 128), (64, 512)):
        cell = EquilibriumCell(
            task=Hermite3(d=d, P=n_train), network="erf2", width=d, kappa=1.0, steps=100_000, eval_every=5, test_size=256, seed=0
        )
        chains = Chains(cell)
        amounts = {k: 5 * n for k, n in step_amounts(cell, "langevin").items()}
        for k, n in evaluation_amounts(cell, "langevin").items():
            amounts[k] = amounts.get(k, 0.0) + n
        measured.append((amounts, seconds_of(chains.advance)))
    return fit(measured)


def ready() -> None:
    """What a worker does before its first pack; prints the memory that it then has."""
    torch.set_num_threads(1)
    for engine in ("gram", "batched"):
        make_engine(engine, cells_of(SHAPES[engine][0]), "cpu").train(0, 10)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def main() -> None:
    """Print the rates."""
    if sys.argv[1:] == ["--ready"]:
        return ready()
    torch.set_num_threads(1)
    seconds = Rates().seconds | {f"{engine} cpu": rates_of(engine) for engine in SHAPES} | {"langevin cpu": langevin_rates()}
    # In a process of its own, now that every kernel is compiled, as it will be for the workers.
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "orchestrator.measure", "--ready"], check=True, capture_output=True, text=True)
    start_s = RAY_S + time.perf_counter() - started
    print(json.dumps(asdict(Rates(seconds, start_s, int(done.stdout.splitlines()[-1]) + RAY_BYTES))))


if __name__ == "__main__":
    main()
