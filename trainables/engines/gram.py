"""`gram`: exact training in the span of the symbols, for noiseless same-different on the CPU.

Inputs are pairs of the L training symbols Z, so the gradient of each half of the weights lies in their span:
U_s = Z^T omega_s, s = 0, 1. A step needs only the symbols' preactivations, which follow from omega by the Gram matrix
Z Z^T; d has left it. Inside, symbols are padded to a multiple of TILE and neurons to one of CHUNK, with zeros.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.base import Measures, blocks, is_noiseless_pairs
from trainables.engines.ensemble import Ensemble
from trainables.kernels.gram import CHUNK, TILE, train_steps
from trainables.kernels.pairs import distinct_pairs
from trainables.products import product
from trainables.streams import BLOCK_STEPS, stream
from trainables.tasks.base import Array

SMALL_EPSILON = 1e-2
"""From here on the output is the literal difference: its float32 rounding, 1e-8 of the sum, is below 1e-6 in the logit."""


class Gram:
    """Networks one after the other, each in a compiled loop over many steps; implements Engine."""

    name: ClassVar[str] = "gram"

    def __init__(self, cells: Sequence[Cell], device: str = "cpu") -> None:
        if device != "cpu" or not all(map(is_noiseless_pairs, cells)):
            raise ValueError("engine gram trains noiseless same_different cells on the CPU; take engine batched for others")
        self.nets = nets = Ensemble(cells, device)
        self.z = [nets.tensor(s) for s in nets.groups.symbols]  # (L, d) each
        self.n_symbols, self.width = len(self.z[0]), cells[0].width
        self.gram = [self._gram_matrix(z) for z in self.z]
        self.p = [self._initial(g) for g in range(len(nets.groups))]
        self.f0 = [np.full(2 * (self.n_symbols,), np.nan, self.p[0].dtype) for _ in self.z]
        self.room = np.empty((2, *self.p[0].shape), self.p[0].dtype)
        self.omega = np.zeros((len(cells), *self.p[0].shape), self.p[0].dtype)
        self.a0 = _chunks(nets.a0.numpy())
        self.b = np.zeros_like(self.a0)
        self.train(0, 0)  # compiles, so that no pack is charged for it

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        nets = self.nets
        loss, right = np.empty((2, len(nets.cells), n_steps))
        eps, lr = nets.eps[:, 0, 0].numpy(), nets.lr[:, 0].numpy()
        for g, cells in enumerate(nets.groups.members):
            seen = distinct_pairs(self._codes(g, first_step, n_steps), self.n_symbols)
            for c in cells:
                literal, batch = bool(eps[c] >= SMALL_EPSILON), nets.cells[c].batch
                network = (self.f0[g], self.p[g], self.omega[c], *self.room, self.a0[c], self.b[c], self.gram[g], eps[c], lr[c])
                train_steps(*seen, batch, literal, *network, loss[c], right[c])
        nets.b.copy_(torch.from_numpy(self.b).flatten(1)[:, : self.width])
        return loss, right

    def test_accuracy(self, step: int) -> Array:
        return self.nets.test_accuracy(step, self._change)

    def measures(self, step: int) -> Measures:
        return self.nets.measures(step, self._scaled_weights)

    def state(self) -> dict[str, Array]:
        return {"omega": self.omega, "b": self.b}

    def load(self, state: dict[str, Array]) -> None:
        self.omega[:], self.b[:] = state["omega"], state["b"]
        self.nets.b.copy_(torch.from_numpy(self.b).flatten(1)[:, : self.width])

    def _gram_matrix(self, z: Tensor) -> Array:
        padded = torch.zeros(2 * (-(-len(z) // TILE) * TILE,), dtype=z.dtype)
        padded[: len(z), : len(z)] = z.double() @ z.double().T
        return padded.numpy()

    def _initial(self, g: int) -> Array:
        """p of the kernel: the group's initial preactivations."""
        halves = self.nets.w0[g].chunk(2)
        p = torch.stack([product(self.z[g], w) for w in halves]).numpy()
        padded = np.pad(p, ((0, 0), (0, -self.n_symbols % TILE), (0, 0)))
        return np.ascontiguousarray(_chunks(padded).transpose(2, 0, 1, 3))

    def _omega(self, c: int) -> Tensor:
        """omega (2, L, m) of a cell."""
        return torch.from_numpy(self.omega[c]).permute(1, 2, 0, 3).flatten(2)[:, : self.n_symbols, : self.width].contiguous()

    def _codes(self, g: int, first_step: int, n_steps: int) -> Array:
        """u L + v (n_steps, B) of the pairs in the group's batches, sorted in each step."""
        cell, owner = self.nets.groups.cells[g], self.nets.groups.owners[g]
        codes = np.empty((n_steps, cell.batch), np.int32 if self.n_symbols < 2**15 else np.int64)
        done = 0
        for block, steps in blocks(first_step, n_steps):
            u, v = cell.task.draw_pairs(stream(owner, "batches", block), BLOCK_STEPS * cell.batch)  # type: ignore[attr-defined]
            drawn = (u.astype(codes.dtype) * self.n_symbols + v).reshape(BLOCK_STEPS, -1)[steps]
            codes[done : done + len(drawn)] = drawn
            done += len(drawn)
        codes.sort(axis=1)
        return codes

    def _change(self, c: int, x: Tensor) -> Tensor:
        """q = x U = sum_s (x_s Z^T) omega_s, without forming U."""
        z = self.z[self.nets.groups.group[c]]
        seen = torch.cat([product(half, z.T) for half in x.chunk(2, dim=1)], dim=1)
        return product(seen, self._omega(c).flatten(0, 1))

    def _scaled_weights(self, c: int) -> Tensor:
        z, omega = self.z[self.nets.groups.group[c]], self._omega(c)
        return torch.cat([product(z.T, half) for half in omega])


def _chunks(x: Array) -> Array:
    """(..., m) as (..., n, CHUNK), padded with zeros."""
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % CHUNK)])
    return padded.reshape(*x.shape[:-1], -1, CHUNK)
