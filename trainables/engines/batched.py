"""`batched`: many cells of one shape as one tensor program, on the CPU or a GPU.

C cells fall into S groups that see the same inputs (they differ only in gamma or base_lr); a group's inputs and its initial
preactivations h0, which centring needs, are computed once. The algebra is that of trainables.network; B is the batch, m the width.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from trainables.cell import Cell
from trainables.engines.base import Groups, Measures, blocks
from trainables.network import centred_output, draw_initial, half_alignment
from trainables.streams import BLOCK_STEPS, stream
from trainables.tasks.base import Array


class Batched:
    """All cells of the pack take each step together; implements Engine."""

    name: ClassVar[str] = "batched"

    def __init__(self, cells: Sequence[Cell], device: str = "cpu") -> None:
        self.cells, self.device = list(cells), torch.device(device)
        self.dtype = torch.float64 if cells[0].dtype == "float64" else torch.float32
        self.groups = Groups(cells)
        self.group = torch.from_numpy(self.groups.group).to(self.device)
        initial = [draw_initial(cell) for cell in self.groups.cells]
        self.w0 = self._tensor(np.stack([w for w, _ in initial]))  # (S, D, m)
        self.a0 = self._tensor(np.stack([a for _, a in initial]))[self.group]  # (C, m)
        self.u = torch.zeros(len(cells), *self.w0.shape[1:], dtype=self.dtype, device=self.device)  # (C, D, m)
        self.b = torch.zeros_like(self.a0)
        self.eps = self._tensor(np.array([cell.epsilon for cell in cells]))[:, None, None]
        self.lr = self._tensor(np.array([cell.scaled_lr for cell in cells]))[:, None]

    @torch.no_grad()
    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        losses, rights = [], []
        for block, steps in blocks(first_step, n_steps):
            x, y = self._block(block)
            for k in range(steps.start, steps.stop):
                loss, right = self._step(x[:, k], y[:, k])
                losses.append(loss)
                rights.append(right)
        return torch.stack(losses, 1).cpu().numpy(), torch.stack(rights, 1).cpu().numpy()

    def _step(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """One step of SGD from inputs (S, B, D) and labels (S, B); loss and right predictions of each cell before it."""
        h0 = torch.bmm(x, self.w0)[self.group]  # (C, B, m)
        x, y = x[self.group], y[self.group]
        f, relu, on = centred_output(h0, torch.bmm(x, self.u), self.a0, self.b, self.eps)
        loss = (softplus(f) - y * f).mean(1)
        right = ((f > 0) == (y > 0)).sum(1)

        df = (torch.sigmoid(f) - y) * (self.lr / y.shape[1])  # rate times the loss's derivative, (C, B)
        a = torch.addcmul(self.a0, self.eps[:, 0], self.b)
        dh = torch.where(on, df[..., None] * a[:, None], 0)  # (C, B, m)
        self.b -= torch.bmm(df[:, None], relu)[:, 0]
        self.u.baddbmm_(x.mT, dh, alpha=-1)
        return loss, right

    @torch.no_grad()
    def test_accuracy(self, step: int) -> Array:
        right = []
        for g in range(len(self.groups)):
            x, y = self._test(g, step)
            h0 = x @ self.w0[g]
            for c in np.flatnonzero(self.groups.group == g):
                f, _, _ = centred_output(h0, x @ self.u[c], self.a0[c], self.b[c], self.eps[c])
                right.append((c, ((f > 0) == (y > 0)).double().mean()))
        accuracy = np.empty(len(self.cells))
        for c, value in right:
            accuracy[c] = value
        return accuracy

    @torch.no_grad()
    def measures(self, step: int) -> Measures:
        change, alignment = np.empty(len(self.cells)), np.full(self.a0.shape, np.nan)
        for c, cell in enumerate(self.cells):
            g = self.groups.group[c]
            x, _ = self._test(g, step)
            change[c] = self.eps[c] * (x @ self.u[c]).abs().mean() / (x @ self.w0[g]).abs().mean()
            if cell.task.has_two_halves:
                alignment[c] = half_alignment(self.w0[g] + self.eps[c] * self.u[c]).cpu().numpy()
        return Measures((self.a0 + self.eps[:, 0] * self.b).cpu().numpy(), alignment, change)

    def state(self) -> dict[str, Array]:
        return {"u": self.u.cpu().numpy(), "b": self.b.cpu().numpy()}

    def load(self, state: dict[str, Array]) -> None:
        self.u.copy_(torch.from_numpy(state["u"]))
        self.b.copy_(torch.from_numpy(state["b"]))

    def _block(self, block: int) -> tuple[Tensor, Tensor]:
        """Inputs (S, BLOCK_STEPS, B, D) and labels (S, BLOCK_STEPS, B) of one block of steps."""
        shape = (len(self.groups), BLOCK_STEPS, self.cells[0].batch)
        drawn = [
            cell.task.train_examples(stream(owner, "batches", block), symbols, BLOCK_STEPS * cell.batch)
            for cell, owner, symbols in zip(self.groups.cells, self.groups.owners, self.groups.symbols, strict=True)
        ]
        x = self._tensor(np.stack([x for x, _ in drawn]))
        y = self._tensor(np.stack([y for _, y in drawn]))
        return x.view(*shape, -1), y.view(shape)

    def _test(self, g: int, step: int) -> tuple[Tensor, Tensor]:
        cell = self.groups.cells[g]
        x, y = cell.task.test_examples(stream(self.groups.owners[g], "test", step), self.groups.symbols[g], cell.test_size)
        return self._tensor(x), self._tensor(y)

    def _tensor(self, x: Array) -> Tensor:
        return torch.from_numpy(x).to(self.device, self.dtype)
