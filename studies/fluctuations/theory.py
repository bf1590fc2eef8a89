"""Spread of lazy networks over their initial weights at fixed data, to leading order in 1/width. Derived here.

m          width; P training examples X, targets y; x a test example, d inputs
k_i        one neuron's tangent kernel, relu(u) relu(u') + a^2 1(u > 0) 1(u' > 0) (x.x' + 1) with u = w.x + b, w ~ N(0, I/d),
           a, b ~ N(0, 1); the network's is K_m = (1/m) sum_i k_i + 1, and K = E k + 1 that at infinite width [Cho09]
f          K(x, X) K(X, X)^-1 y = k M y, what lazy training ends at; alpha = K(X, X)^-1 y, M = K(x, X) K(X, X)^-1
g_i        k_i(x, X) alpha - M k_i(X, X) alpha, how much neuron i bends f: f_m - f = (1/m) sum_i (g_i - E g) + O(1/m)
variance   Var f_m = Var(g)/m: the neurons are independent
shift      E f_m - f = (1/m) E[(M k_i(X, X) - k_i(x, X)) K(X, X)^-1 (k_i(X, X) - E k) alpha], of second order in k_i - E k
error      E (f_m - y)^2 = (f - y)^2 + (Var(g) + drift)/m, drift = 2 (f - y) m (E f_m - f). The width at which a lazy network
           has `factor` times the error of infinite width is (Var(g) + drift)/((factor - 1)(f - y)^2), means over test examples
           and data sets
The expansion is in the relative change of K along the smallest eigenvalues that the data see, so that it needs m (d + 2) >> P.
Rival: a spread that does not know the width, as that of features or data has none.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from analysis.theory.ridge_curves import hermite

Array = np.ndarray[Any, Any]

NEURONS = 1000
"""Neurons over which g is averaged for each data set: 5% of its variance, while data sets differ by 30%."""


class Spread(NamedTuple):
    """Width times the variance, width squared times the squared shift, the error at infinite width, and width times what the
    shift adds to it, as means over test examples."""

    variance: float
    shift: float
    error: float
    drift: float


class Expected(NamedTuple):
    """`Spread.variance`, as a mean over data sets with its standard error."""

    value: float
    error: float


def kernel(x: Array, others: Array) -> Array:
    """K (n, n') at infinite width."""
    d = x.shape[1]
    size, other = (np.sqrt((z**2).sum(1) / d + 1) for z in (x, others))
    product = x @ others.T
    cosine = np.clip((product / d + 1) / np.outer(size, other), -1, 1)
    angle = np.arccos(cosine)
    past = np.pi - angle
    return (np.outer(size, other) * (np.sin(angle) + past * cosine) + (product + 1) * past) / (2 * np.pi) + 1


def spread(x: Array, y: Array, unseen: Array, truths: Array, neurons: int = NEURONS, seed: int = 0) -> Spread:
    """The spread on one data set of inputs x (P, d), targets y (P,), and test examples (n, d), (n,). The shift's square is the
    product of its means over two halves of the neurons, so that it has no bias."""
    rng, d = np.random.default_rng(seed), x.shape[1]
    inverse = np.linalg.inv(kernel(x, x))
    M, alpha = kernel(unseen, x) @ inverse, inverse @ y
    w, b, a = rng.standard_normal((d, neurons)) / np.sqrt(d), rng.standard_normal(neurons), rng.standard_normal(neurons)

    def seen(z: Array) -> tuple[Array, Array, Array]:
        u = z @ w + b
        return np.maximum(u, 0), a * (u > 0), np.hstack([z, np.ones((len(z), 1))])

    ours, theirs = seen(x), seen(unseen)

    def applied(at: tuple[Array, Array, Array], v: Array) -> Array:
        """k_i(., X) v_i (n, neurons) for v (P, neurons) or one v (P, 1) for all."""
        active, gate, one = ours
        return at[0] * (active * v).sum(0) + at[1] * (at[2] @ (one.T @ (gate * v)))

    within = applied(ours, alpha[:, None])
    g = applied(theirs, alpha[:, None]) - M @ within
    back = inverse @ (within - within.mean(1, keepdims=True))
    shifts = M @ applied(ours, back) - applied(theirs, back)
    one, other = shifts[:, ::2].mean(1), shifts[:, 1::2].mean(1)
    off = M @ y - truths
    means = g.var(axis=1), one * other, off**2, 2 * off * shifts.mean(1)
    return Spread(*(float(each.mean()) for each in means))


@lru_cache(maxsize=64)
def of_hermite(degree: int, d: int, P: int, sets: int = 100, unseen: int = 64) -> Expected:
    """Width times the variance on task `hermite`, over data sets drawn here."""
    found = [one.variance for one in _drawn(degree, d, P, sets, unseen)]
    return Expected(float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(sets)))


@lru_cache(maxsize=256)
def onset_width(degree: int, d: int, P: int, factor: float, sets: int = 24, unseen: int = 400) -> float:
    """The width at which lazy networks have `factor` times the error of infinite width on task `hermite`, to leading order."""
    # Errors of data sets differ more than a few neurons tell of their variances: many sets of few neurons.
    means = Spread(*np.mean(_drawn(degree, d, P, sets, unseen, neurons=300), axis=0))
    return (means.variance + means.drift) / ((factor - 1) * means.error)


def _drawn(degree: int, d: int, P: int, sets: int, unseen: int, neurons: int = NEURONS) -> list[Spread]:
    found = []
    for seed in range(sets):
        rng = np.random.default_rng((seed, degree, d, P))
        x, tests = rng.standard_normal((P, d)), rng.standard_normal((unseen, d))
        found.append(spread(x, hermite(degree, x[:, 0]), tests, hermite(degree, tests[:, 0]), neurons, seed))
    return found
