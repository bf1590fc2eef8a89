"""`batched`: many cells of one shape as one tensor program, on the CPU or a GPU.

C cells fall into S groups that see the same inputs (they differ only in gamma or base_lr); a group's inputs and its initial
preactivations h0, which centring needs, are computed once. The algebra is that of trainables.network; B is the batch, m the
width. A GPU takes all cells at once; a core takes them one by one, so that what is between the products stays in its cache.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from trainables.cell import Cell
from trainables.engines.base import Measures, blocks
from trainables.engines.ensemble import Ensemble
from trainables.kernels.dense import gradients
from trainables.network import centred_output
from trainables.products import add_product, product
from trainables.streams import BLOCK_STEPS, stream
from trainables.tasks.base import Array


class Batched:
    """All cells of the pack take each step together; implements Engine."""

    name: ClassVar[str] = "batched"

    def __init__(self, cells: Sequence[Cell], device: str = "cpu", in_cache: bool | None = None) -> None:
        self.nets = nets = Ensemble(cells, device)
        self.group = torch.tensor(nets.groups.group, device=nets.device)
        in_cache = nets.device.type == "cpu" if in_cache is None else in_cache
        self.step = self._step_in_cache if in_cache else self._step
        self.u = torch.zeros(len(cells), *nets.w0.shape[1:], dtype=nets.dtype, device=nets.device)  # (C, D, m)

    @torch.no_grad()
    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        losses, rights = [], []
        for block, steps in blocks(first_step, n_steps):
            x, y = self._block(block)
            for k in range(steps.start, steps.stop):
                loss, right = self.step(x[:, k], y[:, k])
                losses.append(loss)
                rights.append(right)
        return torch.stack(losses, 1).cpu().numpy(), torch.stack(rights, 1).cpu().numpy()

    def _step(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """One step of SGD from inputs (S, B, D) and labels (S, B); loss and right predictions of each cell before it."""
        nets = self.nets
        h0 = torch.bmm(x, nets.w0)[self.group]  # (C, B, m)
        x, y = x[self.group], y[self.group]
        f, relu, on = centred_output(h0, torch.bmm(x, self.u), nets.a0, nets.b, nets.eps)
        loss = (softplus(f) - y * f).mean(1)
        right = ((f > 0) == (y > 0)).sum(1)

        df = (torch.sigmoid(f) - y) * (nets.lr / y.shape[1])  # rate times the loss's derivative, (C, B)
        dh = torch.where(on, df[..., None] * nets.readout()[:, None], 0)  # (C, B, m)
        nets.b -= torch.bmm(df[:, None], relu)[:, 0]
        self.u.baddbmm_(x.mT, dh, alpha=-1)
        return loss, right

    def _step_in_cache(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """What `_step` does, cell by cell."""
        nets = self.nets
        loss, right = torch.empty(2, len(nets.cells), dtype=torch.float64)
        a0, b, eps, lr = (t.numpy() for t in (nets.a0, nets.b, nets.eps[:, 0, 0], nets.lr[:, 0]))
        for g, cells in enumerate(nets.groups.members):
            h0, labels = product(x[g], nets.w0[g]).numpy(), y[g].numpy()
            for c in cells:
                q = product(x[g], self.u[c])
                loss[c], right[c] = gradients(h0, q.numpy(), labels, a0[c], b[c], eps[c], lr[c])
                add_product(self.u[c], x[g], q)
        return loss, right

    @torch.no_grad()
    def test_accuracy(self, step: int) -> Array:
        return self.nets.test_accuracy(step, lambda c, x: product(x, self.u[c]))

    @torch.no_grad()
    def measures(self, step: int) -> Measures:
        return self.nets.measures(step, lambda c: self.u[c])

    def state(self) -> dict[str, Array]:
        return {"u": self.u.cpu().numpy(), "b": self.nets.b.cpu().numpy()}

    def load(self, state: dict[str, Array]) -> None:
        self.u.copy_(torch.from_numpy(state["u"]))
        self.nets.b.copy_(torch.from_numpy(state["b"]))

    def _block(self, block: int) -> tuple[Tensor, Tensor]:
        """Inputs (S, BLOCK_STEPS, B, D) and labels (S, BLOCK_STEPS, B) of one block of steps."""
        groups = self.nets.groups
        shape = (len(groups), BLOCK_STEPS, self.nets.cells[0].batch)
        drawn = [
            cell.task.train_examples(stream(owner, "batches", block), symbols, BLOCK_STEPS * cell.batch)
            for cell, owner, symbols in zip(groups.cells, groups.owners, groups.symbols, strict=True)
        ]
        x = self.nets.tensor(np.stack([x for x, _ in drawn]))
        y = self.nets.tensor(np.stack([y for _, y in drawn]))
        return x.view(*shape, -1), y.view(shape)
