"""`batched`: many cells of one shape as one tensor program, on the CPU or a GPU.

C cells fall into S groups. The cells of a group differ only in gamma, prefactor or base_lr and so see the same inputs: a group's
inputs and its initial preactivations h0, which centring needs, are computed once. The algebra is that of
trainables.trainers.centred; B is the batch, m the width. A GPU takes all cells at once, in six kernels a step
(`fused`): the steps of a block are one CUDA graph, replayed while the host draws the next block, and the host waits only at the
end of `train`. A CPU core takes cells one by one, so that arrays between the products stay in its cache.

Products in float32 are in float32 on a GPU too: PyTorch's default leaves TF32, which has 3 digits, off.
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.dense.fused import Fused, Kernels, Tensors
from trainables.kernels.dense import gradients
from trainables.streams import BLOCK_STEPS
from trainables.tasks.base import Array
from trainables.trainers.base import Queued, blocks
from trainables.trainers.card.graphs import recorded
from trainables.trainers.card.staging import Room, Staging
from trainables.trainers.ensemble import Ensemble
from trainables.trainers.products import add_product, product
from trainables.trainers.scaled import Scaled


class Batched(Queued, Scaled):
    """Cells of one shape; implements Trainer. Cells of different groups may differ in all that does not change D.

    A CPU takes them one by one unless `in_cache` is False. Those that take each step together do it by `kernels`: as default by
    Triton's on a GPU, by tensor operations on a CPU.
    """

    name: ClassVar[str] = "batched"

    def __init__(
        self, cells: Sequence[Cell], device: str = "cpu", in_cache: bool | None = None, kernels: Kernels | None = None
    ) -> None:
        self.nets = nets = Ensemble(cells, device)
        on_gpu = nets.device.type == "cuda"
        w0 = nets.all_w0.view(len(nets.groups), -1, cells[0].width)
        self.u = torch.zeros(len(cells), *nets.w0[0].shape, dtype=nets.dtype, device=nets.device)  # (C, D, m)
        # One block: inputs (S, BLOCK_STEPS, B, D), labels (S, BLOCK_STEPS, B); loss and right predictions (C, BLOCK_STEPS).
        shape = (len(nets.groups), BLOCK_STEPS, cells[0].batch)
        rooms = [Room((*shape, cells[0].task.input_dim), nets.dtype), Room(shape, nets.dtype)]
        self.staging = Staging(rooms, nets.device, len(nets.groups), nets.groups.draw_block, ahead=on_gpu)
        self.loss, self.right = torch.zeros(2, len(cells), BLOCK_STEPS, dtype=torch.float64, device=nets.device)
        if on_gpu and kernels is None:
            from trainables.engines.dense import fused_step as kernels  # imports Triton, which comes with PyTorch for CUDA
        in_cache = not on_gpu if in_cache is None else in_cache
        self.fused = None if in_cache else Fused(nets, w0, self.u, (self.loss, self.right), kernels or Tensors())
        self.graphs = self._recorded() if on_gpu else None

    @torch.no_grad()
    def take(self, first_step: int, n_steps: int) -> Tensor:
        curves = torch.empty(2, len(self.nets.cells), n_steps, dtype=torch.float64, device=self.nets.device)
        done = 0
        for block, steps in blocks(first_step, n_steps):
            x, y = self.staging.take(block)
            if self.graphs and steps == slice(0, BLOCK_STEPS):
                self.graphs[self.staging.turn].replay()
            else:
                self._steps(steps, x, y)
            self.staging.used(block + (steps.stop == BLOCK_STEPS))
            end = done + steps.stop - steps.start
            curves[0, :, done:end], curves[1, :, done:end] = self.loss[:, steps], self.right[:, steps]
            done = end
        return curves

    def _steps(self, steps: slice, x: Tensor, y: Tensor) -> None:
        """Take these steps of a block with inputs x and labels y."""
        for k in range(steps.start, steps.stop):
            if self.fused:
                self.fused.step(x, y, k)
            else:
                self.loss[:, k], self.right[:, k] = self._step_in_cache(x[:, k], y[:, k])

    @torch.no_grad()
    def _recorded(self) -> list[torch.cuda.CUDAGraph]:
        """The steps of a block as a CUDA graph, for each turn of the staged tensors. While x is 0 no weight changes."""
        turns, whole = self.staging.tensors, slice(0, BLOCK_STEPS)
        works = [partial(self._steps, whole, *tensors) for tensors in turns]
        return recorded(self.nets.device, lambda: self._steps(slice(0, 1), *turns[0]), works)

    def _step_in_cache(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step of SGD from inputs (S, B, D) and labels (S, B), cell by cell; loss and right predictions before it."""
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

    def changes(self, cells: Sequence[int], x: Tensor) -> Tensor:
        return product(x, self.u[cells[0]])[None] if len(cells) == 1 else torch.matmul(x, self.u[list(cells)])

    def scaled_weights(self, c: int) -> Tensor:
        return self.u[c]

    def state(self) -> dict[str, Array]:
        return {"u": self.u.cpu().numpy(), "b": self.nets.b.cpu().numpy()}

    def load(self, state: dict[str, Array]) -> None:
        self.u.copy_(torch.from_numpy(state["u"]))
        self.nets.b.copy_(torch.from_numpy(state["b"]))
