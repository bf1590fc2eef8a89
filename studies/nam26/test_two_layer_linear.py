"""The closed form of two-layer linear networks beside networks whose gradient flow is integrated here, in float64 [Nam26]."""

import numpy as np
import pytest
from sweepkit.studies.nam26.theory.two_layer_linear import Start, alignment, d_lr, learned, variance

D = 16


def initial(start, m=D + 4, seed=0):
    """W with W'W = sigma2 I and a across all of its columns, |a|^2 = tau2."""
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal((m, D + 1)))[0]
    return start.sigma2**0.5 * q[:, :D], start.tau2**0.5 * q[:, D]


def flown(W, a, target, times, covariance=None):
    """(W, learned coefficients) of the centred network at these times, by fourth-order Runge-Kutta steps."""
    sigma = np.eye(W.shape[1]) if covariance is None else covariance
    at_first, m = W.T @ a, len(a)

    def slope(theta):
        w, readout = theta[:, :-1], theta[:, -1]
        e = sigma @ (target - (w.T @ readout - at_first))
        return np.column_stack([np.outer(readout, e), w @ e])

    theta, found, now = np.column_stack([W, a]), [], 0.0
    for t in times:
        n = int(np.ceil((t - now) / 0.02))
        h = (t - now) / n
        for _ in range(n):
            k1 = slope(theta)
            k2 = slope(theta + h / 2 * k1)
            k3 = slope(theta + h / 2 * k2)
            theta = theta + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(theta + h * k3))
        now = t
        assert len(theta) == m
        found.append((theta[:, :-1], theta[:, :-1].T @ theta[:, -1] - at_first))
    return found


def laziness(W, coefficients):
    """D on white inputs: 1 - <f, T f>/(<f, f>|T|), T = W'W."""
    T = W.T @ W
    return 1 - coefficients @ T @ coefficients / (coefficients @ coefficients * np.linalg.norm(T))


def direction(seed=1):
    u = np.random.default_rng(seed).standard_normal(D)
    return u / np.linalg.norm(u)


@pytest.mark.parametrize(("sigma2", "known"), [(0.01, 0.000742), (0.1, 0.0617), (1.0, 0.6145), (10.0, 0.7477)])
def test_trained_networks_have_it(sigma2, known):
    assert d_lr(D, Start(sigma2), 1.0) == pytest.approx(known, abs=5e-5)
    W, a = initial(Start(sigma2))
    ((W, coefficients),) = flown(W, a, direction(), [10.0])  # rates are 2 at least, and ln(1/0.01) = 5 is lost at first
    assert coefficients == pytest.approx(direction(), abs=1e-3)
    assert laziness(W, coefficients) == pytest.approx(d_lr(D, Start(sigma2), 1.0), abs=1e-3)


@pytest.mark.parametrize("start", [Start(0.3), Start(0.3, 0.2), Start(0.05, 0.8), Start(2.0, 2.0)])
@pytest.mark.parametrize("target", [0.2, 1.5])
def test_all_along_training(start, target):
    times = [0.1, 0.4, 1.0, 2.0]
    found = flown(*initial(start), target * direction(), times)
    b = learned(np.array(times), start, target)
    for (W, coefficients), length in zip(found, b, strict=True):
        assert coefficients @ direction() == pytest.approx(length, rel=1e-6)
        assert np.square(W @ direction()).sum() == pytest.approx(float(variance(start, length)), rel=1e-6)
        assert laziness(W, coefficients) == pytest.approx(d_lr(D, start, length), abs=1e-6)


def test_without_initial_readouts_inputs_of_any_covariance_give_the_same_features():
    rng = np.random.default_rng(3)
    root = rng.standard_normal((D, D)) / D**0.5
    found = flown(*initial(Start(0.5)), direction(), [0.5, 3.0], root @ root.T + 0.1 * np.eye(D))
    for W, coefficients in found:
        g = float(variance(Start(0.5), np.linalg.norm(coefficients)))
        u = coefficients / np.linalg.norm(coefficients)
        np.testing.assert_allclose(W.T @ W, 0.5 * np.eye(D) + (g - 0.5) * np.outer(u, u), atol=1e-6)


def test_limits():
    assert d_lr(64, Start(1e-9), 1.0) == pytest.approx(0, abs=1e-9)
    assert d_lr(64, Start(1e9), 1.0) == pytest.approx(1 - 1 / 8, abs=1e-6)
    assert d_lr(1, Start(1.0), 1.0) == 0
    start = Start(0.2, 0.1)
    assert learned(np.array([0.0, np.inf]), start, 3.0) == pytest.approx([0, 3], abs=1e-12)
    assert float(learned(1e-6, start, 3.0)) == pytest.approx(3.0 * start.S * 1e-6, rel=1e-4)  # kernel S at first
    rising = learned(np.linspace(0, 5, 50), start, 3.0)
    assert (np.diff(rising) > 0).all()


def test_few_neurons_and_examples_by_drawn_networks():
    """Gaussian weights, m = 8 d and n = 256. d/m and d/n are 1/8 and 1/16; their squares are left out."""
    m, n, rng = 8 * D, 256, np.random.default_rng(0)
    start, target, found = Start(1.0, D / m), 3.0, []
    for seed in range(12):
        W, a = rng.standard_normal((m, D)) / m**0.5, rng.standard_normal(m) * (start.tau2 / m) ** 0.5
        ((W, coefficients),) = flown(W, a, target * direction(seed), [3.0])
        x = rng.standard_normal((n, D))
        x -= x.mean(0)
        f, T = x @ coefficients, x @ W.T @ W @ x.T
        found.append(1 - f @ T @ f / (f @ f * np.linalg.norm(T)))
    said = alignment(D, start, target)
    assert said.d_lr(n, m) > said.d_lr() + 0.02
    assert np.mean(found) == pytest.approx(said.d_lr(n, m), abs=0.01 + 3 * np.std(found) / 12**0.5)
