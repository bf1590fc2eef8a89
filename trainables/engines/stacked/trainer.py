"""`stacked`: any network that descends a gradient, many trained at once, on the CPU or a GPU.

A network is given by `init` and `apply` of ONE network; C networks are trained as one tensor program. theta stands for each
parameter, (C, ...); B is the number of examples in a step. Cells fall into S <= C groups that see the same inputs.

f      output g(theta)/epsilon, for a centred network (g(theta) - g(theta_0))/epsilon; (C, B), or (C, B, K) for K outputs
loss   mean over the examples; see `trainables.training.losses`
data   fresh batches; or a fixed training set of P examples, drawn once, from which batches are drawn with replacement, while `gd`
       takes all P at each step. Test examples are fresh

The gradient of the sum of all networks' losses holds each network's own gradient, since no network's loss depends on another's
parameters: one backward pass of `apply` under torch.func.vmap yields all of them. A network may have a faster way (`passes`).

On a GPU the steps of a block are one CUDA graph, replayed while the host draws the next block, and the host waits only at the end
of `train`. What a graph repeats is frozen, so all that differs from block to block lies in staged tensors: the examples, and the
numbers that follow from the step's own, such as its learning rate (`Descent.scheduled`).

No operation mixes networks, so a result depends on its cell alone, except for rounding: a sum or a batched product may be taken
in another order in a pack of another size. In packs of 1 to 24 networks over 200 steps the loss differed in its last digit, 2e-16
in float64 and 1e-7 in float32, and the difference did not grow. If a library changes its products with the size of the pack,
training may amplify the difference. The tests allow 1e-9 and 1e-5. The same pack, resumed or in another order, gives the same
numbers bit for bit.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from trainables.allocator import keep_freed
from trainables.cell import Cell
from trainables.engines.stacked.stack import Stack
from trainables.metrics.base import Probed
from trainables.tasks.base import Array
from trainables.trainers.base import Measures, Queued


class Stacked(Queued):
    """Cells of one shape; implements Trainer. Cells of one pack may have two precisions; those of each precision form a Stack."""

    name: ClassVar[str] = "stacked"
    stack: ClassVar[type[Stack]] = Stack

    def __init__(self, cells: Sequence[Cell], device: str = "cpu", as_on_gpu: bool | None = None) -> None:
        if device == "cpu":
            keep_freed()  # a tenth of the time of transformers
        kinds = [cell.needs_float64 for cell in cells]
        self.members = [[c for c, kind in enumerate(kinds) if kind == own] for own in dict.fromkeys(kinds)]
        self.stacks = [self.stack([cells[c] for c in members], device, as_on_gpu) for members in self.members]
        self.order = torch.tensor(np.argsort(np.concatenate(self.members)), device=device)
        """The place of each cell, (C,), in the stacks' results one after the other."""
        self.place = {
            c: (stack, k) for members, stack in zip(self.members, self.stacks, strict=True) for k, c in enumerate(members)
        }

    def take(self, first_step: int, n_steps: int) -> Tensor:
        parts = [stack.take(first_step, n_steps) for stack in self.stacks]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)[:, self.order]

    def evaluate(self, step: int, n: int) -> Array:
        parts = [stack.evaluate(step, n).T for stack in self.stacks]
        return self._together(parts).T

    def measures(self, step: int) -> Measures:
        found = [stack.measures(step) for stack in self.stacks]
        return Measures(
            *(
                None if any(p is None for p in parts) else self._together([p for p in parts if p is not None])
                for parts in zip(*found, strict=True)
            )
        )

    def hidden_weights(self, c: int, neurons: Array) -> Array:
        stack, k = self.place[c]
        return stack.theta["w"][k][:, torch.as_tensor(neurons, device=stack.device)].T.cpu().numpy()

    def probed(self, c: int) -> Callable[[Array], Probed]:
        stack, k = self.place[c]
        return stack.probed(k)

    def state(self) -> dict[str, Array]:
        return {f"{s} {name}": value.cpu().numpy() for s, stack in enumerate(self.stacks) for name, value in stack.changed()}

    def load(self, state: dict[str, Array]) -> None:
        for s, stack in enumerate(self.stacks):
            for name, value in stack.changed():
                value.copy_(torch.from_numpy(state[f"{s} {name}"]))

    def _together(self, parts: list[Array]) -> Array:
        """The stacks' arrays, (C', ...) each, as one array in the order of the pack, (C, ...)."""
        whole = np.empty((len(self.place), *parts[0].shape[1:]), parts[0].dtype)
        for members, part in zip(self.members, parts, strict=True):
            whole[members] = part
        return whole
