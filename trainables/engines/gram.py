"""`gram`: exact training in the span of the symbols, for noiseless same-different on the CPU.

Inputs are pairs of the L training symbols Z, so the gradient of each half of the weights lies in their span:
U_s = Z^T omega_s, s = 0, 1. A step needs only the symbols' preactivations (L, m) and the Gram matrix Z Z^T; d has left it.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.base import Measures, blocks, is_noiseless_pairs
from trainables.engines.ensemble import Ensemble
from trainables.engines.gram_kernel import train_steps
from trainables.streams import BLOCK_STEPS, stream
from trainables.tasks.base import Array


class Gram:
    """Networks one after the other, each in a compiled loop over many steps; implements Engine."""

    name: ClassVar[str] = "gram"

    def __init__(self, cells: Sequence[Cell], device: str = "cpu") -> None:
        if device != "cpu" or not all(map(is_noiseless_pairs, cells)):
            raise ValueError("engine gram trains noiseless same_different cells on the CPU; take engine batched for others")
        self.nets = nets = Ensemble(cells, device)
        self.z = [nets.tensor(s) for s in nets.groups.symbols]  # (L, d) each
        self.gram = [(z.double() @ z.double().T).to(nets.dtype).numpy() for z in self.z]
        halves = [nets.w0[g].view(2, z.shape[1], -1) for g, z in enumerate(self.z)]
        self.p = [(z @ w).numpy() for z, w in zip(self.z, halves, strict=True)]  # (2, L, m) each
        self.q = np.zeros((len(cells), *self.p[0].shape), self.p[0].dtype)
        self.omega = np.zeros_like(self.q)
        self.train(0, 0)  # compiles, so that no pack is charged for it

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        nets = self.nets
        loss, right = np.empty((2, len(nets.cells), n_steps))
        pairs = [self._pairs(g, first_step, n_steps) for g in range(len(nets.groups))]
        b, a0, eps, lr = (t.numpy() for t in (nets.b, nets.a0, nets.eps[:, 0, 0], nets.lr[:, 0]))
        for c, g in enumerate(nets.groups.group):
            u, v = pairs[g]
            train_steps(u, v, self.p[g], self.q[c], self.omega[c], a0[c], b[c], self.gram[g], eps[c], lr[c], loss[c], right[c])
        return loss, right

    def test_accuracy(self, step: int) -> Array:
        return self.nets.test_accuracy(step, self._change)

    def measures(self, step: int) -> Measures:
        return self.nets.measures(step, self._scaled_weights)

    def state(self) -> dict[str, Array]:
        return {"q": self.q, "omega": self.omega, "b": self.nets.b.numpy()}

    def load(self, state: dict[str, Array]) -> None:
        self.q[:], self.omega[:] = state["q"], state["omega"]
        self.nets.b.copy_(torch.from_numpy(state["b"]))

    def _pairs(self, g: int, first_step: int, n_steps: int) -> tuple[Array, Array]:
        """Symbol indices u, v (n_steps, B) of the group's batches."""
        cell, owner = self.nets.groups.cells[g], self.nets.groups.owners[g]
        drawn = []
        for block, steps in blocks(first_step, n_steps):
            u, v = cell.task.draw_pairs(stream(owner, "batches", block), BLOCK_STEPS * cell.batch)  # type: ignore[attr-defined]
            drawn.append((u.reshape(BLOCK_STEPS, -1)[steps], v.reshape(BLOCK_STEPS, -1)[steps]))
        none = np.empty((0, cell.batch), np.int32)
        return np.concatenate([none, *(u for u, _ in drawn)]), np.concatenate([none, *(v for _, v in drawn)])

    def _change(self, c: int, x: Tensor) -> Tensor:
        """q = x U = sum_s (x_s Z^T) omega_s, without forming U."""
        z, omega = self.z[self.nets.groups.group[c]], torch.from_numpy(self.omega[c])
        x1, x2 = x.chunk(2, dim=1)
        return (x1 @ z.T) @ omega[0] + (x2 @ z.T) @ omega[1]

    def _scaled_weights(self, c: int) -> Tensor:
        z, omega = self.z[self.nets.groups.group[c]], torch.from_numpy(self.omega[c])
        return torch.cat([z.T @ omega[0], z.T @ omega[1]])
