"""D_LR = 1 - CKA of features and outputs, in closed form: known spectra, random ReLU features, collapsed classes [Nam26].

T        covariance kernel of the centred features; rho_k its eigenvalues, Tr T their sum, |T|^2 that of their squares
R        number of directions along which features vary, the rank of T
r        number of directions along which outputs vary
l        <f, T f>/<f, f> of a single output f, centred: D = 1 - l/|T| [Nam26 Eq. 4, App. E.1]
n, m     examples and neurons on which D is measured
s_k      eigenvalues of the outputs' covariance, equal in the paper's Eq. 4
kappa(u) E[relu(w.x) relu(w.y)]/(|x||y|), w ~ N(0, I_d), u = cos(x, y)
C, p     number of classes, of dimensions of the features
sigma    standard deviation, along each dimension, of features about the means of their classes
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

Array = np.ndarray[Any, Any]

ANGLES = 20_000
"""Angles of a quadrature, evenly spaced. The density of the angle in d = 1024 dimensions is 0.03 wide, that is 200 of them."""


class Alignment(NamedTuple):
    """One output beside its features, for any number of examples and neurons."""

    share: float
    """l."""
    trace: float
    """Tr T."""
    norm: float
    """|T|."""

    @property
    def participation(self) -> float:
        """(Tr T)^2/|T|^2, the number of directions along which features vary."""
        return (self.trace / self.norm) ** 2

    def d_lr(self, n: float = np.inf, m: float = np.inf) -> float:
        """D for n examples and m neurons drawn at random, to first order in PR/n and PR/m.

        Noise of the sample's T across f adds (Tr T)^2/n + (Tr T)^2/m to |T|^2; f is correlated with that of its own examples,
        which adds (Tr T - l)/n to l.
        """
        across = self.trace**2 - self.share**2
        share = self.share + (self.trace - self.share) / n
        return float(1 - share / np.sqrt(self.norm**2 + across * (1 / n + 1 / m)))


def of_white(r: Array | float, R: Array | float) -> Array:
    """D of features that vary equally along R directions, and outputs along r of these: 1 - sqrt(r/R)."""
    return np.asarray(1 - np.sqrt(np.asarray(r, float) / R))


def of_direction(rho: Array, k: int) -> float:
    """D of an output along the k-th eigenfunction, k = 1, 2, ...: 1 - rho_k/|rho|."""
    return float(1 - rho[k - 1] / np.linalg.norm(rho))


def bounds(rho: Array, sizes: Sequence[float] | Array) -> tuple[float, float]:
    """Least and largest D of outputs with the covariance's eigenvalues `sizes`, anywhere in the span of the features.

    Least where the outputs vary most along the largest rho_k, largest where along the smallest ones above 0 (von Neumann). Equal
    sizes are the paper's Eq. 4, and r sums of rho over sqrt(r)|rho| its bounds (Ky Fan). ValueError if there are more outputs
    than features.
    """
    falling, s = np.sort(np.asarray(rho, float))[::-1], np.sort(np.asarray(sizes, float))[::-1]
    falling = falling[falling > 0]
    if len(s) > len(falling):
        raise ValueError(f"{len(s)} directions of outputs do not lie in the {len(falling)} of the features")
    best, worst = falling[: len(s)], falling[::-1][: len(s)]
    norms = np.linalg.norm(falling) * np.linalg.norm(s)
    return float(1 - best @ s / norms), float(1 - worst @ s / norms)


def relu_kernel(u: Array) -> Array:
    """kappa(u) for a cosine u."""
    u = np.clip(u, -1, 1)
    return np.asarray((np.sqrt(1 - u**2) + u * (np.pi - np.arccos(u))) / (2 * np.pi))


def _moments(d: int) -> tuple[float, float]:
    """E kappa and E kappa^2 over pairs of directions: the angle has the density sin(t)^(d - 2)."""
    t = np.pi * (np.arange(ANGLES) + 0.5) / ANGLES
    density = np.sin(t) ** (d - 2)
    density /= density.sum()
    kappa = relu_kernel(np.cos(t))
    return float(density @ kappa), float(density @ kappa**2)


def of_relu_on_sphere(d: int) -> Alignment:
    """Random ReLU features, x uniform on the unit sphere in R^d, f = w.x. D is near 1 - 1/sqrt(d)."""
    mean, square = _moments(d)
    return Alignment(1 / (4 * d), 1 / 2 - mean, float(np.sqrt(square - mean**2)))


def of_relu_on_gaussian(d: int) -> Alignment:
    """Random ReLU features, x ~ N(0, I_d), f = w.x. The kernel |x||y| kappa grows with the norms, which centring does not take
    off: D is larger than on the sphere."""
    mean, square = _moments(d)
    length = np.sqrt(2) * np.exp(gammaln((d + 1) / 2) - gammaln(d / 2))  # E|x|
    norm2 = d**2 * square - 2 * d * (length * mean) ** 2 + (length**2 * mean) ** 2
    return Alignment(1 / 4, float(d / 2 - length**2 * mean), float(np.sqrt(norm2)))


def of_simplex(C: int, p: int, sigma: float) -> float:
    """D of features about C class means of length 1 with all angles equal, classes equally frequent, and one-hot outputs."""
    along = 1 / (C - 1) + sigma**2  # T along each of the C - 1 directions of the means
    return float(1 - 1 / (np.sqrt(C - 1) * np.sqrt((C - 1) * along**2 + (p - C + 1) * sigma**4)))


def nc1_of_simplex(C: int, sigma: float) -> float:
    """NC1 = Tr(S_W S_b^+)/C of these features [Papyan20]."""
    return sigma**2 * (C - 1) ** 2 / C
