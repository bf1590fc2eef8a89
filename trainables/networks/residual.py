"""Residual perceptrons whose branches are scaled with the depth, so that a limit of infinite depth exists [Bordelon et al. 2024].

h_0 = x W_0, h_l = h_{l-1} + relu(h_{l-1}) W_l / sqrt(depth) for l = 1 .. depth, g = relu(h_depth) a
W_0 ~ N(0, 1/input_dim), W_l ~ N(0, 1/width), a ~ N(0, 1/width); (fan-in, fan-out) each
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from trainables.networks.base import Array, Network, answered

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec


class Residual(Network):
    """`depth` residual branches of `width` ReLU neurons."""

    name: ClassVar[str] = "residual"
    takes: ClassVar[tuple[str, ...]] = ("vector",)

    width: Annotated[int, Field(ge=1)]
    depth: Annotated[int, Field(ge=1, le=64, title="hidden layers")] = 4

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        m, d = self.width, cell.task.input_dim
        drawn = {"w0": standard_normal(rng, (d, m)) * np.float32(d**-0.5)}
        for layer in range(1, self.depth + 1):
            drawn[f"w{layer}"] = standard_normal(rng, (m, m)) * np.float32(m**-0.5)
        return drawn | {"a": standard_normal(rng, (m, cell.task.n_outputs)) * np.float32(m**-0.5)}

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        return answered(self.features(parameters, x, cell) @ parameters["a"], cell.task)

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        h = x @ parameters["w0"]
        for layer in range(1, self.depth + 1):
            h = h + h.relu() @ parameters[f"w{layer}"] * self.depth**-0.5
        return h.relu()
