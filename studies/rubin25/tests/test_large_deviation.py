"""The large-deviation bound of 2-layer erf networks: its known values, its limits, and quadrature of what goes into it."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf, gammaln
from sweepkit.studies.rubin25.theory.large_deviation import aligned, energy, overlap_density, projection, samples, slope

VALUES = {
    (20, 20): 182.7, (40, 40): 376.4, (80, 80): 765.3, (160, 160): 1544.8, (320, 320): 3105.7,
    (1000, 20): 1188.4, (1000, 40): 1840.3, (1000, 80): 2687.5, (1000, 160): 3853.6, (1000, 320): 5486.7,
    (100, 50): 667.5, (400, 50): 1326.1, (1600, 50): 2631.0, (6400, 50): 5207.3,
}  # fmt: skip
"""E(1) by (N, d) at the paper's fixed length, to one decimal."""
FREE = {(1.0, 20, 20): 146.94, (1.0, 80, 80): 625.7, (1.0, 1000, 20): 950.0, (0.1, 24, 24): 16.396}
"""E by (alpha, N, d) with free length, by an audit that shares no code; the second and third to four and three digits."""


@pytest.mark.parametrize("sizes", VALUES)
def test_known_values(sizes):
    found = energy(1.0, *sizes, length="fixed")
    assert found == pytest.approx(VALUES[sizes], abs=0.06)  # half a digit of the table, and a little


@pytest.mark.parametrize(("sizes", "value"), FREE.items())
def test_known_values_with_free_length(sizes, value):
    assert energy(*sizes) == pytest.approx(value, rel=5e-4)


@pytest.mark.parametrize(("alpha", "N", "d", "fixed"), [(1.0, 20, 20, 182.73), (0.1, 24, 24, 20.389)])
def test_energies_by_adaptive_quadrature(alpha, N, d, fixed):
    """E_c,r by nested adaptive quadrature, and its t by bisection: slow, and with no grid in common."""

    def mean(t, gain):
        def of_c(c):
            inner = quad(lambda r: chi(r) * np.exp(t**2 * gain(c, r) / (2 * N)), 1e-9, 3, points=[0.6, 1.0], limit=200)[0]
            return inner * np.exp(-d * c**2 / 2)

        return 2 * np.sqrt(d / (2 * np.pi)) * sum(quad(of_c, a, b, limit=200)[0] for a, b in pairwise((0, 0.5, 1, 2, 4, 8)))

    def chi(r):
        return np.exp(np.log(2) + (d - 1) / 2 * np.log(d / 2) - gammaln((d - 1) / 2) + (d - 2) * np.log(r) - d * r**2 / 2)

    def g_squared(c, r):
        return 8 / (3 * np.pi) * (c**2 / (1 + 2 * r**2 + 2 * c**2)) ** 3

    t = aligned(alpha, N, d).t
    assert t * alpha - N * np.log(mean(t, g_squared)) == pytest.approx(energy(alpha, N, d), rel=1e-6)
    for other in (0.99 * t, 1.01 * t):
        assert other * alpha - N * np.log(mean(other, g_squared)) < energy(alpha, N, d)
    t = aligned(alpha, N, d, length="fixed").t
    at_one = t * alpha - N * np.log(mean(t, lambda c, r: g_squared(c, 1.0)))
    assert at_one == pytest.approx(fixed, abs=0.006)


def test_specialised_neurons_shrink():
    """The likeliest length r of a neuron under the tilt is far below 1, and is one for all sizes; the grid's step is 0.005."""
    for d in (20, 80):
        t = aligned(1.0, d, d).t
        c, r = np.meshgrid(np.linspace(0.5, 3, 251), np.linspace(0.3, 1.2, 181), indexing="ij")
        weight = t**2 * projection(c, r) / (2 * d) + (d - 2) * np.log(r) - d * (c**2 + r**2) / 2
        assert r.flat[weight.argmax()] == pytest.approx(0.51, abs=0.011)


def test_samples_have_no_constant_left_open():
    """P* = kappa t / (1 - alpha): alpha is the most probable where P (1 - alpha)^2 / (2 kappa) is added to the energy."""
    P = samples(0.1, 24, 24, kappa=0.5)

    def cost(alpha):
        return energy(alpha, 24, 24) + P * (1 - alpha) ** 2 / (2 * 0.5)

    assert cost(0.1) < min(cost(0.09), cost(0.11))
    assert samples(0.1, 24, 24, kappa=2.0) == pytest.approx(4 * P)
    with pytest.raises(ValueError, match="below 1"):
        samples(1.0, 24, 24)


def test_overlaps_without_tilt_are_those_of_the_prior():
    z = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(overlap_density(z, 0.0, 16, 16), np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), rtol=1e-9)


@pytest.mark.parametrize("c", [0.0, 0.3, 1.0, 4.0])
def test_projection_is_that_of_erf_on_he3(c):
    x, w = np.polynomial.hermite_e.hermegauss(120)
    w = w / w.sum()
    u, p = np.meshgrid(x, x)
    measured = (np.outer(w, w) * erf(c * u + p) * (u**3 - 3 * u) / np.sqrt(6)).sum()
    assert measured**2 == pytest.approx(float(projection(c)), abs=1e-6)  # of 120 nodes; the largest value is 0.1


def test_a_wide_network_is_a_gaussian_process():
    """Without feature learning the output is Gaussian: E = alpha^2 / (2 E g^2), which grows as d^3."""
    c = np.linspace(-8, 8, 200_001)
    for d in (20, 40):
        prior = np.exp(-d * c**2 / 2) * np.sqrt(d / (2 * np.pi))
        variance = (prior * projection(c)).sum() * (c[1] - c[0])
        assert energy(0.5, 10**14, d, length="fixed") == pytest.approx(0.25 / (2 * variance), rel=1e-3)


def test_slopes_tend_to_those_of_specialisation():
    d = np.array([160, 320])
    assert slope(1.0, d, d) == pytest.approx(1.0, abs=0.01)
    assert slope(1.0, np.full(2, 1000), d) == pytest.approx(0.5, abs=0.02)


def test_t_is_the_slope_of_the_energy_and_the_density_is_one():
    found = aligned(1.0, 50, 50)
    assert (energy(1.001, 50, 50) - energy(0.999, 50, 50)) / 0.002 == pytest.approx(found.t, rel=1e-4)
    assert np.trapezoid(found.density, found.overlap) == pytest.approx(1.0, abs=1e-9)
    special = found.density[found.overlap > 1].copy()  # the prior has e^-25 there
    assert np.trapezoid(special, found.overlap[found.overlap > 1]) * 50 > 0.5


def test_mean_field_needs_more():
    assert energy(1.0, 100, 100, "mean_field") > 5 * energy(1.0, 100, 100)


@pytest.mark.parametrize("bad", [(0.0, 10, 10), (1.0, 0, 10), (1.0, 10, 0), (1.0, 10, 10**8)])
def test_what_is_refused(bad):
    with pytest.raises(ValueError, match=r"must be positive|finer grid"):
        energy(*bad)
