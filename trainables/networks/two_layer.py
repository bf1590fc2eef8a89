"""The network of [Tong25]: two layers, ReLU neurons, no biases, output minus its value at initialisation.

f(x; theta) = 1/(gamma s) sum_i a_i relu(w_i . x) [Tong25 Eq. 1, App. F, G.1]
prefactor   `sqrt_d`: s = sqrt(d) in output and rate; `none`: s = 1 in both, for [Fig. F1] and inputs whose norm does not grow
initial     `normal`: w_ij, a_i ~ N(0, 1/m), as the paper says; `truncated`: as its code draws, T a standard normal without its
            tails beyond 2, w_ij = T/sqrt(m), of variance 0.774/m, and a_i = T/(TRUNCATED_SD sqrt(m)), of variance 1/m
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sweepkit.declarations.metrics import LISTS
from trainables.networks.base import Array, Network

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec
    from trainables.tasks.base import Task


TAIL = 2.0
"""Size beyond which a truncated normal number is drawn again."""
TRUNCATED_SD = 0.87962566103423978
"""Standard deviation of a standard normal number without its tails beyond TAIL."""


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
    initial: Literal["normal", "truncated"] = "normal"

    def scale(self, task: "Task") -> float:
        if self.prefactor == "none":
            return 1.0
        if hasattr(type(task), "richness_scale"):  # a user's own task may set it
            own: float = task.richness_scale  # type: ignore[attr-defined]
            return float(own)
        return float(np.sqrt(task.norm_dim))

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        """w (D, m) and a (m,), float32. Of one seed, truncated weights are the normal ones, except for those in the tails."""
        from trainables.kernels.draws import redraw_tails, standard_normal  # here: reading a grid does not wait for numba

        w, a = standard_normal(rng, (cell.task.input_dim, self.width)), standard_normal(rng, (self.width,))
        scale = np.float32(self.width**-0.5)
        if self.initial == "normal":
            return {"w": w * scale, "a": a * scale}
        redraw_tails(rng, w, TAIL)
        redraw_tails(rng, a, TAIL)
        return {"w": w * scale, "a": a * np.float32(self.width**-0.5 / TRUNCATED_SD)}

    def n_parameters(self, cell: "CellSpec") -> int:
        return (cell.task.input_dim + 1) * self.width

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        return (x @ parameters["w"]).relu() @ parameters["a"]

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        return (x @ parameters["w"]).relu()
