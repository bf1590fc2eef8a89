"""A half-space: labels by the sign of w*.x. Cross entropy on them falls as t^(-1/3) where inputs lie at the boundary.

x        N(0, I_d), moved along w* away from the boundary w*.x = 0 by `margin` on either side: with a margin no input lies near it
w*       a unit vector, drawn for each seed
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from trainables.tasks.base import Array, Task


class Halfspace(Task):
    """Is w*.x above 0? Inputs are Gaussian; with `margin` none lies nearer to the boundary."""

    name: ClassVar[str] = "halfspace"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "linear1", "base_lr": 1.0, "prefactor": "none"}

    d: Annotated[int, Field(ge=1)]
    margin: Annotated[float, Field(ge=0, title="margin at the boundary")] = 0.0

    @property
    def input_dim(self) -> int:
        return self.d

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """w* (d,) float32, |w*| = 1."""
        w = rng.standard_normal(self.d)
        return (w / np.linalg.norm(w)).astype(np.float32)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """x (n, d) float32 and labels (n,)."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        x = standard_normal(rng, (n, self.d))
        label = x @ symbols > 0
        if self.margin:
            x += np.where(label, np.float32(self.margin), np.float32(-self.margin))[:, None] * symbols
        return x, label

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self.train_examples(rng, symbols, n)
