"""A committee: neurons of one quadratic activation whose readouts stay 1, from lazy to rich by the scale of the output. [Kumar23]

f(x) = (a/m) sum_i phi(w_i.x), phi(h) = h + e h^2/2
a    laziness, 1/`gamma`; the rate of gradient descent falls as 1/a^2
e    `curvature`: alignment of the initial features with quadratic targets
w    (D, m), w_ij ~ N(0, 1/D); [Kumar23] has w_ij ~ N(0, 1) and inputs ~ N(0, I/D), the same f at a rate D times smaller
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from trainables.networks.base import Array, Network
from trainables.training.descent import Descent

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec
    from trainables.training.base import Training


class Committee(Network):
    """The mean of `width` neurons h + e h^2/2, h = w.x, over gamma. Only the w are trained."""

    name: ClassVar[str] = "committee"
    takes: ClassVar[tuple[str, ...]] = ("vector",)
    has_one_output: ClassVar[bool] = True
    free: ClassVar[tuple[str, ...]] = ("gamma",)

    width: Annotated[int, Field(ge=1)]
    curvature: Annotated[float, Field(ge=0, title="curvature e of the activation")] = 1.0
    gamma: Annotated[float, Field(gt=0)] = 1.0
    """The output is divided by gamma."""

    def rates(self, training: "Training") -> dict[str, float]:
        """A neuron's gradient is 1/width, so that it moves equally far at any width."""
        return {} if isinstance(training, Descent) and training.is_normalised else {"w": float(self.width)}

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        """w (D, m), float32."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        d = cell.task.input_dim
        return {"w": standard_normal(rng, (d, self.width)) * np.float32(d**-0.5)}

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        return self.features(parameters, x, cell).mean(-1)

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        h = x @ parameters["w"]
        return h + self.curvature / 2 * h.square()
