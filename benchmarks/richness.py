"""`python -m benchmarks.richness`: processor time of `save: [richness]` and `[richness_curve]` [Nam26].

First the probe of one network at several widths, 1024 examples, on one core: D_LR alone, with the spectrum, and all metrics. The
best of several networks counts, because other work on the machine only ever adds time. Then the default sweep, grid.yaml, in
packs of one L, without the metrics and with them: their share of the time of training, where the aim is 10%.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core a pack, as in a worker
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from orchestrator.grid.load import load_grid
from trainables.cell import Cell, cell_of
from trainables.engines import descent_engine
from trainables.metrics import metric_groups
from trainables.tasks import SameDifferent
from trainables.trainers.run import PackRun

WIDTHS = (128, 512, 1024, 2048)
SEEDS = 5
GRID = Path(__file__).parents[1] / "grid.yaml"
ALL = metric_groups()["richness"].members
CURVES = metric_groups()["richness_curve"].members
ASKED: dict[str, Sequence[str]] = {"d_lr": ["d_lr"], "and d_eff_rho": ["d_lr", "d_eff_rho"], "all": ALL}


def processor_time(work: Callable[[], object]) -> float:
    """Seconds of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def trained(cells: Sequence[Cell], names: Sequence[str] = ()) -> PackRun:
    """A trained pack; `names` are measured at each evaluation."""
    run = PackRun(cells, descent_engine("gram").trainer(cells))
    run.watch([names] * len(cells))
    while not run.done:
        run.advance(60.0)
    return run


def measuring(run: PackRun, names: Sequence[str]) -> list[float]:
    """Seconds of the metrics of each network of a trained pack."""
    return [processor_time(partial(run.measured, c, names)) for c in range(len(run.cells))]


def probes(console: Console) -> None:
    """Print the milliseconds of the probe of one network."""
    table = Table("width", *(f"{name}, ms" for name in ASKED), box=SIMPLE_HEAD)
    for width in WIDTHS:
        own: dict[str, Any] = {"width": width, "steps": 100, "eval_every": 100, "gamma": 1.0}
        run = trained([cell_of(SameDifferent(L=64, d=64), seed=seed, **own) for seed in range(SEEDS)])
        table.add_row(str(width), *(f"{1000 * min(measuring(run, names)):.0f}" for names in ASKED.values()))
    console.print(table)


def default_sweep(console: Console) -> None:
    """Print the seconds of training all networks of grid.yaml, and those of the metrics."""
    cells = sorted((planned.cell for planned in load_grid(GRID).cells), key=lambda cell: (_symbols(cell), cell.seed))
    training = metrics = curves = 0.0
    for _, pack in groupby(cells, key=_symbols):
        of_pack = list(pack)
        plain = processor_time(partial(trained, of_pack))
        training += plain
        metrics += sum(measuring(trained(of_pack), ALL))
        curves += processor_time(partial(trained, of_pack, CURVES)) - plain
    table = Table("default sweep", "processor seconds", "of training", box=SIMPLE_HEAD)
    for name, seconds in (("training", training), ("richness", metrics), ("richness_curve", curves)):
        table.add_row(name, f"{seconds:.1f}", f"{seconds / training:.0%}")
    console.print(table)


def _symbols(cell: Cell) -> int:
    return int(dict(cell.shape())["L"])


if __name__ == "__main__":
    probes(Console())
    default_sweep(Console())
