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

import numpy as np
import torch
from scipy.optimize import nnls

from orchestrator.amounts import Amounts, EngineName, evaluation_amounts, step_amounts
from orchestrator.calibration import Rates
from orchestrator.work import make_engine
from trainables.cell import Cell, lazy_gamma
from trainables.tasks import SameDifferent

Shape = tuple[int, int, int, float, float, int, int]
"""L, d, width, sigma2, gamma (0 for lazy), cells of the group, batch."""
SHAPES: dict[EngineName, list[Shape]] = {
    "gram": [(3, 64, 1024, 0, 1, 1, 128), (3, 64, 256, 0, 1, 4, 128), (3, 64, 256, 0, 1, 1, 8192), (16, 64, 1024, 0, 1, 1, 128),
             (16, 64, 1024, 0, 0, 1, 128), (64, 256, 1024, 0, 1, 1, 128), (12, 512, 4096, 0, 1, 1, 128)],
    "batched": [(16, 16, 1024, 1, 1, 1, 128), (16, 64, 1024, 1, 1, 1, 128), (16, 64, 256, 1, 1, 1, 128),
                (16, 64, 1024, 1, 1, 4, 128), (16, 256, 1024, 1, 1, 1, 128)],
    "reference": [(16, 16, 256, 1, 1, 1, 128), (16, 64, 1024, 1, 1, 1, 128), (16, 256, 1024, 1, 1, 1, 128)],
}  # fmt: skip
RAY_S = 11.5
"""What Ray needs on two cores: its processes, the library in each worker, the end. What the engines need to load is measured."""
RAY_BYTES = 90 * 2**20
"""What Ray adds to a worker's memory."""
WINDOW_S = 0.08


def cells_of(shape: Shape) -> list[Cell]:
    """The group of cells that a shape stands for."""
    n_symbols, d, width, sigma2, gamma, n, batch = shape
    task = SameDifferent(L=n_symbols, d=d, sigma2=sigma2)
    rich = [gamma / (1 + k) for k in range(n)] if gamma else [lazy_gamma(task)]
    return [Cell(task=task, width=width, gamma=g, base_lr=0.1, batch=batch, seed=0) for g in rich]


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
    found, _ = nnls(relative, np.ones(len(measured)))
    return dict(zip(kinds, found.tolist(), strict=True))


def rates_of(engine: EngineName) -> dict[str, float]:
    """Rates of one engine on one core."""
    measured = []
    for shape in SHAPES[engine]:
        cells = cells_of(shape)
        made, n = make_engine(engine, cells, "cpu"), 20
        seconds = seconds_of(lambda made=made, n=n: made.train(0, n)) / n / len(cells)  # type: ignore[misc]
        measured.append((step_amounts(cells[0], engine, len(cells)), seconds))
        if shape[0] > 3:
            seconds = seconds_of(lambda made=made: made.test_accuracy(0), 1) / len(cells)  # type: ignore[misc]
            measured.append((evaluation_amounts(cells[0], engine, len(cells)), seconds))
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
    seconds = Rates().seconds | {f"{engine} cpu": rates_of(engine) for engine in SHAPES}
    # In a process of its own, now that every kernel is compiled, as it will be for the workers.
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "orchestrator.measure", "--ready"], check=True, capture_output=True, text=True)
    start_s = RAY_S + time.perf_counter() - started
    print(json.dumps(asdict(Rates(seconds, start_s, int(done.stdout.splitlines()[-1]) + RAY_BYTES))))


if __name__ == "__main__":
    main()
