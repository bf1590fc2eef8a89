"""A user file of networks that nobody trains: grids, queue, workers, rows and commits are real, and a pack takes `pause_s`.

The driver and each worker load it. It replaces the engine of its cells by one that draws numbers, and the predicted seconds of
such a cell by CELL_S, so that `pack_seconds` alone says how many cells make a pack.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from orchestrator.plan.packing import PackQueue
from trainables.cell import Cell
from trainables.engines import ENGINES
from trainables.engines.dense.engine import Batched
from trainables.metrics.base import Probed
from trainables.result import SCORES
from trainables.tasks import Task
from trainables.trainers.base import Measures, Trainer

Array = np.ndarray[Any, Any]
CELL_S = 0.5


class Idle(Task):
    """Inputs of length one. Cells of equal L and d share a pack."""

    name: ClassVar[str] = "idle"
    defaults: ClassVar[Mapping[str, Any]] = {"base_lr": 0.1, "prefactor": "none"}
    shared_across: ClassVar[tuple[str, ...]] = ("number",)

    L: Annotated[int, Field(ge=1)]
    d: Annotated[int, Field(ge=1)]
    number: Annotated[int, Field(ge=0)]
    pause_s: Annotated[float, Field(ge=0)] = 0.0

    @property
    def input_dim(self) -> int:
        return 1

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        return np.zeros(1)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return np.zeros((n, 1), np.float32), np.zeros(n)

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self.train_examples(rng, symbols, n)


class Untrained:
    """A trainer whose numbers are drawn at random: they fill files as trained ones would. C cells, m neurons."""

    name: ClassVar[str] = "batched"

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = list(cells)
        self.rng = np.random.default_rng(cells[0].seed)
        self.step_s = cells[0].task.pause_s / cells[0].steps  # type: ignore[attr-defined]

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        time.sleep(n_steps * self.step_s)
        return self.rng.random((len(self.cells), n_steps)), np.zeros((len(self.cells), n_steps))

    def evaluate(self, step: int, n: int) -> Array:
        return self.rng.random((len(SCORES[self.cells[0].task.targets]), len(self.cells)))

    def measures(self, step: int) -> Measures:
        shape = len(self.cells), self.cells[0].width
        alignment, norms = self.rng.random((2, *shape))
        return Measures(self.rng.standard_normal(shape), alignment, norms, self.rng.random(len(self.cells)))

    def hidden_weights(self, c: int, neurons: Array) -> Array:
        return np.zeros((len(neurons), 1))

    def probed(self, c: int) -> Callable[[Array], Probed]:
        return lambda x: Probed(np.zeros(len(x)), None, {})

    def state(self) -> dict[str, Array]:
        return {}

    def load(self, state: dict[str, Array]) -> None:
        """Do nothing: there is no state."""


class BatchedOrIdle(Batched):
    """The engine `batched`, except that it trains no cells of this task."""

    def trainer(self, cells: Sequence[Cell], device: str = "cpu") -> Trainer:
        return Untrained(cells) if cells[0].task.name == Idle.name else super().trainer(cells, device)


_cell_seconds = PackQueue.cell_seconds


def cell_seconds(queue: PackQueue, i: int) -> float:
    """CELL_S for a cell of this task, the usual prediction for other tasks."""
    predicted = _cell_seconds(queue, i)
    return CELL_S if queue.plan[i].cell.task.name == Idle.name else predicted


ENGINES[Batched.name] = BatchedOrIdle()
PackQueue.cell_seconds = cell_seconds  # type: ignore[assignment, method-assign]
