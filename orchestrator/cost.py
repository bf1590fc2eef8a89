"""What training costs: seconds and bytes of a pack on each engine, and the engine that costs least.

Seconds start from rates measured once on a 2-core machine (benchmarks/engines.py) and are corrected by what packs really took.
"""

import os
import platform
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Literal

import duckdb
import numpy as np
from pydantic import ValidationError

from trainables.cell import Cell
from trainables.engines.base import is_noiseless_pairs, shape_of
from trainables.tasks import SameDifferent

EngineName = Literal["reference", "batched", "gram"]
ENGINES: tuple[EngineName, ...] = ("reference", "batched", "gram")

_GEMM_FLOPS = {"cpu": 9e10, "cuda": 2e13}
_NS_PER_ELEMENT = {"reference": 3.0, "batched": 1.5}  # batch x width elements of a step outside the matrix products
_GRAM_NS_PER_PAIR_NEURON = 0.78
_GRAM_NS_PER_GRAM_NEURON = 0.055
_STEP_OVERHEAD_S = {"reference": 1e-4, "batched": 3e-5, "gram": 3e-6}
PROCESS_BYTES = 600 * 2**20
"""A worker with torch and numba loaded, before its first pack."""


def can_train(engine: EngineName, cell: Cell) -> bool:
    """Whether the engine trains this cell; `gram` needs noiseless pairs of symbols."""
    return engine != "gram" or is_noiseless_pairs(cell)


class CostModel:
    """Predicts seconds a cell, and learns from the packs that finish. Not thread-safe."""

    def __init__(self) -> None:
        self._of_shape: dict[tuple[object, ...], float] = {}
        self._of_engine: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._typical: dict[tuple[str, str], float] = {}

    def seconds(self, cell: Cell, engine: EngineName, device: str = "cpu") -> float:
        """Predicted seconds of one core (or of the card) for this cell in a pack."""
        return self.correction(shape_of(cell), engine, device) * predicted_seconds(cell, engine, device)

    def correction(self, shape: tuple[Any, ...], engine: EngineName, device: str) -> float:
        """What packs of this shape took over what was predicted; for a shape not seen yet, the engine's median."""
        return self._of_shape.get((engine, device, shape), self._typical.get((engine, device), 1.0))

    def observe(self, cell: Cell, engine: EngineName, device: str, seconds: float) -> None:
        """A cell of this shape really took `seconds`."""
        ratio = seconds / predicted_seconds(cell, engine, device)
        key = (engine, device, shape_of(cell))
        old = self._of_shape.get(key, ratio)
        self._of_shape[key] = (old + ratio) / 2
        recent = self._of_engine[engine, device] = [*self._of_engine[engine, device][-30:], ratio]
        self._typical[engine, device] = float(np.median(recent))

    def learn(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Start from what the cells of a store took, by shape."""
        rows = connection.execute(_MEASURED).fetchall()
        names = [column[0] for column in connection.description or []]
        for row in rows:
            found = dict(zip(names, row, strict=True))
            cell = _cell_of(found)
            if cell is not None and found["engine"] in ENGINES and _is_here(found["device"]):
                self.observe(cell, found["engine"], found["device"].split()[0], found["seconds"])

    def choose(self, cell: Cell, device: str = "cpu") -> tuple[EngineName, str]:
        """The engine and the device that should train this cell: the cheapest as predicted, never `reference`.

        What packs took does not enter: the engine of a cell must not depend on what ran before it.
        """
        options: list[tuple[EngineName, str]] = [("batched", device)]
        if can_train("gram", cell):
            options.append(("gram", "cpu"))
        return min(options, key=lambda option: predicted_seconds(cell, *option))


_MEASURED = """
select engine, device, task, L, d, sigma2, width, dtype, steps, batch, eval_every, test_size, median(seconds) as seconds
from cells where status = 'ok' and seconds > 0 and task = 'same_different' group by all
"""


def _is_here(device: str) -> bool:
    """Whether a row's device tells of packs to come: any card, and processors like this one."""
    return not device.startswith("cpu") or device == cpu_name()


def cpu_name() -> str:
    """What rows trained on a processor say of it: `cpu (x86_64, 2 cores)`."""
    return f"cpu ({platform.machine()}, {len(os.sched_getaffinity(0))} cores)"


def _cell_of(row: dict[str, Any]) -> Cell | None:
    """A cell of the shape that a row of `_MEASURED` tells of; None where the store holds what this version would refuse."""
    settings = {k: row[k] for k in ("width", "dtype", "steps", "batch", "eval_every", "test_size")}
    try:
        task = SameDifferent(L=row["L"], d=row["d"], sigma2=row["sigma2"])
        return Cell(task=task, gamma=1.0, base_lr=task.default_base_lr, seed=0, **settings)
    except ValidationError:
        return None


def predicted_seconds(cell: Cell, engine: EngineName, device: str) -> float:
    """Seconds of training and evaluation of one cell, one core or one card."""
    d_in, m, batch = cell.task.input_dim, cell.width, cell.batch
    flops = _GEMM_FLOPS[device] * (0.5 if cell.dtype == "float64" else 1.0)
    evaluation = 4 * cell.test_size * d_in * m / flops + 1e-8 * cell.test_size * m
    if engine == "gram":
        n_symbols = cell.task.L  # type: ignore[attr-defined]
        pairs = distinct_pairs(n_symbols, batch)
        step = 1e-9 * m * (_GRAM_NS_PER_PAIR_NEURON * pairs + 2 * _GRAM_NS_PER_GRAM_NEURON * n_symbols**2)
        step *= 2 if cell.dtype == "float64" else 1
    else:
        elements = _NS_PER_ELEMENT[engine] * (0.02 if device == "cuda" else 1.0)
        products = 8 if engine == "reference" else 5
        step = products * batch * d_in * m / flops + 1e-9 * elements * batch * m
    return cell.steps * (step + _STEP_OVERHEAD_S[engine]) + cell.steps // cell.eval_every * evaluation


def distinct_pairs(n_symbols: int, batch: int) -> float:
    """Expected number of different (u, v) in a batch that is half same, half different."""
    pairs = n_symbols * (n_symbols - 1)
    return n_symbols * (1 - (1 - 0.5 / n_symbols) ** batch) + pairs * (1 - (1 - 0.5 / pairs) ** batch)


def pack_bytes(cells: Iterable[Cell], engine: EngineName) -> int:
    """Predicted peak memory of a pack's arrays, without the process that holds them."""
    cells = list(cells)
    cell, n = cells[0], len(cells)
    n_groups = len({(c.seed, c.task) for c in cells})
    item = 8 if cell.dtype == "float64" else 4
    d_in, m, batch = cell.task.input_dim, cell.width, cell.batch
    initial = 2 * n_groups * d_in * m  # as drawn and as stacked
    evaluation = cell.test_size * (d_in + 5 * m) + 3 * d_in * m
    if engine == "gram":
        return int(item * (initial + 5 * n * 2 * cell.task.L * m + evaluation))  # type: ignore[attr-defined]
    inputs = 2 * n_groups * 10 * batch * d_in + n * batch * d_in
    states = (3 if engine == "reference" else 1) * n * d_in * m
    live = (1 if engine == "reference" else n) * 7 * batch * m
    return int(item * (initial + evaluation + inputs + states + live))
