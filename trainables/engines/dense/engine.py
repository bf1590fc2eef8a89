"""`reference` and `batched`: the two-layer network by dense products."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from trainables.cell import Cell, cell_of
from trainables.engines.base import ALONE, Amounts, DescentEngine, evaluation_numbers, groups_of, item_bytes
from trainables.kernels.sizes import PART
from trainables.kinds import OF_THE_PAPER, is_of_the_paper
from trainables.streams import BLOCK_STEPS
from trainables.tasks import SameDifferent

if TYPE_CHECKING:
    from trainables.trainers.base import Trainer


def noisy(d: int, width: int, n: int = 1, seed: int = 0) -> list[Cell]:
    """A group of n cells on noisy symbols; all see the same inputs."""
    task = SameDifferent(L=16, d=d, sigma2=1.0)
    return [cell_of(task, width=width, gamma=1.0 / (1 + k), seed=seed) for k in range(n)]


class _Dense(DescentEngine):
    needs: ClassVar[str] = OF_THE_PAPER
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")

    def trains(self, cell: Cell) -> bool:
        return is_of_the_paper(cell)

    def products(self, group: float) -> float:
        """Number of dense products in a step, each of batch x input_dim x width."""
        return 2 + 1 / group

    def share(self, group: float) -> float:
        """Fraction of the drawn inputs that one cell is charged for."""
        return 1 / group

    def step_amounts(self, cell: Cell, group: float = 1.0, device: str = "cpu") -> Amounts:
        d_in, m, batch = cell.task.input_dim, cell.width, cell.batch
        numbers = self.share(group) * batch * d_in
        return {"call": 1.0, "neuron": batch * m, "product": self.products(group) * batch * d_in * m, "number": numbers}

    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        d_in, m, n = cell.task.input_dim, cell.width, cell.test_size
        products = n * m * d_in * (1 + self.share(group))
        return {"evaluation": 1.0, "product": products, "neuron": n * m, "number": self.share(group) * n * d_in}

    def weights(self, n_cells: int) -> int:
        """Number of weight matrices that a pack of n_cells holds, besides one initial matrix per group."""
        return n_cells

    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        cell, n, n_groups = cells[0], len(cells), groups_of(cells)
        d_in, m, batch = cell.task.input_dim, cell.width, cell.batch
        inputs = 3 * n_groups * BLOCK_STEPS * batch * d_in
        states = self.weights(n) * d_in * m
        return int(
            item_bytes(cell)
            * (n_groups * d_in * m + evaluation_numbers(cells, device) + inputs + states + self.live(cells, device))
        )

    def live(self, cells: Sequence[Cell], device: str) -> float:
        """Numbers that a step holds at once."""
        cell = cells[0]
        return 5 * cell.batch * cell.width + min(cell.task.input_dim * cell.width, PART)


class Reference(_Dense):
    """One network at a time in plain PyTorch, as the paper writes it."""

    name: ClassVar[str] = "reference"
    is_oracle: ClassVar[bool] = True
    double: ClassVar[float] = 2.0
    seconds: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "cpu": {"call": 2e-4, "neuron": 3e-9, "product": 2e-11, "number": 1e-8, "evaluation": 5e-4},
        # Not measured; the first packs correct it: a GPU with some 20 TFLOP/s in float32.
        "cuda": {"call": 5e-4, "neuron": 3e-11, "product": 1e-13, "number": 1e-8, "evaluation": 1e-3},
    }

    def trainer(self, cells: Sequence[Cell], device: str = "cpu") -> "Trainer":
        from trainables.engines.dense.reference import Reference

        return Reference(cells, device)

    def products(self, group: float) -> float:
        return 6.0

    def share(self, group: float) -> float:
        return 1.0

    def weights(self, n_cells: int) -> int:
        return 3 * n_cells

    def shapes(self) -> Sequence[Sequence[Cell]]:
        return [noisy(16, 256), noisy(64, 1024), noisy(256, 1024)]


class Batched(_Dense):
    """Many networks of one shape as one tensor program."""

    name: ClassVar[str] = "batched"
    double: ClassVar[float] = 4.0  # half as many numbers per instruction, and no oneDNN
    seconds: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "cpu": {"call": 4e-5, "neuron": 7e-10, "product": 9e-12, "number": 2e-9, "evaluation": 5e-4},
        # On an NVIDIA H200, from packs of 176 networks; `evaluation` was 1.9e-4, as for `gram`.
        "cuda": {"call": 1e-6, "neuron": 1.5e-11, "product": 1e-14, "number": 2.6e-9, "evaluation": 7e-5},
        ALONE: {"call": 3e-5, "neuron": 1.4e-10, "product": 8e-13, "number": 2.6e-9},
    }
    merges: ClassVar[frozenset[str]] = frozenset({"L", "sigma2", "prefactor"})

    def trainer(self, cells: Sequence[Cell], device: str = "cpu") -> "Trainer":
        from trainables.engines.dense.batched import Batched

        if device == "cpu":
            return Batched(cells)
        from trainables.trainers.card.faults import check_card
        from trainables.trainers.card.proof import prove

        check_card()
        prove(cells, partial(Batched, device=device), Batched)
        return Batched(cells, device)

    def live(self, cells: Sequence[Cell], device: str) -> float:
        cell = cells[0]
        if device == "cuda":
            # trainables.engines.dense.fused: q, x, f and df of each cell, h0 of each group
            own = cell.width + cell.task.input_dim + 2
            return cell.batch * (len(cells) * own + groups_of(cells) * cell.width)
        return super().live(cells, device)

    def shapes(self) -> Sequence[Sequence[Cell]]:
        return [noisy(16, 1024), noisy(64, 1024), noisy(64, 256), noisy(64, 1024, 4), noisy(256, 1024)]

    def card_packs(self) -> Sequence[Sequence[Cell]]:
        def pack(d: int, width: int) -> list[Cell]:
            return [cell for seed in range(16) for cell in noisy(d, width, 11, seed)]

        return [pack(16, 1024), pack(64, 1024), pack(64, 256), pack(256, 1024)]
