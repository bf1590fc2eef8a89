"""Neurons on the unit sphere that know the target's polynomial: the student of laws of online SGD [BenArous21].

f(x) = (2/N) sum_i s_i He_k(u_i . x)/sqrt(k!), u_i = w_i/|w_i|, s_i = +1, -1, +1, ...; k is the task's `degree`
w_i      N(0, I_d/d) at first, |w_i| near 1; readouts s_i stay. Half of the neurons can turn to w*, those whose sign is that of
         (u_i . w*)^k, so that f = y once they have; for k = 1 all can, and f = y halfway
rates    N/2, so that steps of a neuron do not depend on N
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from trainables.networks.base import Array, Network

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec
    from trainables.training.base import Training


class Sphere(Network):
    """`width` neurons whose hidden weights count by their direction alone and whose activation is the target's polynomial."""

    name: ClassVar[str] = "sphere"
    takes: ClassVar[tuple[str, ...]] = ("vector",)
    has_one_output: ClassVar[bool] = True

    width: Annotated[int, Field(ge=2, multiple_of=2)]

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if cell.task.name != "hermite":
            raise ValueError(f"network sphere has the polynomial of task hermite, and task {cell.task.name} has none; take mlp")

    def rates(self, training: "Training") -> dict[str, float]:
        return {"w": self.width / 2}

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        """w (d, width), float32, columns of length near 1."""
        d = cell.task.input_dim
        return {"w": rng.standard_normal((d, self.width), dtype=np.float32) / np.float32(d**0.5)}

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        h = self.features(parameters, x, cell)
        return (h[:, ::2].mean(1) - h[:, 1::2].mean(1)).contiguous()

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        w = parameters["w"]
        z = (x @ w) / w.norm(dim=0)
        before, h = z * 0 + 1, z  # normalised: sqrt(n + 1) h_{n+1} = z h_n - sqrt(n) h_{n-1}
        for n in range(1, cell.task.degree):  # type: ignore[attr-defined]
            before, h = h, (z * h - n**0.5 * before) / (n + 1) ** 0.5
        return h
