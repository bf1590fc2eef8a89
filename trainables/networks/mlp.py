"""Multilayer perceptrons; notation of trainables.networks.layered.

h_0 = x, and each layer sums over all of the one before: n_l is input_dim, then width

start      initial weights
gaussian   those of the parametrisation
balanced   W_l = s R_{l-1} R_l' of K outputs' rank, R_l (n_l, K) with orthonormal columns, random but for R_0 and the last, which
           are the first K axes. W_l' W_l = W_{l+1} W_{l+1}', which gradient flow of linear networks conserves [Saxe14], and the
           product of all weights is s^(depth + 1) on the first K axes and 0 beyond
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from trainables.networks.base import Array, Passes
from trainables.networks.layered import Layered

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec


class MLP(Layered):
    """`depth` hidden layers of `width` neurons; weights w1, w2, ... (fan-in, fan-out), biases b1, b2, ..., the readout's last."""

    name: ClassVar[str] = "mlp"

    start: Annotated[Literal["gaussian", "balanced"], Field(title="initial weights")] = "gaussian"

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if self.start == "gaussian":
            return
        if self.parametrisation != "standard":
            raise ValueError(f"start: balanced goes with parametrisation: standard, not {self.parametrisation}")
        if cell.task.n_outputs > min(cell.task.input_dim, self.width):
            sizes = f"inputs ({cell.task.input_dim}) and width ({self.width})"
            raise ValueError(f"start: balanced needs at least as many {sizes} as outputs ({cell.task.n_outputs})")

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        drawn = super().init(rng, cell)
        if self.start == "gaussian":
            return drawn
        rank = cell.task.n_outputs
        bases = [np.linalg.qr(rng.standard_normal((self.width, rank)))[0] for _ in range(self.depth)]
        ends = [np.eye(size, rank) for size in (cell.task.input_dim, rank)]
        for layer, (before, after) in enumerate(pairwise([ends[0], *bases, ends[1]]), 1):
            drawn[f"w{layer}"] = (self.init_scale * before @ after.T).astype(np.float32)
        return drawn

    def fans(self, cell: "CellSpec") -> list[tuple[int, int]]:
        sizes = [cell.task.input_dim, *[self.width] * self.depth, cell.task.n_outputs]
        return list(pairwise(sizes))

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        for layer in range(1, self.depth + 1):
            x = self.phi(self.layer(parameters, x, layer, cell))
        return x

    def n_activations(self, cell: "CellSpec") -> int:
        return self.depth * self.width

    def passes(self, cells: "Sequence[CellSpec]", on_cpu: bool) -> Passes:
        from trainables.networks.batched_mlp import Layers

        return Layers(self, cells[0])
