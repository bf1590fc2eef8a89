"""Kernel ridge regression on strings, against its closed forms and known curves."""

import numpy as np
import pytest

from sweepkit.strings.kernel import Kernel
from sweepkit.strings.patterns import parsed, wildcards
from sweepkit.strings.ridge import alike_mse, coefficients, idealised, idealised_mse

RIDGE = 1e-4


def strings(rng, patterns, n, first, size):
    """n strings over the tokens first, ..., first + size - 1, and labels +1 of the first template, -1 of the second."""
    which = rng.integers(0, 2, n)
    drawn = [first + rng.permutation(size)[: max(map(len, map(wildcards, patterns)))] for _ in range(n)]
    return np.array([[tokens[one] for one in patterns[w]] for w, tokens in zip(which, drawn, strict=True)]), 1.0 - 2 * which


def mse_of(pair, beta, position, activation, P, n_sets=3):
    """Mean over training sets and its standard error, of 1000 strings of 100 other tokens."""
    patterns = tuple(map(parsed, pair.split("/")))
    kernel, found = Kernel(patterns, beta, position, activation), []
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, P])
        (x, y), (unseen, labels) = strings(rng, patterns, P, 0, P), strings(rng, patterns, 1000, P, 100)
        outputs = kernel.gram(unseen, x) @ coefficients(kernel.gram(x, x), y, RIDGE)
        found.append(((outputs - labels) ** 2).mean())
    return np.mean(found), np.std(found, ddof=1) / n_sets**0.5


MATRIX, OWN = np.array([[0.5, 0.3, 0.1], [0.3, 0.6, 0.2], [0.1, 0.2, 0.4]]), np.array([0.9, 1.0, 0.7])
LABELS = np.array([1.0, -0.5, 2.0])


def test_the_idealised_estimator_is_regression_where_no_token_is_shared():
    counts = np.array([3, 1, 5])
    which = np.repeat(np.arange(3), counts)
    gram = MATRIX[np.ix_(which, which)] + np.diag(OWN - np.diag(MATRIX))[np.ix_(which, which)] * np.eye(len(which))
    exact = MATRIX[:, which] @ coefficients(gram, LABELS[which], 0.05)
    np.testing.assert_allclose(idealised(MATRIX, OWN, counts, LABELS, 0.05), exact, rtol=1e-12)


def test_many_strings_give_the_labels_and_a_template_without_strings_does_not():
    many = idealised(MATRIX, OWN, np.full(3, 10**9), LABELS, 1e-9)
    np.testing.assert_allclose(many, LABELS, atol=1e-7)  # Lambda/(n N) is 1e-9 here, times the condition of N, 10
    lacking = idealised(MATRIX, OWN, np.array([10**9, 10**9, 0]), LABELS, 1e-9)
    np.testing.assert_allclose(lacking[:2], LABELS[:2], atol=1e-7)
    assert abs(lacking[2] - LABELS[2]) > 1


def test_two_like_templates_have_a_closed_form():
    matrix, own, labels = np.array([[0.5, 0.45], [0.45, 0.5]]), np.array([0.8, 0.8]), np.array([1.0, -1.0])
    for P in (2, 64, 1000):
        assert alike_mse(matrix, own, P, 0.01) == pytest.approx(idealised_mse(matrix, own, P, labels, 0.01), rel=1e-12)
    assert alike_mse(matrix, own, 2 * 0.31 / 0.05, 0.01) == pytest.approx(0.25)
    # Unequal counts favour one label: the error grows, by a share of 1/P or so.
    assert 0 < idealised_mse(matrix, own, 64, labels, 0.01, draws=200) / alike_mse(matrix, own, 64, 0.01) - 1 < 5 / 64


def test_singular_kernels_are_refused_only_without_a_ridge():
    ones = np.ones((3, 3))
    with pytest.raises(np.linalg.LinAlgError):
        coefficients(ones, np.ones(3), 0.0)
    np.testing.assert_allclose(ones @ coefficients(ones, np.ones(3), 1e-6), 1, atol=1e-6)


@pytest.mark.parametrize(("pair", "beta", "activation", "curve"), [
    ("aba/abb", 1, "cos", (0.845, 0.534)), ("aba/abb", 4, "cos", (0.559, 0.191)),
    ("aabb/abab", 4, "cos", (0.577, 0.191)), ("aba/abb", 16, "relu", (0.292, 0.059)),
])  # fmt: skip
def test_known_curves(pair, beta, activation, curve):
    """Of another computation, means of three sets to three digits. Its sets scatter as ours, and its kernel has errors of 1% in
    N_00 - N_01, which are 2% of sqrt(MSE) at worst: below 0.03 of the MSE."""
    for P, known in zip((64, 256), curve, strict=True):
        mean, error = mse_of(pair, beta, 1, activation, P)
        assert mean == pytest.approx(known, abs=0.03 + 3 * error), P


@pytest.mark.parametrize(("activation", "curve"), [("cos", (0.596, 0.210, 0.031)), ("relu", (0.479, 0.129, 0.015))])
def test_known_values_of_the_closed_form(activation, curve):
    """To 1% of N_00 - N_01, which are 2% of the MSE's square root at most, 4% of itself."""
    kernel = Kernel((parsed("aba"), parsed("abb")), 4, 1, activation)
    found = [alike_mse(kernel.matrix, kernel.own, P, RIDGE) for P in (64, 256, 1024)]
    np.testing.assert_allclose(found, curve, rtol=0.04, atol=5e-4)
    exact, error = mse_of("aba/abb", 4, 1, activation, 256)
    assert exact < found[1] + error  # shared tokens help


def test_without_positions_permuted_templates_stay_unknown():
    for P in (16, 64):
        mean, _ = mse_of("aba/abb", 4, 0, "cos", P)
        assert 1 <= mean < 1 + 3 / P**0.5  # the outputs are near their mean: it is 1 plus the square of that mean
    found = [mse_of("aa/ab", 4, 0, "cos", P)[0] for P in (16, 128)]
    assert found[1] < found[0] / 2  # .85 and some .25
