"""Inputs with a power-law spectrum and a linear target with power-law coefficients: how errors fall as powers of time, width and
examples [Bordelon24b].

x_k     N(0, k^-b), k = 1 .. d, b the `capacity` (alpha in [Bordelon25])
y       sum_k w_k x_k, with w_k^2 E x_k^2 = k^-a / sum_k k^-a, a = b beta + 1, beta the `difficulty`; E y^2 = 1
P       number of training examples; without it each step sees fresh ones
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from trainables.tasks.base import Array, Targets, Task


class PowerLaw(Task):
    """A linear target of inputs whose variances, and whose shares of the target, fall as powers of their number."""

    name: ClassVar[str] = "power_law"
    targets: ClassVar[Targets] = "real"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "linear1", "base_lr": 0.1, "prefactor": "none"}

    d: Annotated[int, Field(ge=1)]
    P: Annotated[int | None, Field(ge=0)] = None
    capacity: Annotated[float, Field(gt=0, title="capacity b: input variances fall as k^-b")] = 2.0
    difficulty: Annotated[float, Field(gt=0, title="difficulty beta: lazy errors fall as t^-beta; hard below 1")] = 0.5

    @property
    def input_dim(self) -> int:
        return self.d

    @property
    def n_train(self) -> int | None:
        return self.P

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The coefficients w (d,) float64; nothing is drawn."""
        k = np.arange(1, self.d + 1, dtype=float)
        shares = k ** -(self.capacity * self.difficulty + 1)
        return np.sqrt(shares / shares.sum() * k**self.capacity)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """x (n, d) float32 and y (n,) float64."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        x = standard_normal(rng, (n, self.d))
        x *= (np.arange(1, self.d + 1) ** (-self.capacity / 2)).astype(np.float32)
        return x, x @ symbols

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self.train_examples(rng, symbols, n)
