"""`batched`: many cells of one shape as one tensor program, on the CPU or a GPU.

C cells fall into S groups. The cells of a group differ only in gamma, prefactor or base_lr and so see the same inputs: a group's
inputs and its initial preactivations h0, which centring needs, are computed once. The algebra is that of
trainables.trainers.centred; B is the batch, m the width. A GPU takes all cells at once: the steps of a block are one CUDA graph,
replayed while the host draws the next block, and the host waits only at the end of `train`. A CPU core takes cells one by one, so
that arrays between the products stay in its cache.

Products in float32 are in float32 on a GPU too: PyTorch's default leaves TF32, which has 3 digits, off.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from trainables.cell import Cell
from trainables.kernels.dense import gradients
from trainables.streams import BLOCK_STEPS, stream
from trainables.tasks.base import Array
from trainables.trainers.base import Measures, Probed, blocks
from trainables.trainers.centred import centred_output
from trainables.trainers.ensemble import Ensemble
from trainables.trainers.products import add_product, product
from trainables.trainers.staging import Staging


class Batched:
    """All cells of the pack take each step together; implements Trainer."""

    name: ClassVar[str] = "batched"

    def __init__(self, cells: Sequence[Cell], device: str = "cpu", in_cache: bool | None = None) -> None:
        self.nets = nets = Ensemble(cells, device)
        self.group = torch.tensor(nets.groups.group, device=nets.device)
        in_cache = nets.device.type == "cpu" if in_cache is None else in_cache
        self.step = self._step_in_cache if in_cache else self._step
        self.u = torch.zeros(len(cells), *nets.w0.shape[1:], dtype=nets.dtype, device=nets.device)  # (C, D, m)
        # One block: inputs (S, BLOCK_STEPS, B, D), labels (S, BLOCK_STEPS, B); loss and right predictions (C, BLOCK_STEPS).
        shape = (len(nets.groups), BLOCK_STEPS, cells[0].batch)
        self.x = torch.zeros(*shape, cells[0].task.input_dim, dtype=nets.dtype, device=nets.device)
        self.y = torch.zeros(shape, dtype=nets.dtype, device=nets.device)
        self.staging = [Staging(self.x), Staging(self.y)]
        self.loss, self.right = torch.zeros(2, len(cells), BLOCK_STEPS, dtype=torch.float64, device=nets.device)
        self.graph = self._captured() if nets.device.type == "cuda" else None

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        loss, right = self.take(first_step, n_steps).cpu().numpy()  # the only wait of the host for the device
        return loss, right

    @torch.no_grad()
    def take(self, first_step: int, n_steps: int) -> Tensor:
        """Do what `train` does without waiting for the device. Returns loss and right predictions, (2, C, n_steps)."""
        curves = torch.empty(2, len(self.nets.cells), n_steps, dtype=torch.float64, device=self.nets.device)
        done = 0
        for block, steps in blocks(first_step, n_steps):
            self._draw(block)
            if self.graph is not None and steps == slice(0, BLOCK_STEPS):
                self.graph.replay()
            else:
                self._steps(steps)
            end = done + steps.stop - steps.start
            curves[0, :, done:end], curves[1, :, done:end] = self.loss[:, steps], self.right[:, steps]
            done = end
        return curves

    def _steps(self, steps: slice) -> None:
        """Take these steps of the block that is in x and y."""
        for k in range(steps.start, steps.stop):
            self.loss[:, k], self.right[:, k] = self.step(self.x[:, k], self.y[:, k])

    @torch.no_grad()
    def _captured(self) -> torch.cuda.CUDAGraph:
        """A CUDA graph of the steps of a block; a replay uses the content of x and y. Called while x is 0, which changes no
        weight."""
        aside = torch.cuda.Stream(self.nets.device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(self.nets.device))
        with torch.cuda.stream(aside):  # once outside the graph: libraries set themselves up at first use
            self._steps(slice(0, 1))
        torch.cuda.current_stream(self.nets.device).wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._steps(slice(0, BLOCK_STEPS))
        return graph

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
        """Take one step as `_step` does, cell by cell."""
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
    def evaluate(self, step: int) -> Array:
        return self.nets.evaluate(step, lambda c, x: product(x, self.u[c]))

    @torch.no_grad()
    def measures(self, step: int) -> Measures:
        return self.nets.measures(step, lambda c: self.u[c])

    def hidden_weights(self, c: int, neurons: Array) -> Array:
        return self.nets.hidden_weights(c, neurons, lambda c: self.u[c])

    @torch.no_grad()
    def probed(self, c: int, x: Array) -> Probed:
        return self.nets.probed(c, x, lambda c: self.u[c])

    def state(self) -> dict[str, Array]:
        return {"u": self.u.cpu().numpy(), "b": self.nets.b.cpu().numpy()}

    def load(self, state: dict[str, Array]) -> None:
        self.u.copy_(torch.from_numpy(state["u"]))
        self.nets.b.copy_(torch.from_numpy(state["b"]))

    def _draw(self, block: int) -> None:
        """Draw one block of steps into x and y. A GPU copies it once it has finished the block before."""
        groups, rooms = self.nets.groups, [staging.room() for staging in self.staging]
        for g, (cell, owner, symbols) in enumerate(zip(groups.cells, groups.owners, groups.symbols, strict=True)):
            drawn = cell.task.train_examples(stream(owner, "batches", block), symbols, BLOCK_STEPS * cell.batch)
            for room, numbers in zip(rooms, drawn, strict=True):
                room[g].copy_(torch.from_numpy(np.ascontiguousarray(numbers)).view(room[g].shape))
        for staging in self.staging:
            staging.send()
