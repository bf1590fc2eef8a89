"""Pairs of the things that a task compares: bit patterns, shapes, classes."""

import numpy as np

from trainables.tasks.base import Array


def check_two_left(n_training: int, n: int, what: str) -> None:
    """ValueError if training leaves fewer than two of n for the test; `what` names the n: `the 18 shapes`."""
    if n_training > n - 2:
        raise ValueError(
            f"L ({n_training}) is too large: of {what} a test pair that differs needs two that training does not show, "
            f"so L is at most {n - 2}"
        )


def draw_pairs(rng: np.random.Generator, n: int, n_symbols: int) -> tuple[Array, Array]:
    """Pairs (n, 2) out of n_symbols, and whether both are the same: with probability 1/2, else different and uniform."""
    same, first = rng.integers(0, 2, n) == 1, rng.integers(n_symbols, size=n)
    return np.stack([first, np.where(same, first, another(rng, first, n_symbols))], axis=1), same


def another(rng: np.random.Generator, taken: Array, n: int) -> Array:
    """For each number in `taken` a different one of 0..n-1, uniform."""
    return (taken + 1 + rng.integers(n - 1, size=taken.shape)) % n
