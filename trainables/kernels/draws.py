"""What steps draw by the million, compiled; seven times faster than numpy's, so that no step waits for its data.

A generator gives the key alone; the rest follows from key and place.
"""

import numpy as np

from trainables.basics import Array
from trainables.kernels.random import fill_normals, fill_pairs


def standard_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Float32 numbers N(0, 1) of this shape, from one 64-bit draw of `rng`."""
    out = np.empty(shape, np.float32)
    fill_normals(_key(rng), out.reshape(-1))
    return out


def symbol_pairs(rng: np.random.Generator, n: int, n_symbols: int) -> tuple[Array, Array]:
    """Indices u, v (n,) int32, from one 64-bit draw of `rng`: u = v with probability 1/2, else u != v uniform."""
    u, v = np.empty((2, n), np.int32)
    fill_pairs(_key(rng), n_symbols, u, v)
    return u, v


def _key(rng: np.random.Generator) -> np.uint64:
    return rng.integers(0, 2**64, dtype=np.uint64)
