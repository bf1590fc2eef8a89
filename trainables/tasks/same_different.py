"""Same-different over symbol embeddings [Tong25 S2, App. G.2].

L   number of training symbols, s ~ N(0, I/d), drawn once per network
d   dimension of one symbol; the network sees x = (z1; z2) in R^{2d}
sigma2   noise variance: z = s + eta, eta ~ N(0, sigma2 I/d), independent for z1 and z2
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from trainables.tasks.base import Array, Task


class SameDifferent(Task):
    """Are the two halves of the input the same symbol? Test symbols are drawn afresh for every example."""

    name: ClassVar[str] = "same_different"
    defaults: ClassVar[Mapping[str, Any]] = {"base_lr": 0.1}
    also_hashed: ClassVar[tuple[str, ...]] = ("prefactor",)
    shared_across: ClassVar[tuple[str, ...]] = ("sigma2",)
    has_two_halves: ClassVar[bool] = True

    L: Annotated[int, Field(ge=2)]
    d: Annotated[int, Field(ge=1)]
    sigma2: Annotated[float, Field(ge=0)] = 0.0

    @property
    def input_dim(self) -> int:
        return 2 * self.d

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The L training symbols, (L, d) float32."""
        return self._normal(rng, (self.L, self.d))

    def draw_pairs(self, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        """Symbol indices (u, v) of `n` training examples: u = v with probability 1/2, else u != v uniform."""
        from trainables.kernels.draws import symbol_pairs  # here, so that reading a grid does not wait for numba

        return symbol_pairs(rng, n, self.L)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        u, v = self.draw_pairs(rng, n)
        pairs = symbols.take(np.stack([u, v], axis=1), axis=0, mode="clip")  # unchecked indices are three times faster
        return self._noisy(rng, pairs.reshape(n, -1)), (u == v)

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        same = rng.integers(0, 2, n, dtype=np.int32) == 1
        z = self._normal(rng, (n, 2 * self.d))
        z[same, self.d :] = z[same, : self.d]
        return self._noisy(rng, z), same

    def _normal(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        from trainables.kernels.draws import standard_normal

        return standard_normal(rng, shape) / np.float32(np.sqrt(self.d))

    def _noisy(self, rng: np.random.Generator, z: Array) -> Array:
        if self.sigma2 == 0:
            return z
        return z + np.float32(np.sqrt(self.sigma2)) * self._normal(rng, (len(z), 2 * self.d))
