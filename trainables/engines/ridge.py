"""`ridge`: last layers of random networks, by one linear system each."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from trainables.cell import Cell, cell_of
from trainables.engines.base import Amounts, Engine, Run, Timed
from trainables.networks.kernels import AT_ONCE, Features
from trainables.tasks import Template

OF_PAIR = 100.0
"""Cost of one entry of a kernel's matrix that is looked up, in products."""


class Ridge(Engine):
    """Ridge regression. The one step makes the matrix of the kernel and solves the system; `call` is what each cell takes
    beside."""

    name: ClassVar[str] = "ridge"
    needs: ClassVar[str] = "networks whose last layer alone is trained, by ridge regression"
    seconds: ClassVar[Mapping[str, Mapping[str, float]]] = {"cpu": {"call": 2e-2, "product": 5e-11}}  # the system is in float64

    def trains(self, cell: Cell) -> bool:
        return cell.training.family == "ridge"

    def make(self, cells: Sequence[Cell], device: str = "cpu") -> Run:
        from trainables.ridge.run import RidgeRun

        return RidgeRun(cells)

    def step_amounts(self, cell: Cell, group: float = 1.0, device: str = "cpu") -> Amounts:
        n = cell.task.n_train or 0
        return {"call": 1.0, "product": n**3 / 3 + n * _of_example(cell, n)}

    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        return {"product": cell.test_size * _of_example(cell, cell.task.n_train or 0)}

    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        def of_matrices(cell: Cell) -> int:
            n = cell.task.n_train or 0
            of_neurons = 4 * AT_ONCE + 8 * (n + cell.test_size) * cell.width if isinstance(cell.network, Features) else 0
            return 8 * n * (3 * n + 2 * cell.test_size) + of_neurons

        return max(map(of_matrices, cells)) + sum(8 * (cell.task.n_train or 0) for cell in cells)

    def calibration(self) -> Iterable[Timed]:
        for n in (64, 512):
            cell = cell_of(Template(template="aba/abb", P=n), network="kernel", training="ridge", test_size=256, seed=0)
            amounts = self.step_amounts(cell)
            amounts["product"] += self.evaluation_amounts(cell)["product"]
            yield Timed(amounts, partial(_solve, cell), 1)


def _of_example(cell: Cell, n: int) -> float:
    """Products that one example takes beside n training examples."""
    return cell.network.n_products(cell) + n * cell.network.width if isinstance(cell.network, Features) else n * OF_PAIR


def _solve(cell: Cell) -> None:
    from trainables.ridge.run import RidgeRun

    RidgeRun([cell]).advance(0)
