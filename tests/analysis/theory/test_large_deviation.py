"""The large-deviation bound of 2-layer erf networks: its known values, its limits, and quadrature of what goes into it."""

import numpy as np
import pytest
from scipy.special import erf

from analysis.theory.large_deviation import aligned, energy, projection, slope

VALUES = {
    (20, 20): 182.7, (40, 40): 376.4, (80, 80): 765.3, (160, 160): 1544.8, (320, 320): 3105.7,
    (1000, 20): 1188.4, (1000, 40): 1840.3, (1000, 80): 2687.5, (1000, 160): 3853.6, (1000, 320): 5486.7,
    (100, 50): 667.5, (400, 50): 1326.1, (1600, 50): 2631.0, (6400, 50): 5207.3,
}  # fmt: skip
"""E(1) by (N, d), to one decimal."""


@pytest.mark.parametrize("sizes", VALUES)
def test_known_values(sizes):
    assert energy(1.0, *sizes) == pytest.approx(VALUES[sizes], abs=0.06)  # half a digit of the table, and a little


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
        assert energy(0.5, 10**14, d) == pytest.approx(0.25 / (2 * variance), rel=1e-3)


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
