"""Bayes optimal classifiers of the noisy same-different task [Tong25 S3.4, App. E].

L       number of training symbols s_i ~ N(0, I/d)
d       dimension of one symbol
sigma2  noise variance: noise on a coordinate has variance sigma2/d; 0 is the limit, taken at `LEAST_SIGMA2`
z1, z2  the two noisy symbols of an example, (n, d)
ratio   log p(z1, z2 | same) - log p(z1, z2 | different); classify same where it is positive

The generalising prior knows the symbols' distribution, the memorising prior only the training symbols. The integrals of App. E
are printed with variance sigma2/d for s; it is 1/d, as in their results. Factors common to both likelihoods are cancelled.
"""

from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc

from analysis.theory.estimate import Estimate
from analysis.theory.lengths import lengths

Array = np.ndarray[Any, Any]

LEAST_SIGMA2 = 1e-10
_CHUNK = 2**19  # numbers in one of the about eight (examples, L) arrays alive at a time: 4 MB each
_NODES = 200


def _noise(sigma2: Array | float) -> Array:
    if np.any(np.asarray(sigma2) < 0):
        raise ValueError(f"a variance is not negative: sigma2 = {sigma2}")
    return np.maximum(np.asarray(sigma2, dtype=float), LEAST_SIGMA2)


def _offset(noise: Array, d: int) -> Array:
    """The part of the generalising ratio that is the same for all examples, > 0."""
    return d / 2 * np.log1p(1 / (noise * (2 + noise)))


def generalising_log_ratio(z1: Array, z2: Array, sigma2: float) -> Array:
    """Ratio under the generalising prior, (n,), in the independent z1 + z2 and z1 - z2, so that small sigma2 costs no digits."""
    d, noise = z1.shape[-1], _noise(sigma2)
    plus, minus = ((z1 + z2) ** 2).sum(-1), ((z1 - z2) ** 2).sum(-1)
    return np.asarray(_offset(noise, d) + d / (4 * (1 + noise)) * (plus / (2 + noise) - minus / noise))


def memorising_log_ratio(z1: Array, z2: Array, symbols: Array, sigma2: float) -> Array:
    """Ratio under the memorising prior of `symbols` (L, d), (n,); exact at any sigma2, in O(n L d); ValueError for L < 2."""
    n_symbols, d = symbols.shape
    if n_symbols < 2:
        raise ValueError(f"different examples need 2 symbols, not L = {n_symbols}")
    scale = d / float(_noise(sigma2))
    half_norms = (symbols**2).sum(1) / 2
    rows = max(1, _CHUNK // n_symbols)
    parts = []
    for i in range(0, len(z1), rows):
        e, f = (scale * (z[i : i + rows] @ symbols.T - half_norms) for z in (z1, z2))
        parts.append(_log_ratio_of_logits(e, f))
    return np.log(n_symbols - 1) + np.concatenate(parts)


def _log_ratio_of_logits(e: Array, f: Array) -> Array:
    """log sum_i exp(e_i + f_i) - log sum_{i != j} exp(e_i + f_j) of each row; overwrites e and f.

    The symbol m of largest f is set apart: any other has at most half of sum_j exp f_j, so excluding it cancels no digits.
    """
    m = np.arange(len(f)), f.argmax(1)
    e_m, f_m = e[m], f[m]
    e[m] = f[m] = -np.inf
    same = np.logaddexp(e_m + f_m, _logsumexp(e + f))
    e_max, f_max = e.max(1), f.max(1)
    exp_e, exp_f = np.exp(e - e_max[:, None]), np.exp(f - f_max[:, None])
    rest = f_max + np.log(exp_f.sum(1))
    total = np.logaddexp(f_m, rest)
    shares = exp_e.sum(1) - np.exp(f_max - total) * np.einsum("ij,ij->i", exp_e, exp_f)
    different = np.logaddexp(e_m + rest, e_max + total + np.log(shares))
    return np.asarray(same - different)


def _logsumexp(x: Array) -> Array:
    top = x.max(1)
    return np.asarray(top + np.log(np.exp(x - top[:, None]).sum(1)))


def generalising_accuracy(sigma2: Array | float, d: int) -> Array:
    """Accuracy of the generalising classifier, exact by quadrature; no dependence on L.

    With q, q' independent chi-squares of d degrees of freedom and c the constant part, the ratio is c + (q - q') / (2 (1 +
    sigma2)) for same examples and c + q / (2 (2 + sigma2)) - q' / (2 sigma2) for different ones.
    """
    noise = _noise(sigma2)[..., None]
    c = _offset(noise, d)
    y, weights = lengths(d, _NODES)  # y = sqrt(q)
    same = gammainc(d / 2, y**2 / 2 + (1 + noise) * c)
    different = gammaincc(d / 2, noise * (y**2 / (2 * (2 + noise)) + c))
    return np.asarray((same + different) / 2 @ weights)


def memorising_accuracy(
    n_symbols: int,
    sigma2: float,
    d: int,
    *,
    n_examples: int = 512,
    n_draws: int = 8,
    on_training_symbols: bool = False,
    seed: int = 0,
) -> Estimate:
    """Accuracy of the memorising classifier, as networks are tested: by default on symbols drawn afresh for each example.

    Mean over `n_draws` >= 2 symbol sets with `n_examples` examples each, half same; the error is that of the mean over sets. For
    sigma2 = 0 and fresh symbols the limit calls an example same where both its symbols have the same nearest training symbol: all
    same examples are right, and different ones unless they share it.
    """
    if n_draws < 2 or n_examples < 2 or n_symbols < 2:
        raise ValueError(f"needs 2 of each: n_draws = {n_draws}, n_examples = {n_examples}, n_symbols = {n_symbols}")
    accuracies = []
    for rng in np.random.default_rng(seed).spawn(n_draws):
        symbols = rng.normal(0, 1 / np.sqrt(d), (n_symbols, d))
        half = n_examples // 2
        if on_training_symbols:
            u = rng.integers(n_symbols, size=2 * half)
            v = (u + rng.integers(1, n_symbols, size=2 * half)) % n_symbols
            first, second = symbols[u], symbols[v]
        else:
            first, second = rng.normal(0, 1 / np.sqrt(d), (2, 2 * half, d))
        second[:half] = first[:half]
        noise = rng.normal(0, np.sqrt(sigma2 / d), (2, *first.shape))
        is_called_same = memorising_log_ratio(first + noise[0], second + noise[1], symbols, sigma2) > 0
        accuracies.append((is_called_same[:half].mean() + (~is_called_same[half:]).mean()) / 2)
    return Estimate.of(accuracies)
