"""The hand-crafted network [Tong25 App. B] against its four neurons and drawn examples."""

import numpy as np
import pytest
from sweepkit.studies.tong25.theory.handcrafted import different_accuracy, drawn_accuracy, network_output
from sweepkit.studies.tong25.theory.handcrafted import test_accuracy as accuracy  # the name would be collected as a test


@pytest.mark.parametrize(("rho", "value"), [(0.0, 0.0), (1.0, 0.5), (np.sqrt(3), 2 / 3), (np.inf, 1.0)])
def test_values(rho, value):
    assert float(different_accuracy(rho)) == pytest.approx(value, abs=1e-15)
    assert float(accuracy(rho)) == pytest.approx((1 + value) / 2, abs=1e-15)


def test_output_is_eq2s():
    rng, d, rho = np.random.default_rng(0), 5, 1.7
    z1, z2 = rng.normal(size=(2, 20, d))
    one = np.ones(d)
    w = np.array([np.r_[one, one], np.r_[-one, -one], np.r_[one, -one], np.r_[-one, one]])
    a = np.array([1, 1, -rho, -rho])
    rival = np.maximum(np.hstack([z1, z2]) @ w.T, 0) @ a
    np.testing.assert_allclose(network_output(z1, z2, rho), rival, atol=1e-13)  # rounding of sums of 10 numbers of size 1


@pytest.mark.parametrize("d", [1, 40])
@pytest.mark.parametrize("rho", [0.5, 1.5, 6.0])
def test_drawn_examples_agree_at_any_d(rho, d):
    n, p = 20_000, float(different_accuracy(rho))
    drawn = drawn_accuracy(rho, d, n, np.random.default_rng(d))
    assert drawn.same == 1.0  # exactly: the antiparallel neurons see z - z
    assert drawn.different == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n))  # 4 standard errors of a fraction
