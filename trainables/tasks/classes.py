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

    def shuffled(self, rng: np.random.Generator, labels: Array) -> Array:
        """Training labels (n,), a share of them permuted in place."""
        if self.shuffle:
            chosen = rng.permutation(len(labels))[: round(self.shuffle * len(labels))]
            labels[chosen] = labels[rng.permutation(chosen)]
        return labels

    def lies(self, rng: np.random.Generator, n: int) -> Array:
        """Classes (n,) that the code tells in the test."""
        return rng.integers(self.n_classes, size=n)

    def coded(self, told: Array) -> Array:
        """The code of these classes, (n, C) float32; (n, 0) if inputs hold none."""
        if not self.code:
            return np.empty((len(told), 0), np.float32)
        return np.float32(self.code) * np.eye(self.n_classes, dtype=np.float32)[told]


def first_rows(order: Array, n_train: int, n: int) -> Array:
    """`n` rows of a pool whose order (N,) was drawn: the first `n_train` train. Each occurs once if n = n_train."""
    return np.resize(order[:n_train], n)


def other_rows(rng: np.random.Generator, order: Array, n_train: int, n: int) -> Array:
    """`n` rows of the pool that do not train, in random order; none occurs twice before each has occurred once."""
    return np.resize(rng.permutation(order[n_train:]), n)
