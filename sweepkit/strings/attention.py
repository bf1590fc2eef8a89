"""Covariance K_a of what the attention of a wide random transformer makes of two strings [Boix23 Sec. 4, App. on its kernel].

X, Y        strings of k tokens, then CLS, a token that stands nowhere else: one-hot rows, k + 1 of them
beta        inverse temperature of the softmax
position    gamma, the weight of the positions beside the tokens
K_a(X, Y)   E[smax(beta m(X))^T (X Y^T + gamma^2 I) smax(beta m(Y))], m(X)_i = z_(x_i) + gamma p_i, all z and p ~ N(0, 1)

Tokens are exchangeable, so K_a depends on the templates of X and Y and on which wildcards share a token. The mean over z of
wildcards is a Gauss-Hermite rule, the same for each; that over z of regular tokens and CLS and over p is of scrambled Sobol
points, the same for all strings. The computed K_a is therefore exact for another law of z and p: whatever its error, renaming
tokens leaves it, and its Gram matrices are positive semidefinite.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from math import factorial
from typing import Any

import numpy as np

from sweepkit.strings.patterns import Pattern, regular, wildcards

Array = np.ndarray[Any, Any]
Shared = tuple[tuple[int, int], ...]
"""Pairs of wildcards, of the first and of the second template, that have the same token."""

NODES = (1, 32, 12, 10, 8, 6)
"""Gauss-Hermite nodes of each wildcard, by the largest number of wildcards of a template. With 12 the error of aba/abb at
gamma = 1 is 2e-5 at beta = 4, 1e-4 where all tokens are shared, and 3e-3 at beta = 16."""
POINTS = (13, 11, 11, 9, 6, 3)
"""log2 of the Sobol points of a scrambling, by that number. For aba/abb at gamma = 1 they leave a standard error of 4e-5 at
beta = 1 and 2e-4 at 4; of N_00 - N_01, whose errors go together, 4e-6 and 7e-5."""
SCRAMBLINGS = 8
"""Independent scramblings, whose scatter tells the error."""
MOST_WILDCARDS = len(NODES) - 1
AT_ONCE = 2**23
"""Numbers of the arrays that are held at once."""


@dataclass(frozen=True)
class Attention:
    """K_a of all pairs of strings of some templates, as a table.

    `values` (SCRAMBLINGS, t, t) has a row and a column for each entry of `entries`: a template's number, and those of its
    wildcards whose tokens the other string has as well. The first wildcard of a row's entry shares its token with the first of
    the column's, and so on; where one names more than the other, the value is NaN.
    """

    patterns: tuple[Pattern, ...]
    entries: tuple[tuple[int, tuple[int, ...]], ...]
    values: Array

    def between(self, i: int, j: int, shared: Shared = ()) -> float:
        """K_a of a string of template i and one of template j that have the tokens of these wildcards in common."""
        return float(self._of_scramblings(i, j, shared).mean())

    def error(self, i: int, j: int, shared: Shared = ()) -> float:
        """Standard error of `between`, without that of the Gauss-Hermite rule."""
        return float(self._of_scramblings(i, j, shared).std(ddof=1) / SCRAMBLINGS**0.5)

    def own(self, i: int) -> float:
        """K_a of a string of template i with itself."""
        return self.between(i, i, tuple((one, one) for one in wildcards(self.patterns[i])))

    @cached_property
    def _places(self) -> dict[tuple[int, tuple[int, ...]], int]:
        return {entry: place for place, entry in enumerate(self.entries)}

    def _of_scramblings(self, i: int, j: int, shared: Shared) -> Array:
        ours, theirs = tuple(a for a, _ in shared), tuple(b for _, b in shared)
        return self.values[:, self._places[i, ours], self._places[j, theirs]]


@lru_cache(maxsize=64)
def attention(patterns: tuple[Pattern, ...], beta: float, position: float) -> Attention:
    """K_a of all pairs of strings of these templates, all of one length. ValueError if a template has too many wildcards.

    Two templates with two wildcards take a second or two. More wildcards take longer, and have larger errors (`Attention.error`).
    """
    from scipy.stats import norm, qmc  # half a second to load, which plans do without

    most = max(len(wildcards(pattern)) for pattern in patterns)
    if most > MOST_WILDCARDS:
        raise ValueError(f"the kernel is computed for at most {MOST_WILDCARDS} wildcards, and a template here has {most}")
    known, entries, length = regular(patterns), _entries(patterns), len(patterns[0])
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES[most])
    weights /= weights.sum()
    sizes = [[place for place, (_, order) in enumerate(entries) if len(order) == size] for size in range(most + 1)]
    n_features = most + len(known) + 1 + length + 1
    step = max(1, AT_ONCE // (len(patterns) * factorial(most) * n_features * len(nodes) ** most))
    values = np.full((SCRAMBLINGS, len(entries), len(entries)), np.nan)
    for scrambling, gram in enumerate(values):
        for places in sizes:
            gram[np.ix_(places, places)] = 0
        n_dims = len(known) + 1 + (length if position else 0)
        points = norm.ppf(qmc.Sobol(n_dims, seed=scrambling).random_base2(POINTS[most]))
        for start in range(0, len(points), step):
            some = points[start : start + step]
            masses = [_masses(pattern, known, some, nodes, beta, position) for pattern in patterns]
            for places in sizes:
                chosen = [entries[place] for place in places]
                rows = np.stack([_features(masses[i], patterns[i], order, weights, position, known) for i, order in chosen])
                gram[np.ix_(places, places)] += rows @ rows.T / len(points)
    return Attention(patterns, entries, values)


def _entries(patterns: Sequence[Pattern]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Each template's number with each selection of its wildcards, in each order."""
    found = list[tuple[int, tuple[int, ...]]]()
    for number, pattern in enumerate(patterns):
        own = wildcards(pattern)
        for size in range(len(own) + 1):
            found += [(number, order) for some in combinations(own, size) for order in permutations(some)]
    return tuple(found)


def _masses(pattern: Pattern, known: list[str], points: Array, nodes: Array, beta: float, position: float) -> Array:
    """smax(beta m) of strings of a template (k + 1, n, q, ..., q), with an axis of nodes for each wildcard.

    `points` (n, dims) hold z of the regular tokens, m of CLS by its deviation, and p of the k places if `position` is not 0.
    """
    own = wildcards(pattern)
    m = np.zeros((len(pattern) + 1, len(points), *(len(nodes),) * len(own)))

    def outer(column: Array) -> Array:
        return column.reshape(-1, *(1,) * len(own))

    for place, token in enumerate(pattern):
        if position:
            m[place] += outer(position * points[:, len(known) + 1 + place])
        if isinstance(token, str):
            m[place] += outer(points[:, known.index(token)])
        else:
            m[place] += nodes.reshape([-1 if one == token else 1 for one in own])
    m[-1] += outer((1 + position**2) ** 0.5 * points[:, len(known)])
    m *= beta
    m -= m.max(0)
    np.exp(m, out=m)
    m /= m.sum(0)
    return m


def _features(
    masses: Array, pattern: Pattern, order: tuple[int, ...], weights: Array, position: float, known: list[str]
) -> Array:
    """One row, whose product with another string's is the sum over the points of their K_a.

    It holds the mean masses, given z of the wildcards in `order`, of each of them, of each regular token and CLS and, times
    gamma, of each place.
    """
    own = wildcards(pattern)
    for axis in reversed(range(len(own))):
        if own[axis] not in order:
            masses = np.tensordot(masses, weights, axes=(axis + 2, 0))
    kept = [one for one in own if one in order]
    masses = masses.transpose(0, 1, *(2 + kept.index(one) for one in order))
    for axis in range(len(order)):
        masses = masses * np.sqrt(weights).reshape([-1 if axis == at else 1 for at in range(len(order))])
    of_tokens = [masses[[one == token for one in pattern] + [False]].sum(0) for token in (*order, *known)]
    return np.concatenate([*of_tokens, masses[-1], *(position * masses)], axis=None)
