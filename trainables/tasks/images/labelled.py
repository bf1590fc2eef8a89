"""Images of classes, which a label code may overwrite [Nam26].

P   training examples, drawn for each seed. The test takes images that no training set of this seed shows; one is not taken again
    before all were taken, so a test of as many examples as there are takes each once
"""

from abc import abstractmethod
from math import prod
from typing import Annotated

import numpy as np
from pydantic import Field

from trainables.basics import Array
from trainables.features.images.table import Images, Table, Taken
from trainables.tasks.base import AnyArray
from trainables.tasks.classes import Coded, first_rows, other_rows


class LabelledImages(Coded):
    """Images, to be told apart by class. A subclass says where they are."""

    P: Annotated[int, Field(ge=1)]

    @abstractmethod
    def images(self) -> Images:
        """All images. TaskError, in one line, says how to get them if they are not there."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """(height, width), or (height, width, 3); known before the images are read."""

    @property
    def n_train(self) -> int:
        return self.P

    @property
    def input_dim(self) -> int:
        return prod(self.shape)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.shape

    @property
    def image_shape(self) -> tuple[int, int, int]:
        height, width, *colours = self.shape
        return colours[0] if colours else 1, height, width

    def as_images(self, x: AnyArray) -> AnyArray:
        pixels = x.reshape(len(x), *self.shape)
        return pixels.swapaxes(2, 3).swapaxes(1, 2) if len(self.shape) == 3 else pixels[:, None]

    def table(self) -> Table:
        return self.images().table

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """Images, int64: first P that train, in random order, then those of the test."""
        found = self.images()
        order = rng.permutation(len(found.labels) if found.n_train is None else found.n_train)
        if found.n_train is None:
            return order
        return np.concatenate([order[: self.P], np.arange(found.n_train, len(found.labels))])

    def train_rows(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Taken, Array]:
        rows = first_rows(symbols, self.P, n)
        labels = self.shuffled(rng, self.images().labels[rows])
        return Taken(rows, self.coded(labels)), labels

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        taken, targets = self.train_rows(rng, symbols, n)
        return self.table().inputs(taken), targets

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        rows = other_rows(rng, symbols, self.P, n)
        return self.table().inputs(Taken(rows, self.coded(self.lies(rng, n)))), self.images().labels[rows]
