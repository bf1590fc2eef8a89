"""Theorem 1 [Tong25] against stacked examples, its limits, and the spectrum expected of few symbols."""

import numpy as np
import pytest
from sweepkit.studies.tong25.theory.max_margin import (
    draw_examples,
    eigenvalues,
    empirical_margin,
    empirical_matrix,
    empirical_spectrum,
    halves_cosine,
    ideal_matrix,
    spectral_edges,
)


def drawn(n_symbols, d, n_examples, seed=0):
    return n_symbols, d, n_examples, np.random.default_rng(seed)


def test_the_ideal_has_two_eigenvalues_and_halves_that_agree_or_oppose():
    values, vectors = np.linalg.eigh(ideal_matrix(7))
    np.testing.assert_allclose(values, np.repeat([-1, 1], 7), atol=1e-14)
    np.testing.assert_allclose(halves_cosine(vectors), np.repeat([-1, 1], 7), atol=1e-13)
    np.testing.assert_allclose(eigenvalues(ideal_matrix(7)), values, atol=1e-14)


@pytest.mark.parametrize(("n_symbols", "d"), [(2, 6), (5, 5), (30, 4)])
def test_the_matrix_is_that_of_stacked_examples(n_symbols, d):
    s, u, v = draw_examples(*drawn(n_symbols, d, 80))
    rival = np.zeros((2 * d, 2 * d))
    for i, j in zip(u, v, strict=True):
        x = np.concatenate([s[i], s[j]])
        rival += 2 * d / 80 * (1 if i == j else -1) * np.outer(x, x)
    np.testing.assert_allclose(empirical_matrix(*drawn(n_symbols, d, 80)), rival, atol=1e-12)
    assert (u == v).sum() == 40 == (u == v)[:40].sum()


@pytest.mark.parametrize(("n_symbols", "d"), [(2, 6), (5, 5), (30, 4), (8, 50)])
def test_the_low_rank_spectrum_is_the_dense_one(n_symbols, d):
    matrix, spectrum = empirical_matrix(*drawn(n_symbols, d, 200)), empirical_spectrum(*drawn(n_symbols, d, 200))
    k = min(n_symbols, d)
    assert spectrum.eigenvalues.shape == (2 * k,) and spectrum.vectors.shape == (2 * d, 2 * k)
    padded = np.sort(np.concatenate([spectrum.eigenvalues, np.zeros(2 * (d - k))]))
    np.testing.assert_allclose(padded, eigenvalues(matrix), atol=1e-11)
    np.testing.assert_allclose(matrix @ spectrum.vectors, spectrum.vectors * spectrum.eigenvalues, atol=1e-11)


def test_many_symbols_and_examples_bring_the_theorem():
    d = 4
    # eigenvalues stray by 2 sqrt(d / L) [Marchenko-Pastur], and as entries have standard errors of about sqrt(4 / P), by the norm
    # 2 sqrt(2d) sqrt(4 / P) of a random symmetric matrix; twice as much for the extremes at so small a d
    for n_symbols, n_examples in ((200, 20_000), (2000, 200_000), (20_000, 2_000_000)):
        spectrum = empirical_spectrum(*drawn(n_symbols, d, n_examples))
        tolerance = 2 * (2 * np.sqrt(d / n_symbols) + 2 * np.sqrt(2 * d) * np.sqrt(4 / n_examples))
        np.testing.assert_allclose(spectrum.eigenvalues, np.repeat([-1, 1], d), atol=tolerance)
    assert tolerance < 0.1
    # angles stray by the tolerance, cosines by its square
    np.testing.assert_allclose(halves_cosine(spectrum.vectors), np.repeat([-1, 1], d), atol=tolerance**2)


def test_few_symbols_give_a_low_rank_and_large_eigenvalues():
    n_symbols, d, n_examples = 40, 400, 4_000_000
    values = empirical_spectrum(*drawn(n_symbols, d, n_examples)).eigenvalues
    low, high = spectral_edges(n_symbols, d)
    size = np.sort(np.abs(values))
    # how often a symbol occurs fluctuates by sqrt(P / L), 4 of those; the symbols' Gram matrix has norm (1 + sqrt(L / d))^2
    by_examples = 2 * d / n_examples * 4 * np.sqrt(n_examples / n_symbols) * (1 + np.sqrt(n_symbols / d)) ** 2
    by_symbols = high * (n_symbols - 1) ** (-2 / 3)  # fluctuations of the edges [Tracy-Widom]
    assert by_examples + by_symbols < low / 2
    assert size[1] < by_examples  # one pair is zero but for P: along the sum of all symbols
    assert size[2] > low - by_examples - by_symbols and size[-1] < high + by_examples + by_symbols
    # the L lambdas sum to d times a covariance's trace, about 1 with deviation sqrt(2 / (d (L - 1))), 4 of those; and P's part
    trace = np.abs(values).sum() / 2
    assert trace == pytest.approx(d, rel=4 * np.sqrt(2 / (d * (n_symbols - 1))) + by_examples * n_symbols / d)


def test_examples_of_fig_c1():
    n_symbols, d, n_examples = 64, 1024, 3000
    few = empirical_margin()
    assert few.spectrum.vectors.shape == (2 * d, 2 * n_symbols)
    # mean |s|^2 of the same examples' symbols less mean s_u . s_v: deviations sqrt(2 / (d L)) and sqrt(2 / (d P)); 4 of both
    assert few.diagonal[0] == pytest.approx(1, abs=4 * (np.sqrt(2 / (d * n_symbols)) + np.sqrt(2 / (d * n_examples))))
    # entries of d times a covariance of L symbols, in half of them, and counts' noise in all; from L^2 / 2 products of symbols
    variance = (1 / (n_symbols - 1) + 8 / n_examples) / 2
    assert few.rest[1] == pytest.approx(np.sqrt(variance), rel=np.sqrt(2) / n_symbols)
    # mean of all entries: 1 / (2d) times squares of L numbers in same, and of as many in different examples; 4 s.d.
    assert abs(few.rest[0]) < 4 * np.sqrt(4 / n_symbols) / (2 * d)
    # as documented, to the digits given there
    np.testing.assert_allclose([few.cosine_smallest, few.cosine_largest], [-0.981, 0.993], atol=5e-4)
    np.testing.assert_allclose(few.spectrum.eigenvalues[[0, -1]], [-29.6, 35.8], atol=0.05)
    many = empirical_margin(n_symbols, 256, 100 * n_examples)
    # tilts fall as P^(-1/2), so 1 - |cosine| by 100 for 100 times the examples; a factor 10 for the luck of two extreme vectors
    assert 1 - many.cosine_largest < (1 - few.cosine_largest) / 10
    assert 1 + many.cosine_smallest < (1 + few.cosine_smallest) / 10


@pytest.mark.parametrize(("n_symbols", "n_examples"), [(1, 10), (4, 11), (4, 0)])
def test_bad_sizes_are_named(n_symbols, n_examples):
    with pytest.raises(ValueError, match=f"L = {n_symbols} and P = {n_examples}"):
        draw_examples(*drawn(n_symbols, 3, n_examples))
