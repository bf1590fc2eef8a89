"""A task of one's own: the parity of k hidden bits among d. Run it: python -m orchestrator.sweep examples/parity_grid.yaml"""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks import Task

Array = np.ndarray[Any, Any]


class Parity(Task):
    """Inputs are d random bits, +1 or -1; the label is whether the product of k of them, the same for a whole network, is +1."""

    name: ClassVar[str] = "parity"  # what `task:` in a grid says
    default_base_lr: ClassVar[float] = 0.1  # where the grid gives no base_lr

    d: Annotated[int, Field(ge=1)]  # the fields are the task's keys in a grid, with their legal values
    k: Annotated[int, Field(ge=1)] = 2

    @model_validator(mode="after")
    def _k_bits_of_d(self) -> "Parity":
        if self.k > self.d:
            raise ValueError(f"k ({self.k}) is larger than d ({self.d})")
        return self

    @property
    def input_dim(self) -> int:
        return self.d

    @property
    def richness_scale(self) -> float:
        return 1.0  # sqrt(d) where the norm of an input does not grow with d; here it does

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        return rng.choice(self.d, size=self.k, replace=False)  # once per network: which bits count

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x = rng.integers(0, 2, (n, self.d)).astype(np.float32) * 2 - 1
        return x, x[:, symbols].prod(axis=1) > 0

    test_examples = train_examples  # fresh ones each time, of the same kind
