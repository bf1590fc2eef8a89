"""`python -m benchmarks.equilibrium [kappa] [seeds]`: seconds, mixing, A_f of erf networks on He_3 near the threshold, N = d."""

import sys
import time
from collections.abc import Sequence

import numpy as np
import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from trainables.cell import Cell, cell_of
from trainables.engines.langevin.result import EquilibriumResult
from trainables.engines.langevin.run import EquilibriumRun
from trainables.tasks import Hermite3

SIZES = (12, 16, 24, 32, 40)
PER_DIMENSION = (12, 18, 27, 40)
"""P/d at kappa = 1: A_f crosses 0.1 and 0.25 in between. P grows with kappa + 1: what a network does not learn is noise too."""
STEPS, EVAL_EVERY, TEST_SIZE = 200, 2, 2048


def cells_of(d: int, per_dimension: int, kappa: float, seeds: int) -> list[Cell]:
    """One point: the same posterior for `seeds` data sets."""
    task = Hermite3(d=d, P=round(per_dimension * d * (kappa + 1) / 2))
    first = cell_of(
        task,
        network="erf2",
        width=d,
        kappa=kappa,
        steps=STEPS,
        eval_every=EVAL_EVERY,
        test_size=TEST_SIZE,
        seed=0,
        dtype="float32",
    )
    return [first.model_copy(update={"seed": s}) for s in range(seeds)]


def sampled(cells: Sequence[Cell]) -> tuple[list[EquilibriumResult], float]:
    """The results, and the processor seconds per network."""
    run, started = EquilibriumRun(cells), time.process_time()
    run.advance(np.inf)
    return run.results(), (time.process_time() - started) / len(cells)


def main(kappa: float, seeds: int) -> None:
    """Print the table, one line per point."""
    torch.set_num_threads(1)
    columns = ("d = N", "P", "s a network", "A_f", "+- of seeds", "specialised", "accepted", "worst R-hat", "least ESS", "mixed")
    table = Table(*columns, box=SIMPLE_HEAD, title=f"kappa = {kappa:g}, {STEPS} trajectories of 4 chains, {seeds} seeds")
    for d in SIZES:
        for per_dimension in PER_DIMENSION:
            cells = cells_of(d, per_dimension, kappa, seeds)
            results, seconds = sampled(cells)
            aligned = [r.alignment_f for r in results]
            error = np.std(aligned, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
            means = [np.mean([r.n_specialised[0] for r in results]), np.mean([r.acceptance for r in results])]
            worst = f"{max(r.r_hat for r in results):.2f}", f"{min(r.ess for r in results):.0f}"
            numbers = (f"{np.mean(aligned):.3f}", f"{error:.3f}", *(f"{m:.2f}" for m in means), *worst)
            table.add_row(
                str(d), str(cells[0].task.n_train), f"{seconds:.1f}", *numbers, f"{sum(r.mixed for r in results)}/{seeds}"
            )
    Console().print(table)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
