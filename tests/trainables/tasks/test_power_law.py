"""A power-law spectrum: variances of inputs, power of the target, and its coefficients."""

import numpy as np
import pytest

from trainables.tasks import PowerLaw


def test_variances_and_shares_fall_as_powers():
    task = PowerLaw(d=6, capacity=1.5, difficulty=1.5)
    w = task.draw_symbols(np.random.default_rng(0))
    x, y = task.train_examples(np.random.default_rng(1), w, 40_000)
    assert x.dtype == np.float32 and y.dtype == np.float64
    k = np.arange(1, 7.0)
    # A variance of n Gaussian numbers has a relative standard error of sqrt(2/n) = 0.7%; 4 of them.
    assert x.astype(float).var(0) == pytest.approx(k**-1.5, rel=0.03)
    assert y.var() == pytest.approx(1, rel=0.03)
    shares = np.array([np.cov(x[:, j], y)[0, 1] * w[j] for j in range(6)])
    assert shares[0] / shares[1] == pytest.approx(2**3.25, rel=0.1)  # the second share, 0.09, is known to 2%
    np.testing.assert_allclose(y, x.astype(float) @ w, rtol=1e-12)


@pytest.mark.parametrize("difficulty", [0.5, 1.5])
def test_the_whole_target_has_power_one(difficulty):
    task = PowerLaw(d=500, capacity=2.0, difficulty=difficulty)
    w = task.draw_symbols(np.random.default_rng(0))
    assert (w**2 * np.arange(1, 501.0) ** -2).sum() == pytest.approx(1)
    norm = (w**2).sum()
    assert norm > 100 if difficulty == 0.5 else norm < 2  # |w|^2 grows with d where the target is hard
