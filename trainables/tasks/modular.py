"""Modular arithmetic: x op y mod p from a share of all pairs. Networks first learn these by heart, and much later the rule.
[Power22; Gromov23; Nam26 Fig. 12]

modulus    p; the input is (e_x, e_y), 2 p numbers, or as tokens (x, y); the classes are the p answers
op         add, multiply, or divide: x / y for y = 1 .. p - 1, p prime
fraction   share of the pairs that is trained on, drawn for each seed; the test takes the others
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks.base import Array, Inputs
from trainables.tasks.classes import Classes, first_rows, other_rows


class Modular(Classes):
    """x op y mod p: the answers to pairs that training did not show."""

    name: ClassVar[str] = "modular"
    told: ClassVar[tuple[str, ...]] = ("op",)

    modulus: Annotated[int, Field(ge=2, le=1000, title="modulus p")]
    op: Annotated[Literal["add", "multiply", "divide"], Field(title="operation")] = "add"
    fraction: Annotated[float, Field(gt=0, lt=1, title="share of all pairs that is trained on")] = 0.5

    @model_validator(mode="after")
    def _can_be_learnt_and_tested(self) -> "Modular":
        p = self.modulus
        if self.op == "divide" and any(p % q == 0 for q in range(2, p)):
            raise ValueError(f"op divide needs a prime modulus, and {p} is none")
        if not 0 < self.n_train < self.n_pairs:
            raise ValueError(f"fraction {self.fraction:g} of {self.n_pairs} pairs leaves none to train on, or none for the test")
        return self

    @property
    def divisors(self) -> range:
        """The values of y."""
        return range(self.op == "divide", self.modulus)

    @property
    def n_pairs(self) -> int:
        """Number of all pairs (x, y)."""
        return self.modulus * len(self.divisors)

    @property
    def n_train(self) -> int:
        return round(self.fraction * self.n_pairs)

    @property
    def n_classes(self) -> int:
        return self.modulus

    @property
    def input_dim(self) -> int:
        return 2 * self.modulus

    @property
    def input_shape(self) -> tuple[int, ...]:
        return 2, self.modulus

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The pairs in random order, (n_pairs,) int64: the first train, the others test."""
        return rng.permutation(self.n_pairs)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self._posed(first_rows(symbols, self.n_train, n))

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self._posed(other_rows(rng, symbols, self.n_train, n))

    def answers(self, x: Array, y: Array) -> Array:
        """x op y mod p (n,) for whole numbers x and y (n,)."""
        if self.op == "add":
            return (x + y) % self.modulus
        if self.op == "divide":
            y = np.array([0, *(pow(k, -1, self.modulus) for k in self.divisors)])[y]
        return x * y % self.modulus

    def encoded(self, x: Array, y: Array) -> Array:
        """The inputs (n, input_dim) for pairs."""
        one = np.eye(self.modulus, dtype=np.float32)
        return np.hstack([one[x], one[y]])

    def _posed(self, rows: Array) -> tuple[Array, Array]:
        x, y = np.divmod(rows, len(self.divisors))
        y = y + self.divisors.start
        return self.encoded(x, y), self.answers(x, y)


class ModularTokens(Modular):
    """Pairs as two tokens, for transformers and other networks on tokens."""

    name: ClassVar[str] = "modular_tokens"
    inputs: ClassVar[Inputs] = "tokens"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "transformer", "training": "adamw"}

    @property
    def input_dim(self) -> int:
        return 2

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (2,)

    @property
    def n_tokens(self) -> int:
        return self.modulus

    def encoded(self, x: Array, y: Array) -> Array:
        """The inputs (n, 2) for pairs: whole numbers below p."""
        return np.stack([x, y], axis=1)
