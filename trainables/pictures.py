"""What a network sees and what its hidden weights look like: examples of its training, and weights in the shape of the input."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trainables.cell import Cell
from trainables.streams import BLOCK_STEPS, stream, stream_owner
from trainables.tasks.base import Array
from trainables.trainers.base import Trainer

MOST_EXTREME = 4
"""Neurons shown of either sign of the readout: enough to see what they share, few enough that an image network is a few 10 kB."""
OF_EACH_LABEL = 2
"""Examples shown of same, and of different."""


@dataclass(frozen=True)
class Pictures:
    """Arrays of one network: n neurons, those of positive readouts first, and k examples."""

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
    """Pixels from one line to the next that help the eye in both; None for no lines."""

    def rows(self) -> list[dict[str, Any]]:
        """One a picture, as the store keeps them: weights first, then examples."""
        weights = [
            {"kind": "weights", "neuron": int(i), "readout": float(a), **self._pixels(w)}
            for i, a, w in zip(self.neuron, self.readout, self.weights, strict=True)
        ]
        seen = zip(self.examples, self.same, strict=True)
        return [*weights, *({"kind": "example", "same": bool(same), **self._pixels(x)} for x, same in seen)]

    def _pixels(self, picture: Array) -> dict[str, Any]:
        return {"shape": picture.shape, "pixels": picture.astype(np.float32).ravel(), "rulings": self.rulings}


def pictures_of(cell: Cell, engine: Trainer, c: int, readout: Array) -> Pictures:
    """Of cell c of a pack as it is trained now; `readout` (m,) are its readouts."""
    chosen = extremes(readout)
    return pictures_of_weights(cell, chosen, readout[chosen], engine.hidden_weights(c, chosen))


def pictures_of_weights(cell: Cell, neuron: Array, readout: Array, weights: Array) -> Pictures:
    """Of these neurons (n,), with their readouts (n,) and their weights (n, input_dim)."""
    shown = cell.task.as_shown(weights).astype(np.float32)
    return Pictures(neuron, readout, shown, *_examples(cell), cell.task.rulings)


def extremes(readout: Array) -> Array:
    """The neurons with the most positive readouts and with the most negative ones, MOST_EXTREME of each at most, the
    largest by size first.

    None is there twice, nor among those of the other sign: where a sign has fewer neurons there are fewer.
    """
    order = np.argsort(-readout, kind="stable")
    positive, negative = order[readout[order] > 0], order[readout[order] < 0]
    return np.concatenate([positive[:MOST_EXTREME], negative[::-1][:MOST_EXTREME]])


def _examples(cell: Cell) -> tuple[Array, Array]:
    """The first ones of either label that training showed, and their labels: same, then different."""
    owner = stream_owner(cell)
    symbols = cell.task.draw_symbols(stream(owner, "symbols"))
    # The fixed set, or the first block, as training drew it: fewer examples of the same stream would be others.
    n = cell.task.n_train or BLOCK_STEPS * cell.batch
    shown, labels = cell.task.shown_examples(stream(owner, "batches", 0), symbols, n)
    same = np.asarray(labels) > 0
    first = np.concatenate([np.flatnonzero(same)[:OF_EACH_LABEL], np.flatnonzero(~same)[:OF_EACH_LABEL]])
    return shown[first], same[first]
