"""Pictures of a network: example inputs and hidden weights, read from the file beside the pack, as arrays and as a table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.networks.saved import HOLDING
from sweepkit.store.files import open_files
from sweepkit.store.views import fetch, run
from sweepkit.store.weights import read_pictures

Array = np.ndarray[Any, Any]

LONGEST = 128
"""Largest ratio of a picture's sides: a pair of 256 numbers each still counts as a picture."""


@dataclass(frozen=True)
class Pictures:
    """Pictures of one network: n neurons, those of positive readouts first, and k examples of its training."""

    neuron: Array
    """(n,) integers."""
    readout: Array
    """(n,)."""
    weights: Array
    """(n, ...) as the task shows its inputs: (n, height, width) for images, (n, 2, d) for pairs."""
    examples: Array
    """(k, height, width), (k, height, width, 3) with colours in [0, 1], or as the task shows them."""
    same: Array
    """(k,) bool: whether the example is labelled `same`."""
    rulings: int | None
    """Pixels between the lines that help the eye; None for no lines."""

    @property
    def weights_are_images(self) -> bool:
        """Whether the weights have two dimensions that an eye can read. Features of photographs do not: they are rows of
        thousands of numbers."""
        if self.weights.ndim < 3:
            return False
        height, width = self.weights.shape[1:3]
        return min(height, width) >= 2 and max(height, width) <= LONGEST * min(height, width)

    def frame(self) -> pd.DataFrame:
        """One row per number: kind, picture (from 0), value and its place (row, column, channel); for weights also neuron and
        readout, for examples `same`."""
        weights = [
            _long(w, kind="weights", picture=i, neuron=int(self.neuron[i]), readout=float(self.readout[i]))
            for i, w in enumerate(self.weights)
        ]
        examples = [_long(x, kind="example", picture=i, same=bool(self.same[i])) for i, x in enumerate(self.examples)]
        return pd.concat([*weights, *examples], ignore_index=True)

    def only(self, kind: str) -> pd.DataFrame:
        """The rows of `frame` of one kind, without the columns that only the other kind has."""
        frame = self.frame()
        return frame[frame["kind"] == kind].dropna(axis=1, how="all").reset_index(drop=True)


def _long(values: Array, **same_for_all: Any) -> pd.DataFrame:
    places = np.indices(values.shape).reshape(values.ndim, -1)
    names = ("column",) if values.ndim == 1 else ("row", "column", *(f"channel{i or ''}" for i in range(values.ndim - 2)))
    return pd.DataFrame({**same_for_all, **dict(zip(names, places, strict=True)), "value": values.ravel()})


def pictures_of(results: str, cell_id: str) -> Pictures | None:
    """The pictures of a network; None if its grid did not save weights. ResultsError if their file is gone or damaged."""
    sql = "SELECT weights_file FROM internal.weights WHERE cell_id = ?"
    found = run(results, lambda connection: connection.execute(sql, [cell_id]).fetchone())
    if found is None:
        return None
    rows = read_pictures(open_files(results), found[0])
    weights, examples = ([row for row in rows if row["kind"] == kind] for kind in ("weights", "example"))
    return Pictures(
        neuron=np.array([row["neuron"] for row in weights], np.int64),
        readout=np.array([row["readout"] for row in weights], np.float64),
        weights=_stacked(weights),
        examples=_stacked(examples),
        same=np.array([row["same"] for row in examples], bool),
        rulings=rows[0]["rulings"] if rows else None,
    )


def _stacked(rows: list[dict[str, Any]]) -> Array:
    return np.stack([row["pixels"] for row in rows]) if rows else np.empty((0, 0, 0), np.float32)


def with_pictures(results: str) -> frozenset[str]:
    """The ids of all networks whose grid saved weights."""
    return frozenset(cell_id for (cell_id,) in fetch(results, HOLDING["weights"]))
