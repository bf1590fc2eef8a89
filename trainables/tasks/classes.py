"""Keys that tasks with classes share: divided targets, a label code, shuffled labels. [Nam26]

alpha     targets of the mean squared error are e_k / alpha: large alpha asks for small outputs, and training is lazy
code      A: A e_k stands in the first C numbers of an input; in training k is the label, in the test a random class
shuffle   share of the training labels that are permuted among their examples
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from trainables.tasks.base import Array, Targets, Task


class Classes(Task):
    """A task with C classes, `n_classes`, and one output for each."""

    targets: ClassVar[Targets] = "classes"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "mlp", "base_lr": 0.01, "loss": "mse", "prefactor": "none"}

    alpha: Annotated[float, Field(gt=0, title="divisor alpha of the targets")] = 1.0

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """C."""

    @property
    def n_outputs(self) -> int:
        return self.n_classes

    @property
    def target_scale(self) -> float:
        return 1 / self.alpha


class Coded(Classes):
    """A task whose inputs may hold a code, which tells the label in training and lies in the test."""

    code: Annotated[float, Field(ge=0, title="height A of the label code")] = 0.0
    shuffle: Annotated[float, Field(ge=0, le=1, title="share of training labels that are shuffled")] = 0.0

    @abstractmethod
    def seen(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """`n` training inputs (n, input_dim) float32, a new array, and labels, before labels are shuffled and the code is
        written over the first C numbers."""

    @abstractmethod
    def unseen(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """`n` test inputs and labels, as `seen`."""

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x, labels = self.seen(rng, symbols, n)
        if self.shuffle:
            chosen = rng.permutation(n)[: round(self.shuffle * n)]
            labels[chosen] = labels[rng.permutation(chosen)]
        return self._coded(x, labels), labels

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x, labels = self.unseen(rng, symbols, n)
        return self._coded(x, rng.integers(self.n_classes, size=n)), labels

    def _coded(self, x: Array, told: Array) -> Array:
        if self.code:
            x[:, : self.n_classes] = 0
            x[np.arange(len(x)), told] = self.code
        return x


def first_rows(order: Array, n_train: int, n: int) -> Array:
    """`n` rows of a pool whose order (N,) was drawn: the first `n_train` train. Each occurs once if n = n_train."""
    return np.resize(order[:n_train], n)


def other_rows(rng: np.random.Generator, order: Array, n_train: int, n: int) -> Array:
    """`n` rows of the pool that do not train, in random order; none occurs twice before each has occurred once."""
    return np.resize(rng.permutation(order[n_train:]), n)
