"""Examples of the steps of a block: fresh ones, a whole training set, or batches drawn from one, with replacement or shuffled.

S groups of cells see the same inputs; C is the number of cells. A step changes the parameters U times, each time on a batch of B
examples; a block of steps has BLOCK_STEPS U batches. All that differs from block to
block lies in staged tensors; see trainables.trainers.card.staging.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from trainables.streams import BLOCK_STEPS, stream
from trainables.tasks.base import Array
from trainables.trainers.base import Groups
from trainables.trainers.card.staging import Room


class Seen:
    """Examples as a pack of cells sees them: its groups, and the types of inputs and targets as tensors."""

    def __init__(self, groups: Groups, dtype: torch.dtype, device: torch.device) -> None:
        self.groups, self.device, task = groups, device, groups.cells[0].task
        self.input_dtype = dtype if task.inputs == "vector" else torch.int64
        self.target_dtype = torch.int64 if task.targets == "classes" else dtype
        self.n_answers = task.n_answers
        is_shared = len(groups) < len(groups.group)
        self.group = torch.tensor(groups.group, device=device) if is_shared else None

    def of_cells(self, x: Tensor) -> Tensor:
        """An array with an entry per group, (S, ...), expanded to an entry per cell, (C, ...)."""
        return x if self.group is None else x[self.group]

    def inputs(self, x: Array) -> Tensor:
        """Inputs from the host as a tensor: vectors in the pack's precision, tokens as whole numbers."""
        return torch.from_numpy(np.ascontiguousarray(x)).to(self.device, self.input_dtype)

    def targets(self, y: Array) -> Tensor:
        """Targets from the host as a tensor: classes as whole numbers, others in the pack's precision."""
        return torch.from_numpy(np.ascontiguousarray(y)).to(self.device, self.target_dtype)

    def answers(self, y: Tensor) -> Tensor:
        """Targets (..., n) as they are; those of T answers an example, (..., n, T), as (..., n T), in the order of outputs."""
        return y.flatten(-2) if self.n_answers > 1 else y

    def train_set(self) -> tuple[Tensor, Tensor]:
        """The P examples of each group's fixed training set, (S, P, ...) each."""
        x: list[Tensor] = []
        y: list[Tensor] = []
        for cell, owner, symbols in zip(self.groups.cells, self.groups.owners, self.groups.symbols, strict=True):
            drawn = cell.task.train_examples(stream(owner, "batches"), symbols, cell.task.n_train or 0)
            x.append(self.inputs(drawn[0]))
            y.append(self.targets(drawn[1]))
        return torch.stack(x), torch.stack(y)

    def train_rows(self) -> "tuple[Shared, Tensor]":
        """The inputs of `train_set` as rows of the task's table, one after the other, and the targets (S, P, ...)."""
        tables = {cell.task.source: cell.task.table() for cell in self.groups.cells}
        starts = dict(zip(tables, np.cumsum([0, *(len(table.rows) for table in tables.values())]), strict=False))
        rows, front, y = [], [], []
        for cell, owner, symbols in zip(self.groups.cells, self.groups.owners, self.groups.symbols, strict=True):
            taken, targets = cell.task.train_rows(stream(owner, "batches"), symbols, cell.task.n_train or 0)
            rows.append(taken.rows + starts[cell.task.source])
            front.append(taken.front)
            y.append(self.targets(targets))
        whole, *others = (_as_tensor(table.rows).to(self.device) for table in tables.values())
        shared = Shared(
            torch.cat([whole, *others]) if others else whole,
            torch.tensor(next(iter(tables.values())).white, dtype=torch.float32, device=self.device),
            torch.from_numpy(np.concatenate(rows)).to(self.device),
            self.inputs(np.concatenate(front)),
            self.input_dtype,
        )
        return shared, torch.stack(y)


def _as_tensor(rows: Array) -> Tensor:
    """An array as a tensor without a copy. It may be a memory map that all processes of a machine share and none may write."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch warns of arrays that cannot be written; nobody writes to this one
        return torch.from_numpy(rows)


class Held(NamedTuple):
    """Numbers of the training sets of all groups, one after the other."""

    numbers: Tensor
    """(S P, ...)."""

    def at(self, order: Tensor) -> Tensor:
        """The numbers of these examples, by their places (n,)."""
        return self.numbers.index_select(0, order)


class Shared(NamedTuple):
    """Inputs of the training sets of all groups, one after the other, as rows of a table: it is held once, whatever S and P."""

    table: Tensor
    """(N, D) uint8."""
    white: Tensor
    """() float32; of a number that is no tensor a GPU takes the inverse, and rounds twice."""
    rows: Tensor
    """(S P,) int64."""
    front: Tensor
    """(S P, k), in place of the first k numbers of a row."""
    dtype: torch.dtype

    def at(self, order: Tensor) -> Tensor:
        """Inputs (n, D), number for number those of `Table.inputs`."""
        x = self.table.index_select(0, self.rows.index_select(0, order)).to(torch.float32).div_(self.white).to(self.dtype)
        x[:, : self.front.shape[1]] = self.front.index_select(0, order)
        return x


class Placed(NamedTuple):
    """Batches of a group as places in R examples."""

    x: "Held | Shared"
    y: Tensor
    """(R, ...)."""
    order: Array
    """(N, B) int64, the places of the examples of N batches; (1, B) if all batches are the same."""
    in_order: bool
    """True if the examples of every batch follow each other."""


class Batches(Protocol):
    """Inputs and targets of the batches of a block. Nothing here waits for the device but the making and `fill`."""

    rooms: Sequence[Room]
    """The staged tensors."""

    def fill(self, g: int, block: int, rooms: Sequence[Tensor]) -> None:
        """Draw the part of group g into host tensors. Threads may draw several groups at a time."""

    def placed(self, blocks: range) -> Placed:
        """The batches of these blocks, on the host, where there is but one group."""

    def inputs(self, staged: Sequence[Tensor], k: int) -> Tensor:
        """Inputs (C, B, ...) of batch k of the block."""

    def targets(self, staged: Sequence[Tensor], batches: slice) -> Tensor:
        """Targets (C, n, B) or (C, n, B, K) of n batches of the block; (C, n, B, T) of T answers an example."""


class Fresh:
    """Fresh examples at each step; implements Batches."""

    def __init__(self, seen: Seen) -> None:
        self.seen, cell = seen, seen.groups.cells[0]
        shape = (len(seen.groups), BLOCK_STEPS, cell.batch)
        task = cell.task
        components = [task.n_outputs] if task.targets == "real" and task.n_outputs > 1 else []
        components += [task.n_answers] if task.n_answers > 1 else []
        self.rooms: Sequence[Room] = [
            Room((*shape, cell.task.input_dim), seen.input_dtype),
            Room((*shape, *components), seen.target_dtype),
        ]

    def fill(self, g: int, block: int, rooms: Sequence[Tensor]) -> None:
        self.seen.groups.draw_block(g, block, rooms)

    def placed(self, blocks: range) -> Placed:
        drawn = [self.seen.groups.drawn_block(0, block) for block in blocks]
        x, y = drawn[0] if len(drawn) == 1 else map(np.concatenate, zip(*drawn, strict=True))
        order = np.arange(len(x)).reshape(-1, self.seen.groups.cells[0].batch)
        return Placed(Held(self.seen.inputs(x)), self.seen.targets(y), order, True)

    def inputs(self, staged: Sequence[Tensor], k: int) -> Tensor:
        return self.seen.of_cells(staged[0][:, k])

    def targets(self, staged: Sequence[Tensor], batches: slice) -> Tensor:
        return self.seen.of_cells(staged[1][:, batches])


class WholeSet:
    """The P examples of a fixed training set at each step; implements Batches."""

    rooms: Sequence[Room] = ()

    def __init__(self, seen: Seen) -> None:
        self.x, self.y = map(seen.of_cells, seen.train_set())

    def fill(self, g: int, block: int, rooms: Sequence[Tensor]) -> None:
        """Nothing is left to draw."""

    def placed(self, blocks: range) -> Placed:
        return Placed(Held(self.x[0]), self.y[0], np.arange(len(self.x[0]))[None], True)

    def inputs(self, staged: Sequence[Tensor], k: int) -> Tensor:
        return self.x

    def targets(self, staged: Sequence[Tensor], batches: slice) -> Tensor:
        n_cells, *shape = self.y.shape
        return self.y[:, None].expand(n_cells, batches.stop - batches.start, *shape)


class Redrawn:
    """Batches drawn with replacement from a fixed training set of P examples; implements Batches."""

    def __init__(self, seen: Seen) -> None:
        self.seen, cell = seen, seen.groups.cells[0]
        self.n = cell.task.n_train or 0
        self.x: Held | Shared
        if cell.task.table_bytes:
            self.x, y = seen.train_rows()
        else:
            x, y = seen.train_set()
            self.x = Held(x.flatten(0, 1))
        self.y = Held(y.flatten(0, 1))
        self.rooms: Sequence[Room] = [Room((len(seen.groups), BLOCK_STEPS * cell.updates, cell.batch), torch.int64)]

    def fill(self, g: int, block: int, rooms: Sequence[Tensor]) -> None:
        room = rooms[0][g]
        room.copy_(torch.from_numpy(self._order(g, block, room.numel()) + g * self.n).view(room.shape))

    def placed(self, blocks: range) -> Placed:
        cell = self.seen.groups.cells[0]
        n = BLOCK_STEPS * cell.updates * cell.batch
        order = np.concatenate([self._order(0, block, n) for block in blocks])
        return Placed(self.x, self.y.numbers, order.reshape(-1, cell.batch), False)

    def _order(self, g: int, block: int, n: int) -> Array:
        """The places of a block's n examples in the training set of group g: (n,)."""
        return stream(self.seen.groups.owners[g], "order", block).integers(0, self.n, n)

    def inputs(self, staged: Sequence[Tensor], k: int) -> Tensor:
        return self._taken(self.x, staged[0][:, k])

    def targets(self, staged: Sequence[Tensor], batches: slice) -> Tensor:
        return self._taken(self.y, staged[0][:, batches])

    def _taken(self, examples: Held | Shared, order: Tensor) -> Tensor:
        taken = examples.at(order.reshape(-1))
        return self.seen.of_cells(taken.view(*order.shape, *taken.shape[1:]))


class Shuffled(Redrawn):
    """Batches that follow each other through shuffled training sets; implements Batches.

    An epoch has U B >= P places. Where that is more than P, the next order begins in the last batch, and so on.
    """

    def _order(self, g: int, block: int, n: int) -> Array:
        first = block * n
        epochs = range(first // self.n, (first + n - 1) // self.n + 1)
        owner = self.seen.groups.owners[g]
        orders = np.concatenate([stream(owner, "order", epoch).permutation(self.n) for epoch in epochs])
        return orders[first - epochs.start * self.n :][:n]
