"""Inputs that are rows of a table, which all networks of a process share: images of classes."""

from typing import NamedTuple

import numpy as np

from trainables.basics import Array


class Taken(NamedTuple):
    """n inputs as rows of a table."""

    rows: Array
    """(n,) int64."""
    front: Array
    """(n, k) float32: it stands in place of the first k numbers of a row, which may be none."""

    def first(self, n: int) -> "Taken":
        return Taken(self.rows[:n], self.front[:n])


class Table(NamedTuple):
    """N rows of D whole numbers; an input is a row over `white`."""

    rows: Array
    """(N, D) uint8, perhaps a memory map."""
    white: int
    """The largest pixel."""

    def inputs(self, taken: Taken) -> Array:
        """(n, D) float32."""
        x = self.rows[taken.rows].astype(np.float32)
        x /= np.float32(self.white)
        x[:, : taken.front.shape[1]] = taken.front
        return x


class Images(NamedTuple):
    """N images of classes."""

    table: Table
    labels: Array
    """(N,) int64."""
    n_train: int | None
    """The first so many train, the others test; None if that is drawn for each seed."""
