"""The hand-crafted network of four hidden units [Tong25 S3.1, App. B].

z1, z2  the two symbols of an example, (..., d)
rho     readout ratio: a+ = 1, a- = -rho
w+      (1; 1) and (-1; -1), parallel halves
w-      (1; -1) and (-1; 1), antiparallel halves
"""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class PairAccuracy(NamedTuple):
    """Fractions of same and of different examples classified right."""

    same: float
    different: float


def network_output(z1: Array, z2: Array, rho: Array | float) -> Array:
    """Output f, Eq. 2, (...): positive means same. Each pair of opposite weights makes relu(h) + relu(-h) = |h|."""
    return np.asarray(np.abs((z1 + z2).sum(-1)) - rho * np.abs((z1 - z2).sum(-1)))


def different_accuracy(rho: Array | float) -> Array:
    """Probability that a different pair is classified right, App. B: (2/pi) arctan(rho). No dependence on d."""
    return np.asarray(2 / np.pi * np.arctan(rho))


def test_accuracy(rho: Array | float) -> Array:
    """Test accuracy: all same pairs are right, different ones by `different_accuracy`."""
    return 0.5 + 0.5 * different_accuracy(rho)


def drawn_accuracy(rho: float, d: int, n_examples: int, rng: np.random.Generator) -> PairAccuracy:
    """Accuracy on `n_examples` same and as many different examples with symbols drawn from N(0, I/d)."""
    z1, z2 = rng.normal(0, 1 / np.sqrt(d), (2, n_examples, d))
    return PairAccuracy(float((network_output(z1, z1, rho) > 0).mean()), float((network_output(z1, z2, rho) < 0).mean()))
