"""Compiled draws of the numbers that steps need by the million; seven times faster than numpy, so that no step waits for data.

The generator gives only a key; each number then follows from the key and its position.
"""

import numpy as np

from trainables.basics import Array
from trainables.kernels.random import fill_normals, fill_pairs


def standard_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Float32 numbers N(0, 1) of this shape, from one 64-bit draw of `rng`."""
    out = np.empty(shape, np.float32)
    fill_normals(_key(rng), out.reshape(-1))
    return out


def redraw_tails(rng: np.random.Generator, x: Array, tail: float) -> None:
    """Draw those float32 numbers of a standard normal x again whose size exceeds `tail`, until none does."""
    flat = x.reshape(-1)
    beyond = np.flatnonzero(np.abs(flat) > tail)
    while len(beyond):
        flat[beyond] = standard_normal(rng, beyond.shape)
        beyond = beyond[np.abs(flat[beyond]) > tail]


def symbol_pairs(rng: np.random.Generator, n: int, n_symbols: int) -> tuple[Array, Array]:
    """Indices u, v (n,) int32, from one 64-bit draw of `rng`: u = v with probability 1/2, else u != v uniform."""
    u, v = np.empty((2, n), np.int32)
    fill_pairs(_key(rng), n_symbols, u, v)
    return u, v


def _key(rng: np.random.Generator) -> np.uint64:
    return rng.integers(0, 2**64, dtype=np.uint64)
