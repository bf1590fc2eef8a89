"""Polyominoes from their definition: cells of the plane joined by their edges."""

from functools import cache

import numpy as np

from trainables.tasks.base import Array

Cells = frozenset[tuple[int, int]]


@cache
def fixed(n: int) -> tuple[Cells, ...]:
    """All polyominoes of n cells that no translation makes equal, shifted to the origin, sorted."""
    if n == 1:
        return (frozenset({(0, 0)}),)
    beside = ((p, (i + di, j + dj)) for p in fixed(n - 1) for i, j in p for di, dj in _STEPS)
    return tuple(sorted({_at_origin(p | {cell}) for p, cell in beside if cell not in p}, key=sorted))


@cache
def one_sided(n: int) -> tuple[Cells, ...]:
    """One polyomino of each class that rotations make equal; mirror images count as different."""
    return tuple(p for p in fixed(n) if sorted(p) == min(sorted(q) for q in rotations(p)))


def rotations(p: Cells) -> tuple[Cells, ...]:
    """The different rotations of a polyomino by right angles, itself first."""
    turned = [p]
    for _ in range(3):
        turned.append(_at_origin(frozenset((j, -i) for i, j in turned[-1])))
    return tuple(dict.fromkeys(turned))


def drawn(p: Cells, size: int) -> Array:
    """The polyomino in the middle of a frame (size, size) float32 of zeros, its cells 1; of two middles the upper left one."""
    cells = np.array(sorted(p))
    frame = np.zeros((size, size), np.float32)
    frame[tuple((cells + (size - 1 - cells.max(0)) // 2).T)] = 1
    return frame


_STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def _at_origin(p: Cells) -> Cells:
    top, left = min(i for i, _ in p), min(j for _, j in p)
    return frozenset((i - top, j - left) for i, j in p)
