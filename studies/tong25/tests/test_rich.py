"""Eq. 3 and C.18 [Tong25] at their known values and limits, and against drawn rivals."""

import numpy as np
import pytest
from sweepkit.studies.tong25.theory.rich import different_accuracy
from sweepkit.studies.tong25.theory.rich import test_accuracy as accuracy  # the name would be collected as a test


@pytest.mark.parametrize(("n_symbols", "value"), [(2, 0.75), (3, 0.908), (4, 0.949), (5, 0.975), (6, 0.989), (8, 0.998)])
def test_values_of_eq3(n_symbols, value):
    assert float(accuracy(n_symbols)) == pytest.approx(value, abs=5e-4)  # three digits are given


def test_eq3_is_c18_at_rho_three_halves():
    from scipy.stats import norm

    n = np.arange(3, 40.0)
    np.testing.assert_allclose(accuracy(n), 0.5 + 0.5 * norm.cdf(np.sqrt(2 * (n**2 - n) / (13 * (np.pi - 2)))), rtol=1e-12)
    np.testing.assert_allclose(accuracy(n), 0.5 + 0.5 * different_accuracy(n, rho=1.5), rtol=1e-15)


def test_limits():
    assert float(accuracy(1e6)) == 1.0
    assert float(different_accuracy(10, rho=1.0)) == 0.5  # equal readouts cannot tell different pairs
    assert (np.diff(accuracy(np.arange(3, 12.0))) > 0).all()
