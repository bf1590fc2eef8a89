"""`ridge`: last layers of random networks, by one linear system each."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from trainables.cell import Cell, cell_of
from trainables.engines.base import Amounts, Engine, Run, Timed
from trainables.networks.solved.kernels import AT_ONCE, Features, LastLayer
from trainables.tasks import PowerLaw, Template


class Ridge(Engine):
    """Ridge regression. The one step makes the matrix of the kernel and solves the system; `call` is what each cell takes
    beside."""

    name: ClassVar[str] = "ridge"
    needs: ClassVar[str] = "networks whose last layer alone is trained, by ridge regression"
    seconds: ClassVar[Mapping[str, Mapping[str, float]]] = {"cpu": {"call": 2e-2, "product": 5e-11}}  # the system is in float64

    def trains(self, cell: Cell) -> bool:
        return cell.training.family == "ridge"

    def make(self, cells: Sequence[Cell], device: str = "cpu") -> Run:
        from trainables.engines.ridge.run import RidgeRun

        return RidgeRun(cells)

    def step_amounts(self, cell: Cell, group: float = 1.0, device: str = "cpu") -> Amounts:
        n, size = cell.task.n_train or 0, _size(cell)
        return {"call": 1.0, "product": size**3 / 3 + n * _of_example(cell, size)}

    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        return {"product": cell.test_size * _of_example(cell, 1 if _network(cell).few(cell) else _size(cell))}

    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        def of_matrices(cell: Cell) -> int:
            n = cell.task.n_train or 0
            attending = 4 * AT_ONCE if isinstance(cell.network, Features) else 0
            of_system = 3 * _size(cell) ** 2 if _network(cell).few(cell) else n * (3 * n + 2 * cell.test_size)
            return 8 * of_system + 8 * (n + cell.test_size) * _network(cell).held(cell) + attending

        return max(map(of_matrices, cells)) + sum(8 * (cell.task.n_train or 0) for cell in cells)

    def calibration(self) -> Iterable[Timed]:
        strings = [(Template(template="aba/abb", P=n), "kernel") for n in (64, 512)]
        vectors = (PowerLaw(d=1000, P=1024), "linear1")  # enough products to tell their time from that of a call
        for task, network in (*strings, vectors):
            cell = cell_of(task, network=network, training="ridge", test_size=256, seed=0)
            amounts = self.step_amounts(cell)
            amounts["product"] += self.evaluation_amounts(cell)["product"]
            yield Timed(amounts, partial(_solve, cell), 1)


def _network(cell: Cell) -> LastLayer:
    assert isinstance(cell.network, LastLayer)
    return cell.network


def _size(cell: Cell) -> int:
    """Unknowns of the linear system: last-layer weights where they are few, else coefficients of the examples."""
    return _network(cell).n_seen(cell) if _network(cell).few(cell) else cell.task.n_train or 0


def _of_example(cell: Cell, n: int) -> float:
    """Products that one example takes beside n training examples, or weights of a last layer."""
    return cell.network.n_products(cell) + n * _network(cell).of_entry(cell)


def _solve(cell: Cell) -> None:
    from trainables.engines.ridge.run import RidgeRun

    RidgeRun([cell]).advance(0)
