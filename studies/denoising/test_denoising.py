"""Linear denoisers beside descent on weights in a rotated basis, and regression on drawn examples."""

from itertools import pairwise

import numpy as np
import pytest
from sweepkit.studies.denoising.theory import optimum, share_one, time_to_share, wiener

VARIANCES = np.array([3.0, 1.0, 0.4])


def descent(noise, layers, w_0, step, until):
    """Weights along the components, (steps, 3), and their times: gradient descent on the matrices of a denoiser of components
    along axes drawn at random. With several layers each starts at w_0^(1/layers) times a rotation."""
    rng = np.random.default_rng(layers)
    bases = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(layers)]
    signal = bases[0] * VARIANCES @ bases[0].T
    inputs = signal + noise * np.eye(3)
    ends = [*bases, bases[0]]
    weights = [w_0 ** (1 / layers) * after @ before.T for before, after in pairwise(ends)]
    seen = []
    for _ in range(round(until / step)):
        whole = np.linalg.multi_dot(weights[::-1]) if layers > 1 else weights[0]
        seen.append(np.diag(bases[0].T @ whole @ bases[0]))
        residual = signal - whole @ inputs
        slopes = []
        for k in range(layers):
            before, after = np.eye(3), np.eye(3)
            for w in weights[:k]:
                before = w @ before
            for w in weights[k + 1 :]:
                after = w @ after
            slopes.append(after.T @ residual @ before.T)
        weights = [w + step * slope for w, slope in zip(weights, slopes, strict=True)]
    return np.arange(len(seen)) * step, np.array(seen)


@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
def test_one_layer_is_descent_on_its_matrix(noise):
    t, w = descent(noise, 1, 0.0, 0.002 / (3 + noise), 3 / (0.4 + noise))
    # Steps of 0.002 of the fastest component's time.
    np.testing.assert_allclose(w, optimum(VARIANCES, noise) * share_one(t[:, None], VARIANCES, noise), atol=0.001)


@pytest.mark.parametrize(("layers", "w_0"), [(1, 0.0), (2, 1e-4), (3, 1e-3)])
@pytest.mark.parametrize("noise", [0.01, 20.0])
def test_half_times_are_those_of_descent(layers, w_0, noise):
    said = time_to_share(0.5, VARIANCES, noise, layers, w_0)
    t, w = descent(noise, layers, w_0, said[0] / 400, 1.05 * said.max())
    halves = t[(w >= optimum(VARIANCES, noise) / 2).argmax(axis=0)]
    np.testing.assert_allclose(halves, said, rtol=0.01)  # steps of 1/400 of the first half time, of up to 1/60 of learning


def test_noise_speeds_one_layer_up_and_two_hardly():
    lam = np.geomspace(0.25, 4, 5)

    def exponent(noise, layers, w_0):
        return np.polyfit(np.log(lam), np.log(time_to_share(0.5, lam, noise, layers, w_0)), 1)[0]

    assert exponent(1e-6, 1, 0.0) == pytest.approx(-1, abs=1e-5) and exponent(1e6, 1, 0.0) == pytest.approx(0, abs=1e-5)
    # Of two layers d ln t/d ln lambda is -1 + 1/ln(optimum/w_0): 1e6 in noise of 1e6 at lambda = 1.
    assert exponent(1e-6, 2, 1e-12) == pytest.approx(-1, abs=1e-5)
    assert exponent(1e6, 2, 1e-12) == pytest.approx(-1 + 1 / np.log(1e6), abs=0.01)


def test_the_errors_are_those_of_regression_on_drawn_examples():
    rng, n, noise = np.random.default_rng(0), 200_000, 0.7
    x = rng.standard_normal((n, 3)) * np.sqrt(VARIANCES)
    z = x + np.sqrt(noise) * rng.standard_normal((n, 3))
    w = np.linalg.lstsq(z, x, rcond=None)[0]
    # Four standard errors: of a weight at most 1/sqrt(n), of an error sqrt(2/n) of it.
    np.testing.assert_allclose(w, np.diag(optimum(VARIANCES, noise)), atol=4 / n**0.5)
    np.testing.assert_allclose(((x - z @ w) ** 2).mean(0), wiener(VARIANCES, noise), rtol=4 * (2 / n) ** 0.5)
