"""Gaussian clusters with a label code: do networks learn the classes or the code? [Nam26; its MNIST rows, without data]

d       dimension of the cluster's part of an input; the input is (A e_k, mu_c + N(0, I_d)), without the code if A = 0
classes C, with means mu_c ~ N(0, s^2 I_d), drawn for each seed
code    A: in training k is the label of the example, in the test a random class
P       size of the fixed training set; without it each step sees fresh examples
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks.base import Array, Targets, Task


class Clusters(Task):
    """Which of C Gaussian clusters is a point from? A code before it may tell the label in training, and lie in the test."""

    name: ClassVar[str] = "clusters"
    targets: ClassVar[Targets] = "classes"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "mlp", "base_lr": 0.01, "loss": "mse", "prefactor": "none"}

    d: Annotated[int, Field(ge=1)]
    classes: Annotated[int, Field(ge=2, le=1000, title="classes C")] = 10
    spread: Annotated[float, Field(gt=0, title="spread s of the clusters' means")] = 1.0
    P: Annotated[int | None, Field(ge=1)] = None
    code: Annotated[float, Field(ge=0, title="height A of the label code")] = 0.0
    shuffle: Annotated[float, Field(ge=0, le=1, title="share of training labels that are shuffled")] = 0.0
    alpha: Annotated[float, Field(gt=0, title="divisor alpha of the targets")] = 1.0
    """Targets of the mean squared error are e_k / alpha: large alpha asks for small outputs, and training is lazy."""

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
    def n_outputs(self) -> int:
        return self.classes

    @property
    def n_train(self) -> int | None:
        return self.P

    @property
    def target_scale(self) -> float:
        return 1 / self.alpha

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The clusters' means (C, d) float32."""
        return (self.spread * rng.standard_normal((self.classes, self.d))).astype(np.float32)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x, labels = self._points(rng, symbols, n)
        if self.shuffle:
            chosen = rng.permutation(n)[: round(self.shuffle * n)]
            labels[chosen] = labels[rng.permutation(chosen)]
        return self._coded(x, labels), labels

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x, labels = self._points(rng, symbols, n)
        return self._coded(x, rng.integers(self.classes, size=n)), labels

    def _points(self, rng: np.random.Generator, means: Array, n: int) -> tuple[Array, Array]:
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        labels = rng.integers(self.classes, size=n)
        return means[labels] + standard_normal(rng, (n, self.d)), labels

    def _coded(self, x: Array, told: Array) -> Array:
        if not self.code:
            return x
        block = np.zeros((len(x), self.n_code), np.float32)
        block[np.arange(len(x)), told] = self.code
        return np.hstack([block, x])
