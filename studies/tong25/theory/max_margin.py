"""The max-margin weights with quadratic activations [Tong25 Theorem 1, App. C.1, Fig. C1].

L     number of training symbols
d     dimension of one symbol
P     number of examples, half of them same
X     (2d/P) (X+^T X+ - X-^T X-), (2d, 2d), with same (different) examples as rows of X+ (X-); times 2d as in Fig. C1

The weights of neurons with a > 0 are the eigenvectors of X of largest eigenvalue, with a < 0 of smallest. For P, L -> infinity X
is `ideal_matrix`: eigenvalues 1 and -1, d each, with parallel and antiparallel halves.

At finite L the eigenvalues are not +-1, even for P -> infinity. Each symbol is then as often in same as in different examples, so
the diagonal blocks vanish, and the two others are d times the symbols' sample covariance. Hence eigenvalues +-lambda, with lambda
over the spectrum of a Wishart matrix: min(L - 1, d) pairs between (1 -+ sqrt(d / (L - 1)))^2 [Marchenko-Pastur], the rest zero.
For L << d that is a low rank and lambda about d / L; only L >> d brings +-1. The halves stay exactly (anti)parallel at any L;
finite P tilts them and spreads lambda. Fig. C1 has lambda from 9 to 25 for P -> infinity; one draw of its 3000 examples has
eigenvalues from -29.6 to 35.8, with cosines -0.981 and 0.993 of the extreme eigenvectors' halves.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Examples(NamedTuple):
    """Symbols (L, d) and the indices (P,) of the first and second symbol; the first P/2 examples are same."""

    symbols: Array
    u: Array
    v: Array


def draw_examples(n_symbols: int, d: int, n_examples: int, rng: np.random.Generator) -> Examples:
    """A drawn symbol set and examples from it, half same; ValueError for fewer than 2 symbols or odd `n_examples`."""
    if n_symbols < 2 or n_examples < 2 or n_examples % 2:
        raise ValueError(f"needs 2 symbols and an even number of examples, not L = {n_symbols} and P = {n_examples}")
    u = rng.integers(n_symbols, size=n_examples)
    shift = rng.integers(1, n_symbols, size=n_examples)
    shift[: n_examples // 2] = 0
    return Examples(rng.normal(0, 1 / np.sqrt(d), (n_symbols, d)), u, (u + shift) % n_symbols)


def ideal_matrix(d: int) -> Array:
    """X for P, L -> infinity, (2d, 2d): the identity in the two off-diagonal blocks."""
    return np.kron([[0.0, 1.0], [1.0, 0.0]], np.eye(d))


def _in_span(examples: Examples) -> tuple[Array, Array]:
    """X = basis core basis^T, orthonormal columns (2d, 2k), core (2k, 2k), k = min(L, d): examples lie in the symbols' span."""
    from scipy.sparse import csr_array

    (n_symbols, d), n_examples = examples.symbols.shape, len(examples.u)
    basis, r = np.linalg.qr(examples.symbols.T)
    signs = np.where(examples.u == examples.v, 1.0, -1.0)
    counts = csr_array((signs, (examples.u, examples.v)), (n_symbols, n_symbols))  # same minus different examples of each pair
    across = r @ counts @ r.T
    core = np.block([[r * counts.sum(1) @ r.T, across], [across.T, r * counts.sum(0) @ r.T]])
    return np.kron(np.eye(2), basis), 2 * d / n_examples * core


def empirical_matrix(n_symbols: int, d: int, n_examples: int, rng: np.random.Generator) -> Array:
    """X of drawn examples, (2d, 2d)."""
    basis, core = _in_span(draw_examples(n_symbols, d, n_examples, rng))
    return np.asarray(basis @ core @ basis.T)


def eigenvalues(matrix: Array) -> Array:
    """Eigenvalues of a symmetric matrix, ascending, by the dense method."""
    return np.asarray(np.linalg.eigvalsh(matrix))


class Spectrum(NamedTuple):
    """The 2 min(L, d) eigenvalues within the examples' span, ascending, and their eigenvectors as columns; others are zero."""

    eigenvalues: Array
    vectors: Array


def empirical_spectrum(n_symbols: int, d: int, n_examples: int, rng: np.random.Generator) -> Spectrum:
    """Spectrum of `empirical_matrix` for the same generator, through the span of the symbols: no 2d x 2d matrix is made."""
    basis, core = _in_span(draw_examples(n_symbols, d, n_examples, rng))
    values, vectors = np.linalg.eigh(core)
    return Spectrum(values, basis @ vectors)


def halves_cosine(vectors: Array) -> Array:
    """Cosine of the two halves of each column, (2d, n) -> (n,): 1 parallel, -1 antiparallel."""
    v1, v2 = np.split(np.asarray(vectors), 2)
    return np.asarray((v1 * v2).sum(0) / (np.linalg.norm(v1, axis=0) * np.linalg.norm(v2, axis=0)))


def spectral_edges(n_symbols: int, d: int) -> tuple[float, float]:
    """Least and largest |eigenvalue| other than 0 for P -> infinity: Marchenko-Pastur edges, sharp for large L and d."""
    ratio = np.sqrt(d / (n_symbols - 1))
    return float((1 - ratio) ** 2), float((1 + ratio) ** 2)


@dataclass(frozen=True)
class EmpiricalMargin:
    """Fig. C1 in numbers; `diagonal` and `rest` are (mean, standard deviation) of the entries that are 1 and 0 in the ideal."""

    spectrum: Spectrum
    cosine_largest: float
    cosine_smallest: float
    diagonal: tuple[float, float]
    rest: tuple[float, float]


def empirical_margin(n_symbols: int = 64, d: int = 1024, n_examples: int = 3000, seed: int = 0) -> EmpiricalMargin:
    """Spectrum, extreme weights and entries of one drawn X, by default of Fig. C1's size."""
    matrix = empirical_matrix(n_symbols, d, n_examples, np.random.default_rng(seed))
    spectrum = empirical_spectrum(n_symbols, d, n_examples, np.random.default_rng(seed))
    smallest, largest = halves_cosine(spectrum.vectors[:, [0, -1]])
    is_one = ideal_matrix(d) == 1
    diagonal, rest = ((float(x.mean()), float(x.std())) for x in (matrix[is_one], matrix[~is_one]))
    return EmpiricalMargin(spectrum, float(largest), float(smallest), diagonal, rest)
