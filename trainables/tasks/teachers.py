"""Teachers: real targets of one direction w* of Gaussian inputs, for networks at equilibrium [Rubin25 Sec. 6, App. E.1].

x    input ~ N(0, I_d)
w*   direction of the target, a unit vector drawn once per network
P    number of training examples. It enters no random stream: the sets of one seed are the first P of one sequence, so that
     a larger P adds examples and changes none, and a threshold in P is crossed along one data set.
y    target, <y, y> = 1 over the inputs
"""

from abc import abstractmethod
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks.base import Array, Task


class Teacher(Task):
    """A target y of c = w*.x; `draw_symbols` gives w*. Labels are real, so no classifier trains on it."""

    default_base_lr: ClassVar[float] = 0.1
    shared_across: ClassVar[tuple[str, ...]] = ("P",)

    d: Annotated[int, Field(ge=2)]
    P: Annotated[int, Field(ge=0)]

    @property
    def input_dim(self) -> int:
        return self.d

    @property
    def richness_scale(self) -> float:
        return 1.0

    @abstractmethod
    def target(self, c: Array) -> Array:
        """y (n,) of c = w*.x (n,)."""

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """w* (d,) float32, |w*| = 1."""
        w = rng.standard_normal(self.d)
        return (w / np.linalg.norm(w)).astype(np.float32)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """x (n, d) float32 and y (n,) float64; the first n of the sequence that this generator stands for."""
        from trainables.draws import standard_normal  # here, so that reading a grid does not wait for numba

        x = standard_normal(rng, (n, self.d))
        return x, self.target(x.astype(np.float64) @ symbols.astype(np.float64))

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self.train_examples(rng, symbols, n)


class Hermite3(Teacher):
    """y = He_3(w*.x)/sqrt(6), He_3(c) = c^3 - 3c."""

    name: ClassVar[str] = "he3"

    def target(self, c: Array) -> Array:
        return (c**3 - 3 * c) / np.sqrt(6)


class Linear(Teacher):
    """y = w*.x. With `patch` it is a CNN's target: w* = (b_1 e, ..., b_S e), one direction e in all S patches of the input."""

    name: ClassVar[str] = "linear"

    patch: Annotated[int | None, Field(ge=2)] = None

    @model_validator(mode="after")
    def _whole_patches(self) -> "Linear":
        if self.patch is not None and self.d % self.patch:
            raise ValueError(f"d ({self.d}) is not a multiple of patch ({self.patch})")
        return self

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        if self.patch is None:
            return super().draw_symbols(rng)
        w = np.outer(rng.standard_normal(self.d // self.patch), rng.standard_normal(self.patch)).ravel()
        return (w / np.linalg.norm(w)).astype(np.float32)

    def target(self, c: Array) -> Array:
        return c
