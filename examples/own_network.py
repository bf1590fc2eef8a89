"""A user's own network: gated neurons. Run: sweep run examples/own_network_grid.yaml"""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from torch import Tensor

from trainables.cell import Cell
from trainables.networks import Network

Array = np.ndarray[Any, Any]


class Gated(Network):
    """g(x) = sum_i a_i (w_i . x) phi(v_i . x), phi the gate: bilinear, GLU and ReGLU
    units [Shazeer20]."""

    name: ClassVar[str] = "gated"  # the value of `network:` in a grid

    # The fields are the network's keys in a grid, with their legal values.
    width: Annotated[int, Field(ge=1)]
    gate: Annotated[Literal["linear", "sigmoid", "relu"], Field(title="gate")] = "sigmoid"

    def init(self, rng: np.random.Generator, cell: Cell) -> dict[str, Array]:
        """Initial parameters of one network; they depend on `rng` and the cell alone."""
        d, m = cell.task.input_dim, self.width
        w, v = rng.standard_normal((2, d, m), dtype=np.float32) / np.float32(np.sqrt(d))
        a = rng.standard_normal(m, dtype=np.float32) / np.float32(np.sqrt(m))
        return {"w": w, "v": v, "a": a}

    def apply(self, parameters: dict[str, Tensor], x: Tensor, cell: Cell) -> Tensor:
        """Outputs (n,) at x (n, input_dim); (n, K) if the task has K outputs."""
        return self.features(parameters, x, cell) @ parameters["a"]

    def features(self, parameters: dict[str, Tensor], x: Tensor, cell: Cell) -> Tensor:
        """The last hidden layer, for metrics: (n, width)."""
        gate = x @ parameters["v"]
        phi = {"linear": gate, "sigmoid": gate.sigmoid(), "relu": gate.relu()}[self.gate]
        return (x @ parameters["w"]) * phi
