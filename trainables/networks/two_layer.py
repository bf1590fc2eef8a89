"""The network of [Tong25]: two layers, ReLU neurons, no biases, output minus its value at initialisation.

f(x; theta) = 1/(gamma s) sum_i a_i relu(w_i . x), w_ij, a_i ~ N(0, 1/m) [Tong25 Eq. 1, App. F, G.1]
prefactor   `sqrt_d`: s = sqrt(d) in output and rate; `none`: s = 1 in both, for [Fig. F1] and inputs whose norm does not grow
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from declarations.lists import LISTS
from trainables.networks.base import Array, Network

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.cell import Cell
    from trainables.tasks.base import Task


class TwoLayer(Network):
    """A centred two-layer ReLU network of width m and richness gamma."""

    name: ClassVar[str] = "relu2"
    centred: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("vector",)
    has_one_output: ClassVar[bool] = True
    keeps: ClassVar[tuple[str, ...]] = LISTS
    free: ClassVar[tuple[str, ...]] = ("gamma", "prefactor")
    hashed_at_default: ClassVar[tuple[str, ...]] = ("width", "gamma")

    width: Annotated[int, Field(ge=1)]
    gamma: Annotated[float, Field(gt=0)]
    prefactor: Literal["sqrt_d", "none"]

    def scale(self, task: "Task") -> float:
        if self.prefactor == "none":
            return 1.0
        if hasattr(type(task), "richness_scale"):  # a user's own task may set it
            own: float = task.richness_scale  # type: ignore[attr-defined]
            return float(own)
        return float(np.sqrt(task.norm_dim))

    def init(self, rng: np.random.Generator, cell: "Cell") -> dict[str, Array]:
        """w (D, m) and a (m,), float32."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        scale = np.float32(self.width**-0.5)
        w = standard_normal(rng, (cell.task.input_dim, self.width)) * scale
        return {"w": w, "a": standard_normal(rng, (self.width,)) * scale}

    def n_parameters(self, cell: "Cell") -> int:
        return (cell.task.input_dim + 1) * self.width

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "Cell") -> "Tensor":
        return (x @ parameters["w"]).relu() @ parameters["a"]

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "Cell") -> "Tensor":
        return (x @ parameters["w"]).relu()
