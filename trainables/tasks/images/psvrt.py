"""PSVRT: are two bit patterns on an empty image the same? [Tong25 S4.1, App. G.3]

L            training patterns, a fixed random set of the 2^k there are; test images show the others
patches      patches a side of the image
patch_size   pixels a side of a patch; k = patch_size^2 bits, +1 or -1
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks.base import Array
from trainables.tasks.images.patches import PatchTask, Placed
from trainables.tasks.pairs import check_two_left, draw_pairs


class PSVRT(PatchTask):
    """Bit patterns in two patches: the same, wherever they are?"""

    name: ClassVar[str] = "psvrt"

    patches: Annotated[int, Field(ge=2)] = 5
    patch_size: Annotated[int, Field(ge=2, le=7)] = 5  # the numbers of 2^64 patterns would not fit in int64

    @model_validator(mode="after")
    def _two_are_left(self) -> "PSVRT":
        what = f"the 2^({self.patch_size}x{self.patch_size}) = {self.n_patterns} patterns"
        check_two_left(self.L, self.n_patterns, what)
        return self

    @property
    def n_train_forms(self) -> float:
        return self.L

    @property
    def n_test_forms(self) -> float:
        return self.n_patterns - self.L

    @property
    def n_patterns(self) -> int:
        """Number of possible patterns."""
        return 2**self.patch_size**2

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The numbers of the training patterns, (L,) int64, ascending."""
        return np.sort(rng.choice(self.n_patterns, self.L, replace=False))

    def train_images(self, rng: np.random.Generator, symbols: Array, n: int) -> Placed:
        form, same = draw_pairs(rng, n, self.L)
        if form.size < self.L:  # else each block of steps would unpack all L patterns, however few it shows
            shown, form = np.unique(form, return_inverse=True)
            symbols, form = symbols[shown], form.reshape(n, 2)
        return Placed(self.bits(symbols), form, self.draw_places(rng, n), same)

    def test_images(self, rng: np.random.Generator, symbols: Array, n: int) -> Placed:
        drawn, same = draw_pairs(rng, n, self.n_patterns - self.L)
        # Unseen pattern r has the number r + c, where c counts the training patterns i with symbols[i] - i <= r.
        unseen = drawn + np.searchsorted(symbols - np.arange(self.L), drawn, side="right")
        return Placed(self.bits(unseen.reshape(-1)), np.arange(2 * n).reshape(n, 2), self.draw_places(rng, n), same)

    def bits(self, patterns: Array) -> Array:
        """Pixels (F, k) float32, +1 or -1, of patterns by number (F,)."""
        return ((patterns[:, None] >> np.arange(self.patch_size**2)) & 1).astype(np.float32) * 2 - 1
