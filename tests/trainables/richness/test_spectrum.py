"""Eigenfunctions, quality and utilisation of features whose spectrum is known [Nam26]."""

import numpy as np
import pytest

from trainables.richness.spectrum import constant_overlap, effective_dimension, eigenfunctions, on_sample, quality


def even(n):
    return np.full(n, 1 / n)


@pytest.mark.parametrize(("n", "p"), [(400, 12), (8, 12)])
def test_eigenvalues_add_up_and_functions_are_orthonormal(n, p):
    features = np.random.default_rng(0).standard_normal((n, p)) + 0.5
    found = eigenfunctions(features, even(n))
    assert found.rho.sum() == pytest.approx(np.square(features).sum(1).mean())
    assert np.all(np.diff(found.rho) <= 0) and len(found.rho) == min(n, p)
    on_train = features @ found.directions
    assert on_train.T @ on_train / n == pytest.approx(np.eye(len(found.rho)), abs=1e-10)
    kernel = (on_train * found.rho) @ on_train.T
    assert kernel == pytest.approx(features @ features.T, abs=1e-10)


def test_all_of_a_target_that_the_features_span_is_found():
    rng = np.random.default_rng(1)
    train, fresh = rng.standard_normal((300, 20)), rng.standard_normal((500, 20))
    found = eigenfunctions(train, even(300))
    for values in (fresh @ rng.standard_normal((20, 3)), fresh @ rng.standard_normal(20)):
        grown = np.cumsum(quality(on_sample(found, fresh), values))
        assert grown[-1] == pytest.approx(1, abs=1e-8)
        assert np.all(np.diff(grown) >= -1e-12) and np.all(grown <= 1 + 1e-8)
    outside = quality(on_sample(found, fresh), rng.standard_normal(500))
    assert outside.sum() == pytest.approx(
        20 / 500, abs=0.05
    )  # the share of a space of 500 dimensions that 20 span, and its spread


def test_functions_that_overlap_on_fresh_examples_count_once():
    rng = np.random.default_rng(2)
    found = eigenfunctions(rng.standard_normal((300, 20)), even(300))
    fresh = rng.standard_normal((30, 20))
    values = fresh @ np.ones(20)
    e = fresh @ found.directions
    plain = np.square(e.T @ values) / np.square(e).sum(0) / np.square(values).sum()
    assert plain.sum() > 1  # without orthogonalisation
    assert quality(on_sample(found, fresh), values).sum() == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("a", [1, 2])
@pytest.mark.parametrize(("n", "p"), [(2000, 200), (10_000, 1000)])
def test_a_power_law_is_found_from_a_sample(a, n, p):
    """The paper's example, at a fifth of its size and whole: rho_k = k^-a, Gaussian features [Nam26 App. J.1, Fig. 23]."""
    rho = np.arange(1, p + 1.0) ** -a
    found = eigenfunctions(np.random.default_rng(4).standard_normal((n, p)) * np.sqrt(rho), even(n))
    # The first eigenvalue has a standard error of sqrt(2/n), 3%.
    assert found.rho[0] == pytest.approx(1, rel=0.1)
    u = found.directions * np.sqrt(found.rho)
    within = np.square(u).cumsum(0).cumsum(1).diagonal()  # of the first k rows and columns
    of_span = 1 - within / np.arange(1, p + 1)
    assert max(of_span) < 0.25  # the paper's bound
    assert of_span[-1] == pytest.approx(0, abs=1e-10)


def test_more_functions_than_fresh_examples_are_cut():
    rng = np.random.default_rng(3)
    found = eigenfunctions(rng.standard_normal((300, 20)), even(300))
    assert len(quality(on_sample(found, rng.standard_normal((7, 20))), rng.standard_normal(7))) == 7


@pytest.mark.parametrize("d", [1, 5, 30])
def test_equal_values_after_the_first_count_each(d):
    assert effective_dimension(np.array([9.0, *[0.3] * d])) == pytest.approx(1 + d)


def test_one_direction_alone_counts_one():
    assert effective_dimension(np.array([3.0])) == effective_dimension(np.array([3.0, 0.0, 0.0])) == 1


def test_the_constant_among_the_eigenfunctions():
    rng = np.random.default_rng(4)
    offset, drawn = rng.standard_normal((400, 5)) + 10, rng.standard_normal((400, 5))
    assert constant_overlap(eigenfunctions(offset, even(400)), offset, even(400)) > 0.99
    centred = drawn - drawn.mean(0)
    assert constant_overlap(eigenfunctions(centred, even(400)), centred, even(400)) == pytest.approx(0, abs=1e-10)


def test_dead_features_have_no_functions():
    assert eigenfunctions(np.zeros((10, 4)), even(10)) is None
