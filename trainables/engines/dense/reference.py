"""`reference`: one network at a time in plain PyTorch, as the paper writes it [Tong25 Eq. 1, App. F, G.1]; the tests' oracle.

The centred output is the literal difference f(x; theta) - f(x; theta_0). Where gamma s is small that difference loses the digits
of float32, so such cells are computed in float64 here; `benchmarks.float32` shows what float32 makes of them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from trainables.cell import Cell
from trainables.metrics.base import Probed
from trainables.streams import BLOCK_STEPS, stream
from trainables.tasks.base import Array
from trainables.trainers.base import Groups, Measures, blocks
from trainables.trainers.centred import compared_halves, draw_initial
from trainables.trainers.scores import scored


class Network:
    """One centred two-layer ReLU network and its SGD step."""

    def __init__(self, cell: Cell, device: str, dtype: torch.dtype | None = None) -> None:
        self.cell = cell
        self.dtype = dtype or (torch.float64 if cell.needs_float64 else torch.float32)
        w0, a0 = draw_initial(cell)
        self.w0, self.a0 = (torch.from_numpy(p).to(device, self.dtype) for p in (w0, a0))
        self.w, self.a = (p.clone().requires_grad_() for p in (self.w0, self.a0))

    def f(self, x: Tensor) -> Tensor:
        """f(x; theta) - f(x; theta_0), (n,) for x (n, D)."""
        now = torch.relu(x @ self.w) @ self.a
        start = torch.relu(x @ self.w0) @ self.a0
        return (now - start) / self.cell.epsilon

    def step(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """One step of SGD; the batch's mean loss and right predictions before it."""
        f = self.f(x)
        loss = binary_cross_entropy_with_logits(f, y)
        gradients = torch.autograd.grad(loss, (self.w, self.a))
        with torch.no_grad():
            for parameter, gradient in zip((self.w, self.a), gradients, strict=True):
                parameter -= self.cell.learning_rate * gradient
        return loss.item(), int(((f > 0) == (y > 0)).sum())


class Reference:
    """Networks one after the other; implements Trainer. `dtype`: in this precision, whatever digits that loses."""

    name: ClassVar[str] = "reference"

    def __init__(self, cells: Sequence[Cell], device: str = "cpu", dtype: torch.dtype | None = None) -> None:
        self.cells, self.device = list(cells), device
        self.groups = Groups(cells)
        self.networks = [Network(cell, device, dtype) for cell in cells]

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        loss, right = np.empty((2, len(self.cells), n_steps))
        for c, net in enumerate(self.networks):
            g, batch, taken = self.groups.group[c], net.cell.batch, 0
            for block, steps in blocks(first_step, n_steps):
                rng = stream(self.groups.owners[g], "batches", block)
                xs, ys = net.cell.task.train_examples(rng, self.groups.symbols[g], BLOCK_STEPS * batch)
                for k in range(steps.start, steps.stop):
                    loss[c, taken], right[c, taken] = net.step(*self._tensors(net, xs, ys, slice(k * batch, (k + 1) * batch)))
                    taken += 1
        return loss, right

    @torch.no_grad()
    def evaluate(self, step: int, n: int) -> Array:
        found = []
        for c, net in enumerate(self.networks):
            x, y = self._test(c, step, n)
            found.append(scored(net.f(x), y, "binary"))
        return torch.stack(found, dim=1).cpu().numpy()

    @torch.no_grad()
    def measures(self, step: int) -> Measures:
        change, halves = [], []
        for c, net in enumerate(self.networks):
            x, _ = self._test(c, step, net.cell.test_size)
            change.append(float((x @ net.w - x @ net.w0).abs().mean() / (x @ net.w0).abs().mean()))
            paired = net.cell.task.has_two_halves
            halves.append((compared_halves(net.w) if paired else torch.full((2, len(net.a)), torch.nan)).cpu().numpy())
        readout = np.stack([net.a.detach().cpu().numpy() for net in self.networks])
        alignment, norms = np.stack(halves, axis=1)
        return Measures(readout, alignment, norms, np.array(change))

    def hidden_weights(self, c: int, neurons: Array) -> Array:
        return self.networks[c].w.detach()[:, torch.as_tensor(neurons)].T.cpu().numpy()

    def probed(self, c: int) -> Callable[[Array], Probed]:
        return partial(self._probed, self.networks[c])

    @torch.no_grad()
    def _probed(self, net: Network, x: Array) -> Probed:
        inputs = torch.from_numpy(np.ascontiguousarray(x)).to(self.device, net.dtype)
        features = torch.relu(inputs @ net.w)
        parameters = {"w": net.w.detach().cpu().numpy(), "a": net.a.detach().cpu().numpy()}
        return Probed(net.f(inputs).cpu().numpy(), features.cpu().numpy(), parameters)

    def state(self) -> dict[str, Array]:
        return {f"{p}{c}": getattr(net, p).detach().cpu().numpy() for c, net in enumerate(self.networks) for p in "wa"}

    @torch.no_grad()
    def load(self, state: dict[str, Array]) -> None:
        for c, net in enumerate(self.networks):
            net.w.copy_(torch.from_numpy(state[f"w{c}"]))
            net.a.copy_(torch.from_numpy(state[f"a{c}"]))

    def _test(self, c: int, step: int, n: int) -> tuple[Tensor, Tensor]:
        net, g = self.networks[c], self.groups.group[c]
        return self._tensors(net, *self.groups.draw_tests(g, step, n), slice(None))

    def _tensors(self, net: Network, x: Array, y: Array, part: slice) -> tuple[Tensor, Tensor]:
        return tuple(torch.from_numpy(np.ascontiguousarray(p[part])).to(self.device, net.dtype) for p in (x, y))  # type: ignore[return-value]
