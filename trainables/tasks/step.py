"""A step on a line: after rich training one feature holds it. [Nam26 Fig. 9]

x   uniform in [-1, 1]. Give `bias: true`: a ReLU network without biases is linear on either side of 0
P   size of the fixed training set; without it each step sees fresh examples
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from trainables.tasks.base import Array, Targets, Task


class Step(Task):
    """The sign of x, uniform in [-1, 1], as a real target."""

    name: ClassVar[str] = "step"
    targets: ClassVar[Targets] = "real"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "mlp", "base_lr": 0.01, "prefactor": "none"}

    P: Annotated[int | None, Field(ge=1)] = None

    @property
    def input_dim(self) -> int:
        return 1

    @property
    def n_train(self) -> int | None:
        return self.P

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """Nothing is fixed: (0,)."""
        return np.zeros(0)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """x (n, 1) float32 and y (n,) float32, -1 or 1."""
        x = rng.uniform(-1, 1, (n, 1)).astype(np.float32)
        return x, np.where(x[:, 0] < 0, np.float32(-1), np.float32(1))

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self.train_examples(rng, symbols, n)
