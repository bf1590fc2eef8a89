"""Measurements on the hidden weights of the most extreme readouts, which networks keep if their grid saves weights."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd

from analysis.claims.kinds.declared import kind
from analysis.claims.kinds.measuring import Found
from analysis.claims.networks_used import Networks, Where, both_sides, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.networks.pictures import Pictures, pictures_of, with_pictures
from analysis.data.source import ResultsError
from sweepkit.stats import mean_interval

Array = np.ndarray[Any, Any]
Quantity = Literal["likeness", "readout", "norm"]


def likeness(found: Pictures) -> Array:
    """Size of the cosine of neighbouring patches of each neuron's weights, mean over the pairs that share an edge, (n,).

    It is 1 if each patch is its neighbour or the opposite of it, up to a factor. ValueError for pictures without patches.
    """
    side, (n, height, width) = found.rulings, found.weights.shape
    if side is None:
        raise ValueError("pictures without patches")
    # (n, rows of patches, patches in a row, pixels)
    patches = found.weights.reshape(n, height // side, side, width // side, side).swapaxes(2, 3)
    flat = patches.reshape(*patches.shape[:3], side * side).astype(np.float64)
    flat /= np.linalg.norm(flat, axis=-1, keepdims=True)
    across, down = (flat[:, :, :-1] * flat[:, :, 1:]).sum(-1), (flat[:, :-1] * flat[:, 1:]).sum(-1)
    return np.abs(np.concatenate([across.reshape(n, -1), down.reshape(n, -1)], axis=1)).mean(1)


QUANTITIES: dict[Quantity, tuple[str, Callable[[Pictures], Array]]] = {
    "likeness": ("likeness of neighbouring patches", likeness),
    "readout": ("size of the readout", lambda found: np.abs(found.readout)),
    "norm": ("norm of the weights", lambda found: np.linalg.norm(found.weights.reshape(len(found.weights), -1), axis=1)),
}
"""Numbers of each neuron, with their words."""


@kind
def extremes(results: str, quantity: Quantity, of: Where, over: Where | None = None, prefer: Where | None = None) -> Found:
    """Mean over seeds of a quantity of the most extreme neurons; if `over` is given, the geometric mean of its ratio to that of
    those networks, in pairs that share the seed."""

    def found(among: frozenset[str] | None) -> tuple[Networks, ...]:
        if over is None:
            return (networks(results, of, None, prefer=prefer, among=among),)
        return both_sides(results, of, over, None, prefer=prefer, among=among)

    # A setting whose networks saved no weights must not hide one whose networks did.
    sides = found(with_pictures(results))
    if any(side.frame.empty for side in sides):
        sides = found(None)
        if any(side.frame.empty for side in sides):
            return NotMeasured(sides[0].what)
        return NotMeasured(f"no network of these has saved its weights: {sides[0].what}")
    values = [_by_seed(results, quantity, side) for side in sides]
    if any(side.empty for side in values):
        return NotMeasured(f"the files of weights of these networks are gone or damaged: {sides[0].what}")
    told = f"{QUANTITIES[quantity][0]}, most extreme readouts of"
    if over is None:
        return Measured(mean_interval(values[0]), f"{told} {len(values[0])} networks; {sides[0].what}", sides[0].again)
    both = (values[0] / values[1]).dropna()
    if both.empty:
        return NotMeasured(f"no two networks that share the seed: {sides[0].what}")
    mean = mean_interval(np.log(both))
    value, low, high = (float(np.exp(end)) for end in mean[:3])
    what = f"ratio of {told} {len(both)} pairs of networks; {sides[0].what}"
    return Measured(mean._replace(value=value, low=low, high=high), what, sides[0].again)


def _by_seed(results: str, quantity: Quantity, found: Networks) -> "pd.Series[float]":
    """The mean over neurons, by seed, of the networks whose weights are there and can be read."""
    of = QUANTITIES[quantity][1]
    pictures = {row["seed"]: _pictures(results, row["cell_id"]) for row in found.frame.to_dict("records")}
    return pd.Series({seed: of(one).mean() for seed, one in pictures.items() if one is not None}, dtype=float)


def _pictures(results: str, cell_id: str) -> Pictures | None:
    try:
        return pictures_of(results, cell_id)
    except ResultsError:
        return None  # the page that shows weights says what is wrong with the file
