"""Measures on the samples of one posterior; integrated readouts are averaged exactly given the hidden weights [Rubin25 Eq. 3,
App. F].

f      output on fresh inputs (B, n), one row per chain
A_f    <f, y>/<y, y>: <f, y> is estimated on these inputs, <y, y> set to 1, its value for every teacher. An estimate of <y, y>
       would be A_f's main error: on 512 inputs the mean square of He_3 is off by sqrt(92/512) = 0.4, because of a few inputs far
       out, where f has long saturated
c      overlaps of a layer's neurons with the direction on which they specialise (B, N), in standard deviations of the prior
mu     c/sqrt(fan-in): component of a neuron's weights along that direction; their prior variance is 1/fan-in [Rubin25 App. E.2]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np

from trainables.basics import Array

OUTLIER = 3.0
"""A neuron specialises where |c| is beyond this many standard deviations of the prior [Rubin25 App. F]."""
OVERLAP_EDGES = np.linspace(-30, 30, 121)
"""Bin edges of the histogram of c; the outermost bins also count overlaps beyond the edges."""


def alignment(f: Array, y: Array) -> Array:
    """A_f (B,) of outputs (B, n) on targets (n,) of unit power. For logits it is the mean margin, with no upper bound."""
    return f @ y / len(y)


def accuracy(f: Array, y: Array) -> Array:
    """Share (B,) of outputs (B, n) with the sign of labels (n,) +1 and -1; NaN without inputs."""
    return (f * y > 0).mean(axis=1) if len(y) else np.full(len(f), np.nan)


def foremost(c: Array) -> Array:
    """The overlap of largest size of each neuron (B, N), from its overlaps with K directions (B, K, N)."""
    return np.take_along_axis(c, np.abs(c).argmax(axis=1, keepdims=True), axis=1)[:, 0]


def judged(overlaps: Sequence[Array], fan_ins: Sequence[int]) -> Array:
    """Specialised neurons of each hidden layer, then their |mu|, 0 if there are none: (2 layers, B) of c (B, N) of each layer."""
    beyond = [np.where(np.abs(c) > OUTLIER, c, 0.0) for c in overlaps]
    squares = [np.maximum((c**2).sum(axis=1), np.finfo(float).tiny) for c in beyond]
    sizes = [np.sqrt((c**4).sum(axis=1) / c2 / n) for c, c2, n in zip(beyond, squares, fan_ins, strict=True)]
    return np.array([*((c != 0).sum(axis=1) for c in beyond), *sizes])


def histogram(c: Array) -> Array:
    """Number of neurons in each bin of OVERLAP_EDGES, int64 (bins,)."""
    inside = np.nextafter(OVERLAP_EDGES[-1], 0)
    return np.histogram(np.clip(c, -inside, inside), OVERLAP_EDGES)[0]


@dataclass
class Means:
    """Sums over the samples of all chains after burn-in; a sample is one chain at one evaluation."""

    n: int
    f: Array
    """Sum of f (n_test,)."""
    overlap: Array
    """First-layer neurons in each bin of OVERLAP_EDGES, summed."""
    specialised: Array
    """Specialised neurons of each hidden layer, summed."""
    powers: Array
    """c^2 and c^4 of the specialised neurons, summed (2, layers)."""

    @classmethod
    def none(cls, n_test: int, n_layers: int) -> "Means":
        """Sums over no samples yet."""
        return cls(0, np.zeros(n_test), np.zeros(len(OVERLAP_EDGES) - 1, np.int64), np.zeros(n_layers), np.zeros((2, n_layers)))

    def add(self, f: Array, overlaps: list[Array]) -> None:
        """Add one evaluation of all chains: f (B, n_test) and c (B, N) of each hidden layer."""
        self.n += len(f)
        self.f = self.f + f.sum(axis=0)
        self.overlap = self.overlap + histogram(overlaps[0])
        self.specialised = self.specialised + [(np.abs(c) > OUTLIER).sum() for c in overlaps]
        self.powers = self.powers + [[(c[np.abs(c) > OUTLIER] ** k).sum() for c in overlaps] for k in (2, 4)]

    def magnitudes(self, fan_ins: Sequence[int]) -> tuple[float, ...]:
        """|mu| of each layer's specialised neurons: the root of the mean of mu^2 with weights mu^2; NaN if there are none.

        A ReLU neuron's share in f has the same weight. Neurons that chance alone takes beyond OUTLIER, N/370 of a layer of N for
        each direction, then count little.
        """
        return tuple(sqrt(c4 / c2 / n) if c2 else nan for c2, c4, n in zip(*self.powers, fan_ins, strict=True))
