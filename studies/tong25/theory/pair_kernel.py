"""The lazy kernel over all pairs of L symbols, without forming its L^4 entries.

s_u     symbols (L, d); G their Gram matrix, q_u = |s_u|^2, E = G with diagonal 0, E^j its Hadamard powers, E^0 = 1 - identity
(u, v)  the input (s_u; s_v), of length n_uv = sqrt(q_u + q_v); cos((u,v), (u',v')) = (G_uu' + G_vv')/(n_uv n_u'v')
C       dual coefficients (L, L), symmetric: f(x) = sum_uv C_uv K(x, (u,v))

Entries of K fall in three classes, each with a polynomial in the cosine of its own, fitted to the cosines that occur:
no symbol shared    cos ~ 1/sqrt(d):  sum_k a_k (n n')^(1-k) sum_j binom(k,j) E^j_uu' E^(k-j)_vv'
one shared, u = u'  cos ~ 1/2:        sum_k b_k (n n')^(1-k) sum_j binom(k,j) q_u^(k-j) E^j_vv', and alike for v = v'
both shared         cos = 1, exact:   n^2
so that K C is some tens of products of L x L matrices. Because the kernel does not change when both inputs are turned
around, f and C stay symmetric under u <-> v, which saves half of them.
"""

from dataclasses import dataclass
from math import comb
from typing import Any, Protocol

import numpy as np

from .lazy import ntk

Array = np.ndarray[Any, Any]

MOST_DENSE = 64
"""Most symbols for which the kernel is formed: 2080 unordered pairs."""
FIT_TOLERANCE = 1e-3
"""Root mean square error of a class's polynomial over the standard deviation of the kernel in that class."""
MOST_DEGREE = 14
MOST_ACTIVE = 2**27
"""Largest L^2 width that `DrawnPairs` takes: half a GB."""
FIT_SAMPLES = 100_000


class PairKernel(Protocol):
    """The kernel between training pairs, flat (n,), with the probability p and the label y of each, and between test pairs and
    these."""

    p: Array
    y: Array

    def product(self, c: Array) -> Array:
        """K c, (n,)."""

    def at(self, z1: Array, z2: Array, cs: Array) -> Array:
        """f (t, tests) on inputs (z1; z2), each (tests, d), for t sets of coefficients (t, n)."""

    def matrix(self, c: Array) -> Array:
        """C (L, L)."""


def pair_probabilities(n_symbols: int) -> Array:
    """p_uv (L, L): same with probability 1/2, else u != v uniform."""
    p = np.full((n_symbols, n_symbols), 0.5 / (n_symbols * (n_symbols - 1)))
    np.fill_diagonal(p, 0.5 / n_symbols)
    return p


class DensePairs:
    """The kernel as it is, over unordered pairs u <= v, each standing for the mean of its two orders; implements PairKernel."""

    def __init__(self, symbols: Array) -> None:
        self.symbols = symbols
        self.u, self.v = np.triu_indices(len(symbols))
        p = pair_probabilities(len(symbols))
        self.p = np.where(self.u == self.v, 1.0, 2.0) * p[self.u, self.v]
        self.y = (self.u == self.v).astype(float)
        self.kernel = self._rows(symbols[self.u], symbols[self.v])

    def product(self, c: Array) -> Array:
        return np.asarray(self.kernel @ c)

    def at(self, z1: Array, z2: Array, cs: Array) -> Array:
        parts = range(0, len(z1), 512)  # so that a block of the kernel stays small
        return np.concatenate([cs @ self._rows(z1[i : i + 512], z2[i : i + 512]).T for i in parts], axis=1)

    def matrix(self, c: Array) -> Array:
        out = np.zeros((len(self.symbols), len(self.symbols)))
        out[self.u, self.v] = c
        return (out + out.T) / 2

    def _rows(self, z1: Array, z2: Array) -> Array:
        """Kernel (n, pairs) between inputs and unordered pairs."""
        left, right = z1 @ self.symbols.T, z2 @ self.symbols.T
        q = (self.symbols**2).sum(1)
        norms = np.sqrt((z1**2).sum(1) + (z2**2).sum(1))[:, None] * np.sqrt(q[self.u] + q[self.v])
        out = ntk((left[:, self.u] + right[:, self.v]) / norms)
        out += ntk((left[:, self.v] + right[:, self.u]) / norms)
        out *= norms / 2
        return out


class DrawnPairs:
    """The tangent kernel of one network of finite width, weights w (2d, m) and a (m,), over ordered pairs, in float32.

    Implements PairKernel. Turning both inputs around changes this kernel, so that f and C are not symmetric. It is never formed:
    with `on` (L, L, m) where a neuron is active, K C is four passes over `on`, O(L^2 m).
    """

    def __init__(self, symbols: Array, w: Array, a: Array) -> None:
        n, d = symbols.shape
        if n * n * w.shape[1] > MOST_ACTIVE:
            raise ValueError(f"{n} symbols at width {w.shape[1]}: a finite width takes at most L^2 width = {MOST_ACTIVE}")
        self.symbols, self.w, self.a_squared = (x.astype(np.float32) for x in (symbols, w, a**2))
        self.p, self.y = pair_probabilities(n).ravel(), np.eye(n).ravel()
        self.gram = self.symbols @ self.symbols.T
        self.h1, self.h2 = self.symbols @ self.w[:d], self.symbols @ self.w[d:]
        self.on = (self.h1[:, None] > -self.h2).astype(np.float32)
        self.turned = self.on.transpose(1, 0, 2)

    def product(self, c: Array) -> Array:
        sums1, sums2, of_relu = self._sums(c)
        to1 = self.a_squared * (self.gram @ sums1) + of_relu * self.h1
        to2 = self.a_squared * (self.gram @ sums2) + of_relu * self.h2
        return np.asarray(((self.on @ to1[:, :, None])[..., 0] + (self.turned @ to2[:, :, None])[..., 0].T).ravel())

    def at(self, z1: Array, z2: Array, cs: Array) -> Array:
        z1, z2 = z1.astype(np.float32), z2.astype(np.float32)
        n, d = self.symbols.shape
        h = z1 @ self.w[:d] + z2 @ self.w[d:]
        sums1, sums2, of_relu = (np.array(x) for x in zip(*map(self._sums, cs), strict=True))
        on = (h > 0) * self.a_squared
        out = of_relu @ np.maximum(h, 0).T
        for z, sums in ((z1, sums1), (z2, sums2)):
            # x . V_i with V in the symbols' span: through n overlaps or through d coordinates, whichever are fewer.
            x, v = (z @ self.symbols.T, sums) if n < d else (z, self.symbols.T @ sums)
            out += ((on @ v.reshape(-1, on.shape[1]).T).reshape(len(z), *v.shape[:2]) * x[:, None]).sum(-1).T
        return np.asarray(out)

    def matrix(self, c: Array) -> Array:
        return c.reshape(self.gram.shape)

    def _sums(self, c: Array) -> tuple[Array, Array, Array]:
        """By neuron: sum_v C_uv on_uv (L, m), sum_u C_uv on_uv (L, m), and sum_uv C_uv relu(h_uv) (m,)."""
        of_pair = c.reshape(self.gram.shape).astype(np.float32)
        sums1 = (of_pair[:, None] @ self.on)[:, 0]
        sums2 = (of_pair.T[:, None] @ self.turned)[:, 0]
        return sums1, sums2, (self.h1 * sums1 + self.h2 * sums2).sum(0)


@dataclass(frozen=True)
class Polynomials:
    """Coefficients by power of the cosine: `apart` a_k where no symbol is shared, `shared` b_k where one is."""

    apart: Array
    shared: Array


class SeriesPairs:
    """The kernel by classes as the head of this module says, in float32; implements PairKernel."""

    def __init__(self, symbols: Array, rng: np.random.Generator) -> None:
        n = len(symbols)
        self.symbols = symbols.astype(np.float32)
        gram = symbols @ symbols.T
        q = gram.diagonal().copy()
        self.fit = fit_polynomials(gram, rng)
        self.p, self.y = pair_probabilities(n).ravel(), np.eye(n).ravel()
        self.norm = np.sqrt(q[:, None] + q).astype(np.float32)
        self.scales = [self.norm ** (1 - k) for k in range(max(len(self.fit.apart), len(self.fit.shared)))]
        self.q = q.astype(np.float32)[:, None]
        apart = (gram - np.diag(q)).astype(np.float32)
        self.powers = _powers(apart, max(len(self.fit.apart), len(self.fit.shared)) - 1)
        self.powers[0] = 1 - np.eye(n, dtype=np.float32)

    def product(self, c: Array) -> Array:
        norm, e = self.norm, self.powers
        c = c.reshape(norm.shape).astype(np.float32)
        out = norm**2 * c  # both symbols shared
        half = np.zeros_like(out)  # the terms that are added with their transpose
        for k in range(len(e)):
            a, b = (float(f[k]) if k < len(f) else 0.0 for f in (self.fit.apart, self.fit.shared))
            if a == b == 0:
                continue
            scale = self.scales[k]
            c_k = scale * c
            one = np.zeros_like(c)
            for j in range(1, k + 1):
                # E^0 leaves u = u' out of a_k; that part has the form of one shared symbol, and is taken off here.
                rows = b * comb(k, j) * self.q ** (k - j) - (a if j == k else 0.0)
                if b or j == k:
                    one += (rows * c_k) @ e[j]
            one += b * self.q**k * (c_k.sum(1, keepdims=True) - c_k)
            if k:
                one += a * (c_k.sum(0) @ e[k])
            for j in range(1, (k + 1) // 2):
                one += a * comb(k, j) * (e[j] @ c_k @ e[k - j]) if a else 0
            half += scale * one
            if a and k == 0:
                out += a * scale * (e[0] @ c_k @ e[0])
            elif a and k % 2 == 0:
                out += a * comb(k, k // 2) * scale * (e[k // 2] @ c_k @ e[k // 2])
        out += half + half.T
        return np.asarray(out.ravel())

    def at(self, z1: Array, z2: Array, cs: Array) -> Array:
        norm = np.sqrt((z1**2).sum(1) + (z2**2).sum(1)).astype(np.float32)
        degree = len(self.fit.apart) - 1
        left, right = (_powers(z.astype(np.float32) @ self.symbols.T, degree) for z in (z1, z2))
        out = np.zeros((len(cs), len(z1)), dtype=np.float32)
        for t, c in enumerate(cs):
            for k, a in enumerate(self.fit.apart):
                if a:
                    c_k = self.scales[k] * c.reshape(self.norm.shape).astype(np.float32)
                    of_k = right[k] @ c_k.sum(0)
                    for j in range(1, k + 1):
                        of_k += comb(k, j) * np.einsum("nv,nv->n", left[j] @ c_k, right[k - j])
                    out[t] += float(a) * norm ** (1 - k) * of_k
        return out

    def matrix(self, c: Array) -> Array:
        return c.reshape(self.norm.shape)


def fit_polynomials(gram: Array, rng: np.random.Generator) -> Polynomials:
    """Least squares over cosines of pairs as training draws them, with the least degree that meets FIT_TOLERANCE."""
    n, q = len(gram), gram.diagonal()

    def second(u: Array) -> Array:
        """v of pairs (u, v): u itself with probability 1/2."""
        return np.where(rng.random(FIT_SAMPLES) < 0.5, u, (u + rng.integers(1, n, FIT_SAMPLES)) % n)

    def cosines(u: Array, v: Array, u1: Array, v1: Array) -> Array:
        return np.asarray((gram[u, u1] + gram[v, v1]) / np.sqrt((q[u] + q[v]) * (q[u1] + q[v1])))

    u, u1 = rng.integers(0, n, (2, FIT_SAMPLES))
    v, v1 = second(u), second(u1)
    apart = cosines(u, v, u1, v1)[(u != u1) & (v != v1)]
    v1 = second(u)
    shared = cosines(u, v, u, v1)[v != v1]
    # K(u) - u/2 is even.
    even = _least_squares(apart, ntk(apart) - apart / 2, range(0, MOST_DEGREE + 1, 2))
    even = np.pad(even, (0, max(0, 2 - len(even))))
    even[1] = 0.5
    return Polynomials(even, _least_squares(shared, ntk(shared), range(MOST_DEGREE + 1)))


def _least_squares(x: Array, y: Array, powers: range) -> Array:
    """Coefficients (degree + 1,) of a polynomial with these powers, cut where the fit is good."""
    for last in range(2, len(powers) + 1):
        used = list(powers)[:last]
        design = x[:, None] ** np.array(used)
        found = np.linalg.lstsq(design, y)[0]
        if np.sqrt(np.mean((design @ found - y) ** 2)) <= FIT_TOLERANCE * y.std():
            break
    out = np.zeros(used[-1] + 1)
    out[used] = found
    return out


def _powers(x: Array, degree: int) -> list[Array]:
    """Hadamard powers 0..degree."""
    out = [np.ones_like(x)]
    for _ in range(degree):
        out.append(out[-1] * x)
    return out


def pair_kernel(symbols: Array, rng: np.random.Generator) -> PairKernel:
    """The infinitely wide kernel in the form that suits the number of symbols."""
    return DensePairs(symbols) if len(symbols) <= MOST_DENSE else SeriesPairs(symbols, rng)
