"""Closed forms of D_LR beside drawn features, and beside the metric that networks are measured by [Nam26]."""

import numpy as np
import pytest
from sweepkit.studies.nam26.theory.laziness import (
    Alignment,
    bounds,
    nc1_of_simplex,
    of_direction,
    of_relu_on_gaussian,
    of_relu_on_sphere,
    of_simplex,
    of_white,
    relu_kernel,
)

from trainables.richness.alignment import centred, d_lr, d_lr_of_span
from trainables.richness.collapse import collapse


def laziness(features, outputs, rank=None):
    share = np.full(len(features), 1 / len(features))
    pair = centred(features, share), centred(outputs, share)
    return d_lr(*pair) if rank is None else d_lr_of_span(*pair, rank)


def uncorrelated(rng, n, p):
    """(n, p) whose covariance on the sample is the identity exactly."""
    drawn = rng.standard_normal((n, p))
    return np.linalg.qr(drawn - drawn.mean(0))[0] * n**0.5


def test_features_of_a_known_spectrum():
    white = uncorrelated(np.random.default_rng(0), 200, 50)
    rho = 1 / np.arange(1, 51)
    features = white * np.sqrt(rho)
    for k, known in ((1, 0.215567), (5, 0.843113)):
        assert of_direction(rho, k) == pytest.approx(known, abs=1e-6)
        assert laziness(features, white[:, k - 1]) == pytest.approx(known, abs=1e-6)
    for r, known in ((1, 0.858579), (3, 0.755051), (9, 0.575736)):
        assert float(of_white(r, 50)) == pytest.approx(known, abs=1e-6)
        assert laziness(white, white[:, :r]) == pytest.approx(known, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_for_any_outputs_within_the_features_and_are_reached(seed):
    rng = np.random.default_rng(seed)
    white = uncorrelated(rng, 60, 8)
    rho = rng.random(8)
    features = white * np.sqrt(rho)
    outputs = features @ rng.standard_normal((8, 3))
    sizes = np.linalg.svd(outputs - outputs.mean(0), compute_uv=False) ** 2
    low, high = bounds(rho, sizes)
    assert low <= laziness(features, outputs) <= high
    even_low, even_high = bounds(rho, np.ones(3))
    assert even_low <= laziness(features, outputs, 3) <= even_high
    top = np.sort(rho)[::-1]
    assert even_low == pytest.approx(1 - top[:3].sum() / (3**0.5 * np.linalg.norm(rho)), abs=1e-12)  # Ky Fan
    # Outputs along the features' own directions reach both.
    order = np.argsort(-rho)
    for at, bound in ((order[:3], low), (order[::-1][:3], high)):
        assert laziness(features, white[:, at] * np.sqrt(sizes)) == pytest.approx(bound, abs=1e-9)


def test_bounds_of_unequal_outputs_go_beyond_those_of_the_span():
    """The published numbers, by outputs and not by their span, may lie below the paper's bound."""
    rho = np.array([1.0, 0.2, 0.0])
    assert bounds(rho, [1.0, 0.2])[0] == pytest.approx(0, abs=1e-12) and bounds(rho, [1.0, 1.0])[0] > 0.15
    with pytest.raises(ValueError, match="3 directions of outputs"):
        bounds(rho, [1.0, 1.0, 1.0])


@pytest.mark.parametrize(("d", "known"), [(8, 0.649862), (16, 0.751383), (64, 0.875191), (1024, 0.968753)])
def test_random_relu_features_at_their_known_values(d, known):
    assert of_relu_on_sphere(d).d_lr() == pytest.approx(known, abs=1e-6)
    assert known == pytest.approx(1 - d**-0.5, abs=0.5 / d)


@pytest.mark.parametrize(("d", "m", "n"), [(8, 256, 1000), (16, 256, 2000), (64, 256, 2000), (16, 2048, 2000)])
@pytest.mark.parametrize("on_sphere", [True, False])
def test_random_relu_features_of_a_drawn_network(d, m, n, on_sphere):
    """Mean over d outputs, the coordinates of x. Left out are terms of second order in PR/m, some 0.1^2."""
    rng = np.random.default_rng(d)
    x = rng.standard_normal((n, d))
    x = x / np.linalg.norm(x, axis=1)[:, None] if on_sphere else x
    features = np.maximum(x @ rng.standard_normal((d, m)), 0)
    features, x = features - features.mean(0), x - x.mean(0)
    along = np.square(features.T @ x).sum(0) / np.square(x).sum(0)
    said = of_relu_on_sphere(d) if on_sphere else of_relu_on_gaussian(d)
    assert 1 - along.mean() / np.linalg.norm(features.T @ features) == pytest.approx(said.d_lr(n, m), abs=0.01)


@pytest.mark.parametrize(("d", "known"), [(16, 0.763), (64, 0.894)])
def test_random_relu_features_of_256_neurons_at_their_known_values(d, known):
    assert of_relu_on_sphere(d).d_lr(2000, 256) == pytest.approx(known, abs=1e-3)


def test_the_relu_kernel_is_the_mean_over_weights():
    w = np.random.default_rng(0).standard_normal((400_000, 2))
    for u in (-0.7, 0.0, 0.4, 1.0):
        products = np.maximum(w[:, 0], 0) * np.maximum(w @ [u, (1 - u**2) ** 0.5], 0)
        assert float(relu_kernel(np.array(u))) == pytest.approx(products.mean(), abs=4 * products.std() / 400_000**0.5)


def test_few_examples_and_neurons_raise_it():
    """Means over drawn features of a known spectrum, PR = 16, n = 1000, m = 80. Left out is the second order, (1 - D) 0.2^2/2."""
    rng = np.random.default_rng(0)
    rho = np.exp(-np.arange(20) / 12)
    said = Alignment(rho[0], rho.sum(), float(np.linalg.norm(rho)))
    assert said.d_lr() == of_direction(rho, 1)
    found = []
    for _ in range(200):
        x = rng.standard_normal((1000, 20)) * np.sqrt(rho)
        found.append(laziness(x @ rng.standard_normal((20, 80)), x[:, 0]))
    assert said.d_lr(1000, 80) > said.d_lr() + 0.03
    assert np.mean(found) == pytest.approx(said.d_lr(1000, 80), abs=0.008 + 3 * np.std(found) / 200**0.5)


def test_an_output_along_all_that_features_do_has_no_bias():
    assert Alignment(2.0, 2.0, 2.0).d_lr(n=10, m=10) == 0
    assert Alignment(1.0, 4.0, 2.0).participation == 4


def test_collapsed_classes_with_noise():
    """20,000 examples: the variance of the noise, 0.01, is known within 1%."""
    C, p, sigma, n = 10, 64, 0.1, 20_000
    rng = np.random.default_rng(0)
    means = np.eye(C, p) - np.eye(C, p)[:, :C].mean() * (np.arange(p) < C)
    means /= np.linalg.norm(means, axis=1)[:, None]
    classes = np.arange(n) % C
    features = means[classes] + sigma * rng.standard_normal((n, p))
    assert of_simplex(C, p, sigma) == pytest.approx(0.1011, abs=5e-5)
    assert laziness(features, np.eye(C)[classes]) == pytest.approx(of_simplex(C, p, sigma), abs=0.002)
    assert nc1_of_simplex(C, sigma) == pytest.approx(0.0810, abs=5e-5)
    found = collapse(features, classes, np.full(n, 1 / n))
    assert found.nc1 == pytest.approx(nc1_of_simplex(C, sigma), rel=0.01)
