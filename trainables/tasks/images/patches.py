"""Images that are empty except for two patches, the base of PSVRT and Pentomino [Tong25 S4, App. G.3, G.4].

n   patches a side; P = n^2 places in the image, numbered row by row
k   pixels of a patch, patch_size^2
An input is the image with the pixels of a patch next to each other, (P k,): the network does not see how pixels lie in the image.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from trainables.tasks.base import AnyArray, Array, Task
from trainables.tasks.pairs import another


class Placed(NamedTuple):
    """N images: patch s of image i is row form[i, s] of `forms` (F, k) float32, at place[i, s]; all other pixels are 0."""

    forms: Array
    form: Array
    """(N, 2) integers."""
    place: Array
    """(N, 2) integers; the two places of an image differ."""
    same: Array
    """(N,) bool, the labels."""


class PatchTask(Task):
    """Two patches of an image are filled: is their content the same? A subclass defines the contents."""

    # Two patches are filled however large the image is, so an input's norm does not grow [Tong25 App. G.3].
    defaults: ClassVar[Mapping[str, Any]] = {"base_lr": 0.5, "prefactor": "none"}

    L: Annotated[int, Field(ge=2)]
    patches: Annotated[int, Field(ge=2)]
    patch_size: Annotated[int, Field(ge=1)]

    @property
    def n_places(self) -> int:
        """P, the patches of an image."""
        return self.patches**2

    @property
    @abstractmethod
    def n_train_forms(self) -> float:
        """Number of different contents of a patch in training images, on average over networks."""

    @property
    @abstractmethod
    def n_test_forms(self) -> float:
        """Number of different contents of a patch in test images, on average over networks."""

    @property
    def input_dim(self) -> int:
        return self.n_places * self.patch_size**2

    @property
    def input_shape(self) -> tuple[int, ...]:
        return 2 * (self.patches * self.patch_size,)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        height, width = self.input_shape
        return 1, height, width

    @property
    def rulings(self) -> int | None:
        return self.patch_size

    def as_shown(self, x: AnyArray) -> AnyArray:
        n, size = self.patches, self.patch_size
        return x.reshape(-1, n, n, size, size).swapaxes(2, 3).reshape(-1, *self.input_shape)

    def as_images(self, x: AnyArray) -> AnyArray:
        return self.as_shown(x)[:, None]

    @abstractmethod
    def train_images(self, rng: np.random.Generator, symbols: Array, n: int) -> Placed:
        """`n` training images."""

    @abstractmethod
    def test_images(self, rng: np.random.Generator, symbols: Array, n: int) -> Placed:
        """`n` fresh test images, with contents that training never shows."""

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self._pixels(self.train_images(rng, symbols, n))

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self._pixels(self.test_images(rng, symbols, n))

    def draw_places(self, rng: np.random.Generator, n: int) -> Array:
        """Two different places for each of `n` images, (n, 2), uniform."""
        first = rng.integers(self.n_places, size=n)
        return np.stack([first, another(rng, first, self.n_places)], axis=1)

    def _pixels(self, images: Placed) -> tuple[Array, Array]:
        x = np.zeros((len(images.form), self.n_places, images.forms.shape[1]), np.float32)
        np.put_along_axis(x, images.place[:, :, None], images.forms[images.form], axis=1)
        return x.reshape(len(x), -1), images.same
