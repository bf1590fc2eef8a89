"""Linear regression: the inputs themselves, or random linear features of them, before a last layer that is solved for.

linear1           f = w.x
random_features   f = v.F x, F (N, d) ~ N(0, 1/N), drawn once [Bordelon24b]; its kernel tends to x.x' as N grows
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from trainables.networks.base import Array
from trainables.networks.solved.kernels import LastLayer

if TYPE_CHECKING:
    from trainables.spec import CellSpec


class LinearRegression(LastLayer):
    """One linear layer; the same network as `linear1` under descent, solved for."""

    name: ClassVar[str] = "linear1"
    takes: ClassVar[tuple[str, ...]] = ("vector",)
    width: ClassVar[int] = 1  # type: ignore[misc]  # no key: there are no hidden neurons

    def grams(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        x, others = x.astype(np.float64), others.astype(np.float64)
        return x @ x.T, others @ x.T

    def of_entry(self, cell: "CellSpec") -> float:
        return float(cell.task.input_dim)

    def held(self, cell: "CellSpec") -> int:
        return cell.task.input_dim + cell.task.input_dim // 2


class RandomFeatures(LastLayer):
    """`width` random linear features, which stay as they are drawn."""

    name: ClassVar[str] = "random_features"
    takes: ClassVar[tuple[str, ...]] = ("vector",)

    width: Annotated[int, Field(ge=1)]

    def grams(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        ours, theirs = self.seen_of(x, others, cell, rng)
        return ours @ ours.T, theirs @ ours.T

    def few(self, cell: "CellSpec") -> bool:
        return self.width < (cell.task.n_train or 0)

    def seen_of(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        drawn = self.init(rng, cell)["f"]
        return (x @ drawn).astype(np.float64), (others @ drawn).astype(np.float64)

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        """F transposed, (d, N) float32."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        return {"f": standard_normal(rng, (cell.task.input_dim, self.width)) / np.float32(self.width**0.5)}

    def n_products(self, cell: "CellSpec") -> int:
        return cell.task.input_dim * self.width

    def held(self, cell: "CellSpec") -> int:
        return self.width + cell.task.input_dim // 2
