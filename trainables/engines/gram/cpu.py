"""`gram`: exact training in the span of the symbols, for noiseless same-different on the CPU.

Inputs are pairs of the L training symbols Z, so the gradient of each half of the weights lies in their span:
U_s = Z^T omega_s, s = 0, 1. A step needs only the symbols' preactivations, which follow from omega by the Gram matrix
Z Z^T, so its cost does not depend on d. The arrays pad symbols to a multiple of TILE and neurons to one of CHUNK, with zeros.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.gram.cpu_step import train_steps
from trainables.engines.gram.span import Span, check_noiseless_pairs
from trainables.kernels.pairs import distinct_pairs
from trainables.kernels.sizes import TILE, padded
from trainables.streams import BLOCK_STEPS
from trainables.tasks.base import Array
from trainables.trainers.ensemble import Ensemble, chunked
from trainables.trainers.scaled import Scaled

MOST_STEPS = 20 * BLOCK_STEPS
"""Steps whose pairs are held in memory at a time."""


class Gram(Scaled):
    """Networks one after the other, each in a compiled loop over many steps; implements Trainer."""

    name: ClassVar[str] = "gram"

    def __init__(self, cells: Sequence[Cell]) -> None:
        check_noiseless_pairs(cells)
        self.nets = nets = Ensemble(cells, "cpu")
        self.span, self.width = Span(nets), cells[0].width
        n_groups, n_symbols = len(nets.groups), self.span.n_symbols[0]
        self.gram = [self.span.gram_matrix(g, padded(n_symbols, TILE)).numpy() for g in range(n_groups)]
        self.p = [self._initial(g) for g in range(n_groups)]
        self.f0 = [np.full((n_symbols, n_symbols), np.nan, self.p[0].dtype) for _ in range(n_groups)]
        self.room = np.empty((2, *self.p[0].shape), self.p[0].dtype)
        self.omega = np.zeros((len(cells), *self.p[0].shape), self.p[0].dtype)
        self.a0 = chunked(nets.a0.numpy())
        self.b = np.zeros_like(self.a0)
        nets.b = torch.from_numpy(self.b).flatten(1)[:, : self.width]  # a view: the ensemble sees what the kernel trains
        self.train(0, 0)  # compiles, so that no pack is charged for it

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        nets = self.nets
        loss, right = np.empty((2, len(nets.cells), n_steps))
        eps, lr = nets.eps[:, 0, 0].numpy(), nets.lr[:, 0].numpy()
        for start in range(0, n_steps, MOST_STEPS) or [0]:
            part = slice(start, min(start + MOST_STEPS, n_steps))
            for g, cells in enumerate(nets.groups.members):
                codes = self.span.codes(g, first_step + start, part.stop - start)
                seen = distinct_pairs(codes, self.span.n_symbols[g])
                for c in cells:
                    literal, batch = nets.cells[c].output_is_literal, nets.cells[c].batch
                    weights = (self.f0[g], self.p[g], self.omega[c], *self.room, self.a0[c], self.b[c])
                    train_steps(*seen, batch, literal, *weights, self.gram[g], eps[c], lr[c], loss[c, part], right[c, part])
        return loss, right

    def scaled_weights(self, c: int) -> Tensor:
        return self.span.scaled_weights(c, self._omega(c))

    def changes(self, cells: Sequence[int], x: Tensor) -> Tensor:
        return self.span.changes(cells, x, self._omega(cells[0])[None])  # a CPU evaluates one cell at a time

    def state(self) -> dict[str, Array]:
        return {"omega": self.omega, "b": self.b}

    def load(self, state: dict[str, Array]) -> None:
        self.omega[:], self.b[:] = state["omega"], state["b"]

    def _initial(self, g: int) -> Array:
        """The kernel's array p: the group's initial preactivations."""
        p = np.pad(self.span.initial(g).numpy(), ((0, 0), (0, -self.span.n_symbols[g] % TILE), (0, 0)))
        return np.ascontiguousarray(chunked(p).transpose(2, 0, 1, 3))

    def _omega(self, c: int) -> Tensor:
        """omega (2, L, m) of a cell."""
        omega = torch.from_numpy(self.omega[c]).permute(1, 2, 0, 3).flatten(2)
        return omega[:, : self.span.n_symbols[0], : self.width].contiguous()
