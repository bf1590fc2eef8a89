"""Kernel ridge regression on strings of templates, and its closed form if strings share no tokens [Boix23 Sec. 4, Lemma 4.5].

K        kernel between the n training strings (n, n)
lambda   ridge: f minimises sum_i (f(x_i) - y_i)^2 + lambda |f|^2, of the kernel's norm
N        kernel between strings of templates that share no tokens (r, r)
own      kernel of a string of each template with itself (r,)
counts   training strings of each template (r,)
"""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

Array = np.ndarray[Any, Any]


def coefficients(gram: Array, targets: Array, ridge: float) -> Array:
    """c = (K + lambda)^-1 y (n,): the output at x is sum_i c_i K(x, x_i). LinAlgError if K + lambda is not positive definite."""
    return cho_solve(cho_factor(gram + ridge * np.eye(len(gram)), lower=True), targets)


def idealised(matrix: Array, own: Array, counts: Array, labels: Array, ridge: float) -> Array:
    """Outputs (r,) at new strings of each template, after regression on strings no two of which share a token of a wildcard.

    Then K = Z N Z^T + diag(own - N_ii), with Z (n, r) the templates of the strings, and f = N (D N + Lambda)^-1 D y by the
    push-through identity, D = diag(counts), Lambda = diag(lambda + own - N_ii).
    """
    weights = np.linalg.solve(counts[:, None] * matrix + np.diag(ridge + own - np.diag(matrix)), counts * labels)
    return matrix @ weights


def idealised_mse(matrix: Array, own: Array, P: int, labels: Array, ridge: float, draws: int = 0, seed: int = 0) -> float:
    """Mean square of label minus `idealised`, over templates, after P strings.

    Each template has P/r of them, or with `draws` the mean is over so many multinomial counts.
    """
    r = len(labels)
    counts = np.random.default_rng(seed).multinomial(P, np.full(r, 1 / r), draws) if draws else np.full((1, r), P / r)
    return float(np.mean([(idealised(matrix, own, n, labels, ridge) - labels) ** 2 for n in counts]))


def alike_mse(matrix: Array, own: Array, P: float, ridge: float) -> float:
    """`idealised_mse` of two templates with labels +1 and -1, N_00 = N_11 and one `own`: (1 + P (N_00 - N_01)/(2 Lambda))^-2,
    which is 1/4 at P = 2 Lambda/(N_00 - N_01). Where the two differ a little, it takes their means."""
    within, lam = np.diag(matrix).mean(), ridge + (own - np.diag(matrix)).mean()
    return float((1 + P * (within - matrix[0, 1]) / (2 * lam)) ** -2)
