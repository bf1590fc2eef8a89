"""Pentomino: are two pentominoes on an empty image the same shape, in whatever rotation? [Tong25 S4.2, App. G.4]

L            training shapes of the 18 one-sided pentominoes, drawn once per network; test images show the others
patches      patches a side of the image
patch_size   pixels a side of a patch; a shape lies in a frame of 5x5 in its middle, its pixels 1
blur         standard deviation, in pixels, of the Gaussian blur of training images; test images have none
"""

from functools import cache
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks.base import Array
from trainables.tasks.images.patches import PatchTask, Placed
from trainables.tasks.images.polyominoes import drawn, one_sided
from trainables.tasks.pairs import check_two_left, draw_pairs

FRAME = 5
"""Pixels a side of the frame that holds a pentomino in every rotation."""
N_SHAPES, N_ROTATED = 18, 63
"""Numbers of one-sided pentominoes, and of these in all their different rotations."""


class Pentomino(PatchTask):
    """Pentominoes in two patches: the same up to rotation, not reflection?"""

    name: ClassVar[str] = "pentomino"

    patches: Annotated[int, Field(ge=2)] = 2
    patch_size: Annotated[int, Field(ge=FRAME)] = 7
    blur: Annotated[float, Field(ge=0, le=5)] = 0.5  # a wider one leaves nothing of a shape of 5 pixels

    @model_validator(mode="after")
    def _two_are_left(self) -> "Pentomino":
        check_two_left(self.L, N_SHAPES, f"the {N_SHAPES} shapes")
        return self

    @property
    def n_train_forms(self) -> float:
        return self.L * N_ROTATED / N_SHAPES

    @property
    def n_test_forms(self) -> float:
        return N_ROTATED - self.n_train_forms

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """All 18 shapes in random order, (18,) int64: the first L are for training, the rest for the test."""
        return rng.permutation(N_SHAPES)

    def train_images(self, rng: np.random.Generator, symbols: Array, n: int) -> Placed:
        return self._images(rng, symbols[: self.L], n, self.blur)

    def test_images(self, rng: np.random.Generator, symbols: Array, n: int) -> Placed:
        return self._images(rng, symbols[self.L :], n, 0.0)

    def _images(self, rng: np.random.Generator, shapes: Array, n: int, blur: float) -> Placed:
        forms, first, count = drawn_shapes(self.patch_size, blur)
        pair, same = draw_pairs(rng, n, len(shapes))
        shape = shapes[pair]
        return Placed(forms, first[shape] + rng.integers(count[shape]), self.draw_places(rng, n), same)


@cache
def drawn_shapes(patch_size: int, blur: float) -> tuple[Array, Array, Array]:
    """Pixels (63, k) of all shapes in all rotations, and for each of the 18 shapes the first of its rows and their number.

    Each patch is blurred by itself, and blur beyond its border is cut off. With the paper's patch of 7 pixels, which leaves one
    free on each side, and its blur of 0.5 the cut is at most 3e-4 of a pixel; a patch of 5 loses up to 4%.
    """
    from scipy.ndimage import gaussian_filter  # here, so that reading a grid does not wait for it

    turned = [_turned(drawn(shape, FRAME)) for shape in one_sided(5)]
    count = np.array([len(t) for t in turned])
    frames = np.concatenate(turned)
    before = (patch_size - FRAME) // 2
    after = patch_size - FRAME - before
    patches = np.pad(frames, ((0, 0), (before, after), (before, after)))
    if blur:
        patches = gaussian_filter(patches, blur, mode="constant", axes=(1, 2))
    return patches.reshape(len(patches), -1), np.cumsum(count) - count, count


def _turned(frame: Array) -> Array:
    """The different rotations (n, size, size) of a frame by right angles, about its own middle."""
    frames = [np.rot90(frame, k) for k in range(4)]
    return np.stack(list({f.tobytes(): f for f in frames}.values()))
