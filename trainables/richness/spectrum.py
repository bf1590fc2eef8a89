"""Eigenfunctions of the features' kernel, and how much of target and outputs the leading ones hold [Nam26 Eq. 5, 6, 9, App. C].

The paper omits 1/n in rho_k, and the square in Eq. 5 is a misprint: Pi(p) = 1 for a target within the features' span needs
<e|P e> = |P e|^2.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr_multiply

Array = np.ndarray[Any, Any]

SMALLEST = 1e-10
"""Eigenvalues below this share of the largest are rounding."""


class Eigenfunctions(NamedTuple):
    """The K eigenfunctions of the uncentred kernel Phi Phi' of the training sample, by falling eigenvalue."""

    rho: Array
    """(K,), eigenvalues; they add up to the mean of |Phi|^2."""
    directions: Array
    """(p, K): Phi(x) times these is the values at any inputs, of mean square 1 on the training sample."""


def eigenfunctions(features: Array, share: Array) -> Eigenfunctions | None:
    """The eigenfunctions of a training sample; None if all features are 0."""
    rows = np.sqrt(share)[:, None] * features.astype(np.float64)
    is_wide = len(rows) < rows.shape[1]
    values, vectors = np.linalg.eigh(rows @ rows.T if is_wide else rows.T @ rows)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > SMALLEST * max(values[0], 0.0)
    if not kept.any():
        return None
    rho, vectors = values[kept], vectors[:, kept]
    directions = rows.T @ (vectors / rho) if is_wide else vectors / np.sqrt(rho)
    return Eigenfunctions(rho, directions)


def constant_overlap(found: Eigenfunctions, features: Array, share: Array) -> float:
    """|<1|e_1>| on the training sample: 1 if the leading eigenfunction is the constant."""
    return float(abs(share @ features.astype(np.float64) @ found.directions[:, 0]))


def on_sample(found: Eigenfunctions, features: Array) -> Array:
    """The values (n, K) of the eigenfunctions on a fresh sample with these features. K is at most n: more functions span every
    sample."""
    return np.asarray(features.astype(np.float64) @ found.directions[:, : len(features)])


def qualities(functions: Array, *targets: Array) -> list[Array]:
    """`quality` of each of several arrays on one sample, by one decomposition."""
    spans = [_span(values) for values in targets]
    # Orthonormal columns Q whose first k span the first k functions. Q itself would take as long again as the decomposition.
    overlaps, _ = qr_multiply(functions, np.hstack(spans).T, mode="right")
    ends = np.cumsum([span.shape[1] for span in spans])[:-1]
    return [np.asarray(np.square(own).sum(0) / len(own)) for own in np.split(overlaps, ends)]


def quality(functions: Array, values: Array) -> Array:
    """Q(k) (K,): the share of the span of `values` (n, C) that the k-th eigenfunction adds to those before it, on a sample where
    `on_sample` gave these functions. Its sums Pi(k) lie in [0, 1]; with the network's own outputs it is the utilisation."""
    return qualities(functions, values)[0]


def _span(values: Array) -> Array:
    """Orthonormal columns (n, r) that span those of `values`."""
    values = values.astype(np.float64).reshape(len(values), -1)
    own, sizes, _ = np.linalg.svd(values, full_matrices=False)
    return np.asarray(own[:, sizes > sizes[0] * max(values.shape) * np.finfo(np.float64).eps])


def effective_dimension(values: Array) -> float:
    """1 + exp(entropy of values[1:] as shares): the number of directions, the first counted as one [Nam26 Eq. 9]."""
    rest = values[1:]
    if not (rest > 0).any():
        return 1.0
    q = rest[rest > 0] / rest.sum()
    return 1 + float(np.exp(-(q @ np.log(q))))
