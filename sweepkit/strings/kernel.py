"""Kernel of the wide random transformer whose last layer alone is trained, and what it knows of templates [Boix23 Sec. 4].

K_trans(X, Y)   E[phi(u) phi(v)], (u, v) ~ N(0, [[K_a(X, X), K_a(X, Y)], [K_a(Y, X), K_a(Y, Y)]]); K_a: templates.attention
phi             cos(b1 t + b2), relu(t) or erf(t)
N               N_ij = K_trans of a string of template i and one of template j that share no wildcard's token; kernel regression
                learns all labels of the templates if N is not singular [Lemma 4.5]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from sweepkit.strings.attention import Attention, Shared, attention
from sweepkit.strings.patterns import Pattern, numbered, spelled, wildcards

Array = np.ndarray[Any, Any]
Activation = Literal["cos", "relu", "erf"]
ROWS = 512
"""Rows of a Gram matrix that are looked up at once."""


def dual(activation: Activation, kxx: Array, kxy: Array, kyy: Array, b1: float = 1.0, b2: float = 0.5) -> Array:
    """E[phi(u) phi(v)] of centred normal u, v with variances kxx, kyy and covariance kxy, of any shapes that go together.

    cos from cos a cos b = (cos(a - b) + cos(a + b)) / 2; relu: arc-cosine kernel of order 1; erf: arcsine kernel.
    """
    if activation == "cos":
        equal, opposite = (np.exp(-(b1**2) * ((kxx + kyy) / 2 - sign * kxy)) for sign in (1, -1))
        return (equal + np.cos(2 * b2) * opposite) / 2
    if activation == "relu":
        norms = np.sqrt(kxx * kyy)
        angle = np.arccos(np.clip(kxy / norms, -1, 1))
        return norms * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
    return 2 / np.pi * np.arcsin(2 * kxy / np.sqrt((1 + 2 * kxx) * (1 + 2 * kyy)))


@dataclass(frozen=True)
class Kernel:
    """K_trans of the strings of some templates of one length. K_a is computed at first use, and kept."""

    patterns: tuple[Pattern, ...]
    beta: float = 4.0
    position: float = 1.0
    activation: Activation = "cos"
    b1: float = 1.0
    b2: float = 0.5

    @property
    def attention(self) -> Attention:
        """K_a of these templates."""
        return attention(self.patterns, self.beta, self.position)

    def between(self, i: int, j: int, shared: Shared = ()) -> float:
        """K_trans of a string of template i and one of template j that have the tokens of these wildcards in common."""
        of = self.attention
        kxx, kxy, kyy = np.array(of.own(i)), np.array(of.between(i, j, shared)), np.array(of.own(j))
        return float(dual(self.activation, kxx, kxy, kyy, self.b1, self.b2))

    @property
    def own(self) -> Array:
        """K_trans of a string of each template with itself: (r,)."""
        shared = [tuple((one, one) for one in wildcards(pattern)) for pattern in self.patterns]
        return np.array([self.between(i, i, of) for i, of in enumerate(shared)])

    @property
    def matrix(self) -> Array:
        """N (r, r)."""
        r = range(len(self.patterns))
        return np.array([[self.between(i, j) for j in r] for i in r])

    @property
    def least_eigenvalue(self) -> float:
        """The smallest eigenvalue of N: 0 if some labels of the templates cannot be learnt."""
        return float(np.linalg.eigvalsh(self.matrix)[0])

    def gram(self, x: Array, y: Array, regular: Sequence[str] = ()) -> Array:
        """K_trans (n, m) between strings (n, k) and strings (m, k) of these templates, as whole numbers.

        The tokens 0, 1, ... are the regular ones of these texts, and no string has them in place of a wildcard. ValueError if a
        string is of no template here.
        """
        found = np.empty((len(x), len(y)))
        ours, theirs = self._sorted(x, regular), self._sorted(y, regular)
        for i, (rows, u) in enumerate(ours):
            for j, (columns, v) in enumerate(theirs):
                if not len(rows) or not len(columns):
                    continue
                table = self._table(i, j)
                for start in range(0, len(rows), ROWS):
                    some = slice(start, start + ROWS)
                    found[np.ix_(rows[some], columns)] = table[_shared_code(u[some], v)]
        return found

    def own_of(self, x: Array, regular: Sequence[str] = ()) -> Array:
        """K_trans of each of the strings (n, k) with itself: (n,)."""
        found = np.empty(len(x))
        for value, (rows, _) in zip(self.own, self._sorted(x, regular), strict=True):
            found[rows] = value
        return found

    def _sorted(self, strings: Array, regular: Sequence[str]) -> list[tuple[Array, Array]]:
        """For each template the places of its strings (n,), and the tokens of its wildcards there (n, w)."""
        patterns = [pattern_of(string, regular) for string in strings]
        if strange := set(patterns) - set(self.patterns):
            raise ValueError(f"a string of template {spelled(min(strange, key=str))}, which is none of this kernel's")
        found = []
        for pattern in self.patterns:
            rows = np.flatnonzero([one == pattern for one in patterns])
            found.append((rows, strings[rows][:, [pattern.index(one) for one in wildcards(pattern)]]))
        return found

    def _table(self, i: int, j: int) -> Array:
        """K_trans of strings of templates i and j by `_shared_code`; NaN for codes that no strings have."""
        ours, theirs = wildcards(self.patterns[i]), wildcards(self.patterns[j])
        table = np.full((len(theirs) + 1) ** len(ours), np.nan)
        for digits in product(range(len(theirs) + 1), repeat=len(ours)):
            shared = tuple((a, theirs[digit - 1]) for a, digit in zip(ours, digits, strict=True) if digit)
            if len({b for _, b in shared}) == len(shared):
                code = sum(digit * (len(theirs) + 1) ** place for place, digit in enumerate(digits))
                table[code] = self.between(i, j, shared)
        return table


def _shared_code(u: Array, v: Array) -> Array:
    """Equalities between tokens of wildcards (n, w) and (m, w'), as a number (n, m).

    Its digits to the base w' + 1 say, for each wildcard of the first, 0 or 1 + the place of the second's that has its token.
    """
    code = np.zeros((len(u), len(v)), np.int32)
    for a in range(u.shape[1]):
        for b in range(v.shape[1]):
            code += (u[:, a, None] == v[None, :, b]) * np.int32((b + 1) * (v.shape[1] + 1) ** a)
    return code


def pattern_of(string: Array, regular: Sequence[str] = ()) -> Pattern:
    """The template of a string of whole numbers (k,), whose tokens 0, 1, ... are the regular ones of these texts."""
    return numbered(tuple(regular[token] if token < len(regular) else token for token in string.tolist()))
