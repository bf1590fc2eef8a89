"""The low-rank measure D_LR and centred kernel alignment [Nam26 Eq. 4, App. E.1]; |.| is the Frobenius norm.

Means, norms and sums are taken in float64. Products of features, which take the time, are in the features' own precision: in
float32 they move D_LR by some 1e-7.
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

CONSTANT = 1e-12
"""Features whose centred norm is below this share of their norm are constant but for rounding."""


def centred(values: Array, share: Array) -> Array | None:
    """H X: rows less their mean over the sample, each times the root of its share, (n, k), in the precision of the values. None
    if they are constant or not finite."""
    found = np.array(values, np.float64).reshape(len(values), -1)
    with np.errstate(over="ignore", invalid="ignore"):  # of a network about to diverge; the size below tells
        whole = share @ np.einsum("ij,ij->i", found, found)
        found -= share @ found
        found *= np.sqrt(share)[:, None]
        size = np.vdot(found, found)
    if not np.isfinite(size) or size <= CONSTANT**2 * whole:
        return None
    return found.astype(values.dtype, copy=False) if np.issubdtype(values.dtype, np.floating) else found


def gram_norm(x: Array) -> float:
    """|X'X|, by the smaller of X'X and XX'."""
    return float(np.linalg.norm(_gram(x) if len(x) < x.shape[1] else _gram(x.T)))


def _gram(x: Array) -> Array:
    """XX' in float64."""
    return (x @ x.T).astype(np.float64, copy=False)


def rank(x: Array, most: int) -> int:
    """Rank of a centred array (n, k), at most `most`. Mostly the longest 2 `most` columns have it, which takes less time."""
    if x.shape[1] > 2 * most:
        longest = np.argsort(np.einsum("ij,ij->j", x, x))[-2 * most :]
        if np.linalg.matrix_rank(x[:, longest]) >= most:
            return most
    return min(most, int(np.linalg.matrix_rank(x)))


def cka(x: Array, y: Array) -> float:
    """Centred kernel alignment |X'Y|^2 / (|X'X| |Y'Y|) of centred arrays, in [0, 1] [Kornblith19]."""
    if len(x) < min(x.shape[1], y.shape[1]):  # <XX', YY'> = |X'Y|^2 takes fewer products then
        one, other = _gram(x), _gram(y)
        found = np.vdot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other))
    else:
        found = np.square(x.T @ y, dtype=np.float64).sum() / (gram_norm(x) * gram_norm(y))
    return min(float(found), 1.0)  # of equal arrays rounding gives more


def d_lr(features: Array, outputs: Array) -> float:
    """D_LR = 1 - CKA of centred features and outputs, in [0, 1]: 0 if the features vary equally along the outputs' directions and
    along no others, as in the richest training [Nam26 App. E.1, which gave the published numbers]."""
    return 1 - cka(features, outputs)


def d_lr_of_span(features: Array, outputs: Array, rank: int) -> float:
    """D_LR of the span of the outputs' `rank` leading directions Q, 1 - |X'Q|^2 / (|X'X| sqrt(rank)) [Nam26 Definition 1, Eq. 4].

    It equals `d_lr` if the outputs vary equally along these directions; so always for one output.
    """
    q = np.linalg.svd(outputs, full_matrices=False)[0][:, :rank]
    return max(0.0, 1 - float(np.square(features.T @ q, dtype=np.float64).sum()) / (gram_norm(features) * rank**0.5))


def participation(features: Array) -> float:
    """(Tr T)^2 / |T|^2 for the covariance T of centred features: the number of directions along which they vary."""
    return (float(np.square(features, dtype=np.float64).sum()) / gram_norm(features)) ** 2
