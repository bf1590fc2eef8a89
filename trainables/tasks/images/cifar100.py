"""CIFAR-100 same-different: do two photographs show the same class? [Tong25 S4.3, App. G.5]

L          training classes, drawn for each network; the other 100 - L are for the test. All 60,000 images are used
layer      relu1_1 ... relu5_3: activations of VGG-16; `id`: the pixels, in [0, 1]
data_dir   folder with the images and the weights; it enters neither the cell id nor the results
D          numbers of one image; the input is both images side by side, d = 2 D numbers, times 1/sqrt(d) (the authors' d)
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator
from rich.console import Console

from trainables.features.images import made, sets
from trainables.features.images.layers import N_CLASSES, PIXELS, SIDE, Layer, row_length
from trainables.features.images.sets import ImageSet
from trainables.tasks.base import AnyArray, Array, Preparation, TaskError
from trainables.tasks.images.of_files import OfFiles
from trainables.tasks.pairs import check_two_left, draw_pairs

_AT_ONCE = 64
"""Rows of pixels that are converted to float32 together: this many stay in the cache."""


class CIFAR100(OfFiles):
    """Two photographs, same or different class; the classes of the test are never trained on."""

    name: ClassVar[str] = "cifar100"
    defaults: ClassVar[Mapping[str, Any]] = {"base_lr": 0.01}
    has_two_halves: ClassVar[bool] = True
    image_set: ClassVar[ImageSet] = sets.CIFAR100

    L: Annotated[int, Field(ge=2)]
    layer: Layer = "relu4_3"

    @model_validator(mode="after")
    def _classes_are_left(self) -> "CIFAR100":
        check_two_left(self.L, N_CLASSES, f"the {N_CLASSES} classes")
        return self

    @classmethod
    def needs_weights(cls, keys: Mapping[str, Any]) -> bool:
        return keys["layer"] != "id"

    @property
    def input_dim(self) -> int:
        return 2 * row_length(self.layer)

    @property
    def norm_dim(self) -> int:
        return self.input_dim  # as the authors take it

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """The colours of both photographs as channels, where these are the inputs."""
        return (6, SIDE, SIDE) if self.layer == "id" else None

    def as_images(self, x: AnyArray) -> AnyArray:
        pixels = x.reshape(len(x), 2, SIDE, SIDE, 3).swapaxes(3, 4).swapaxes(2, 3)
        return pixels.reshape(len(x), 6, SIDE, SIDE)

    def preparations(self) -> list[Preparation]:
        return made.to_make(self._found, self.layer)

    def prepare(self, console: Console) -> None:
        for layer in dict.fromkeys(("id", self.layer)):  # pictures show the pixels
            counts = made.rows(self._found, layer, console).counts
            if min(counts) < 2:
                few = int(np.argmin(counts))
                raise TaskError(
                    f"{self._found.folder}/{self.image_set.folders[0]}: class {few} has {counts[few]} images; each of the "
                    f"{N_CLASSES} needs 2 for a pair"
                )

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The classes in random order, (100,) int64: the first L train, the others test."""
        return rng.permutation(N_CLASSES)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        images, same = self.draw_images(rng, symbols[: self.L], n)
        return self._inputs(images), same

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        images, same = self.draw_images(rng, symbols[self.L :], n)
        return self._inputs(images), same

    def shown_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """The photographs (n, 32, 64, 3) of what `train_examples` draws from the same generator."""
        images, same = self.draw_images(rng, symbols[: self.L], n)
        pixels = made.rows(self._found, "id").rows[images].reshape(n, 2, SIDE, SIDE, 3)
        return np.concatenate([pixels[:, 0], pixels[:, 1]], axis=2) / np.float32(255), same

    @property
    def shown_size(self) -> int:
        return 2 * PIXELS

    def draw_images(self, rng: np.random.Generator, classes: Array, n: int) -> tuple[Array, Array]:
        """Rows (n, 2) of pairs of images from these classes, and whether both have one class. The two images always differ."""
        counts = np.array(made.rows(self._found, self.layer).counts)
        starts = np.cumsum(counts) - counts
        drawn, same = draw_pairs(rng, n, len(classes))
        first, second = classes[drawn].T
        i = rng.integers(counts[first])
        j = rng.integers(counts[second] - same)  # one fewer to choose from if the first has the same class
        j = np.where(same, (i + 1 + j) % counts[second], j)
        return np.stack([starts[first] + i, starts[second] + j], axis=1), same

    def _inputs(self, images: Array) -> Array:
        """Inputs (n, 2 D) float32 for rows (n, 2). Rows are converted as they are read, so that no float16 copy is made."""
        table, rows = made.rows(self._found, self.layer).rows, images.reshape(-1)
        out = np.empty((len(rows), table.shape[1]), np.float32)
        scale = np.float32(self.input_dim**-0.5)
        if self.layer == "id":
            for k in range(0, len(rows), _AT_ONCE):
                np.multiply(table[rows[k : k + _AT_ONCE]], scale / 255, out=out[k : k + _AT_ONCE], dtype=np.float32)
        else:
            from trainables.kernels.halves import gather_halves  # here, so that reading a grid does not wait for numba

            gather_halves(table.view(np.uint16), rows, scale, out)
        return out.reshape(len(images), self.input_dim)
