"""Interface of a trainer, which holds a pack under gradient descent; and groups of cells that see the same inputs."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np

from trainables.cell import Cell
from trainables.metrics.base import Probed
from trainables.streams import BLOCK_STEPS, stream, stream_owner, tests_of, weights_owner
from trainables.tasks.base import Array

if TYPE_CHECKING:
    from torch import Tensor


class Measures(NamedTuple):
    """State of each two-layer network of a pack at its last step; None for other networks."""

    readout: Array | None
    """(C, m)."""
    alignment: Array | None
    """(C, m), cosine of the angle between the two halves of a neuron's weights."""
    half_norms: Array | None
    """(C, m), norm of the smaller half of a neuron's weights over that of the larger."""
    activation_change: Array | None
    """(C,)."""


class Trainer(Protocol):
    """Trains the cells it was made for, all at the same step. C is the number of cells."""

    name: ClassVar[str]

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        """Take n_steps steps from `first_step`. Returns mean loss and number of right predictions per step, (C, n_steps) each."""

    def evaluate(self, step: int, n: int) -> Array:
        """Scores (S, C) on n test examples that belong to `step`, as trainables.trainers.scores names them."""

    def measures(self, step: int) -> Measures:
        """Weight structure now, and the activation change over the test examples that belong to `step`."""

    def hidden_weights(self, c: int, neurons: Array) -> Array:
        """Hidden weights w = w_0 + eps u (n, D) that the n named neurons of cell c have now. Two-layer networks only."""

    def probed(self, c: int) -> Callable[[Array], Probed]:
        """The network of cell c as it is now, at inputs (n, D): to be asked before training goes on."""

    def state(self) -> dict[str, Array]:
        """All that training has changed, as arrays. They may be the trainer's own arrays, which later steps change."""

    def load(self, state: dict[str, Array]) -> None:
        """Restore a value that `state` returned."""


class Queued:
    """A trainer whose steps are queued on a device, on which the host waits once per call of `train`."""

    def take(self, first_step: int, n_steps: int) -> "Tensor":
        """Do what `train` does without waiting for the device. Returns loss and right predictions, (2, C, n_steps)."""
        raise NotImplementedError

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        loss, right = self.take(first_step, n_steps).cpu().numpy()  # the only wait of the host for the device
        return loss, right


class Groups:
    """Groups of cells that see the same inputs and draw their weights from one stream: `group` holds the group of each cell,
    `members` the cells of each group, and `cells` one cell that stands for each group."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        keys = [(stream_owner(cell), weights_owner(cell), cell.task) for cell in cells]
        first = {key: cell for key, cell in zip(reversed(keys), reversed(cells), strict=True)}
        order = list(dict.fromkeys(keys))
        number = {key: g for g, key in enumerate(order)}
        self.group = [number[key] for key in keys]
        self.members = [[c for c, g in enumerate(self.group) if g == k] for k in range(len(order))]
        self.cells = [first[key] for key in order]
        self.owners = [owner for owner, *_ in order]
        self.symbols = [c.task.draw_symbols(stream(o, "symbols")) for c, o in zip(self.cells, self.owners, strict=True)]

    def __len__(self) -> int:
        return len(self.cells)

    def drawn_block(self, g: int, block: int) -> tuple[Array, Array]:
        """Inputs (BLOCK_STEPS B, ...) and targets of a block of steps of group g."""
        cell = self.cells[g]
        return cell.task.train_examples(stream(self.owners[g], "batches", block), self.symbols[g], BLOCK_STEPS * cell.batch)

    def draw_block(self, g: int, block: Hashable, rooms: "Sequence[Tensor]") -> None:
        """Draw a block of steps of group g into inputs (S, BLOCK_STEPS, B, ...) and targets of the host."""
        import torch

        assert isinstance(block, int)
        for room, numbers in zip(rooms, self.drawn_block(g, block), strict=True):
            room[g].copy_(torch.from_numpy(np.ascontiguousarray(numbers)).view(room[g].shape))

    def draw_tests(self, g: int, step: int, n: int) -> tuple[Array, Array]:
        """n test examples that belong to `step`, as group g sees them."""
        return tests_of(self.owners[g], self.cells[g].task, self.symbols[g], step, n)

    def draw_validation(self, g: int, n: int) -> tuple[Array, Array]:
        """n validation examples of group g."""
        return self.cells[g].task.validation_examples(stream(self.owners[g], "validation"), self.symbols[g], n)


def blocks(first_step: int, n_steps: int) -> Iterator[tuple[int, slice]]:
    """The blocks of the batch stream that hold the given steps, each with the steps to take from it."""
    step, last = first_step, first_step + n_steps
    while step < last:
        block, offset = divmod(step, BLOCK_STEPS)
        n = min(BLOCK_STEPS - offset, last - step)
        yield block, slice(offset, offset + n)
        step += n
