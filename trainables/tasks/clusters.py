"""Gaussian clusters with a label code: do networks learn the classes or the code? [Nam26; its MNIST rows, without data]

d         dimension of the cluster's part of an input; the input is (A e_k, mu_c + N(0, I_d)), without the code if A = 0
classes   C, with means mu_c ~ N(0, s^2 I_d), drawn for each seed
P         size of the fixed training set; without it each step sees fresh examples
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks.base import Array
from trainables.tasks.classes import Coded


class Clusters(Coded):
    """Which of C Gaussian clusters is a point from? A code before it may tell the label in training, and lie in the test."""

    name: ClassVar[str] = "clusters"

    d: Annotated[int, Field(ge=1)]
    classes: Annotated[int, Field(ge=2, le=1000, title="classes C")] = 10
    spread: Annotated[float, Field(gt=0, title="spread s of the clusters' means")] = 1.0
    P: Annotated[int | None, Field(ge=1)] = None

    @model_validator(mode="after")
    def _shuffles_a_set(self) -> "Clusters":
        if self.shuffle and self.P is None:
            raise ValueError("shuffle is of a fixed training set: give P, the number of its examples")
        return self

    @property
    def input_dim(self) -> int:
        return self.d + self.n_code

    @property
    def n_code(self) -> int:
        """Length of the code."""
        return self.classes if self.code else 0

    @property
    def n_classes(self) -> int:
        return self.classes

    @property
    def n_train(self) -> int | None:
        return self.P

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The clusters' means (C, d) float32."""
        return (self.spread * rng.standard_normal((self.classes, self.d))).astype(np.float32)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x, labels = self._points(rng, symbols, n)
        labels = self.shuffled(rng, labels)
        return self._after_code(x, labels), labels

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x, labels = self._points(rng, symbols, n)
        return self._after_code(x, self.lies(rng, n)), labels

    def _points(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        labels = rng.integers(self.classes, size=n)
        return symbols[labels] + standard_normal(rng, (n, self.d)), labels

    def _after_code(self, x: Array, told: Array) -> Array:
        return np.hstack([self.coded(told), x]) if self.code else x
