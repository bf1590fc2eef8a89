"""A single linear layer, f(x) = w.x from w = 0: the student of laws that have a closed form."""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trainables.networks.base import Array, Network, answered

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec


class LinearOne(Network):
    """One linear layer without hidden neurons, from weights of 0."""

    name: ClassVar[str] = "linear1"
    takes: ClassVar[tuple[str, ...]] = ("vector",)

    width: ClassVar[int] = 1  # type: ignore[misc]  # no key: there are no hidden neurons

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        return {"w": np.zeros((cell.task.input_dim, cell.task.n_outputs), np.float32)}

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        return answered(x @ parameters["w"], cell.task)
