"""Pictures of a network: examples that its training showed, and its hidden weights in the shape of an input."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trainables.cell import Cell
from trainables.streams import BLOCK_STEPS, stream, stream_owner
from trainables.tasks.base import Array
from trainables.trainers.base import Trainer

MOST_EXTREME = 4
"""Neurons shown for each sign of the readout: enough to see what they share; for an image network they take a few tens of kB."""
OF_EACH_LABEL = 2
"""Examples shown for each label, same and different."""


@dataclass(frozen=True)
class Pictures:
    """Arrays of one network: n neurons, those with positive readouts first, and k examples."""

    neuron: Array
    """(n,) integers."""
    readout: Array
    """(n,)."""
    weights: Array
    """(n, *input_shape) float32, w = w_0 + eps u as they are at the end."""
    examples: Array
    """(k, height, width), (k, height, width, 3) with colours in [0, 1], or of whatever shape the task shows."""
    same: Array
    """(k,) bool."""
    rulings: int | None
    """Pixels between the lines drawn over weights and examples to help the eye; None for no lines."""

    def rows(self) -> list[dict[str, Any]]:
        """One row per picture, as the store keeps them: weights first, then examples."""
        weights = [
            {"kind": "weights", "neuron": int(i), "readout": float(a), **self._pixels(w)}
            for i, a, w in zip(self.neuron, self.readout, self.weights, strict=True)
        ]
        seen = zip(self.examples, self.same, strict=True)
        return [*weights, *({"kind": "example", "same": bool(same), **self._pixels(x)} for x, same in seen)]

    def _pixels(self, picture: Array) -> dict[str, Any]:
        return {"shape": picture.shape, "pixels": picture.astype(np.float32).ravel(), "rulings": self.rulings}


def pictures_of(cell: Cell, trainer: Trainer, c: int, readout: Array) -> Pictures:
    """Pictures of cell c of a pack with its present weights; `readout` (m,) are its readouts."""
    chosen = extremes(readout)
    return pictures_of_weights(cell, chosen, readout[chosen], trainer.hidden_weights(c, chosen))


def pictures_of_weights(cell: Cell, neuron: Array, readout: Array, weights: Array) -> Pictures:
    """Pictures of these neurons (n,), given their readouts (n,) and their weights (n, input_dim)."""
    shown = cell.task.as_shown(weights).astype(np.float32)
    return Pictures(neuron, readout, shown, *_examples(cell), cell.task.rulings)


def extremes(readout: Array) -> Array:
    """The neurons with the most positive and with the most negative readouts, at most MOST_EXTREME of each, the largest in size
    first.

    Each neuron occurs at most once; a sign with fewer neurons gives fewer.
    """
    order = np.argsort(-readout, kind="stable")
    positive, negative = order[readout[order] > 0], order[readout[order] < 0]
    return np.concatenate([positive[:MOST_EXTREME], negative[::-1][:MOST_EXTREME]])


def _examples(cell: Cell) -> tuple[Array, Array]:
    """The first examples of each label that training showed, and their labels: same first, then different."""
    owner = stream_owner(cell)
    symbols = cell.task.draw_symbols(stream(owner, "symbols"))
    # The fixed set, or the first block, as training drew it: a draw of fewer examples would give different ones.
    n = cell.task.n_train or BLOCK_STEPS * cell.batch
    shown, labels = cell.task.shown_examples(stream(owner, "batches", 0), symbols, n)
    same = np.asarray(labels) > 0
    first = np.concatenate([np.flatnonzero(same)[:OF_EACH_LABEL], np.flatnonzero(~same)[:OF_EACH_LABEL]])
    return shown[first], same[first]
