"""The theory beside regressions on drawn examples, in plain NumPy."""

from pathlib import Path

import numpy as np
import pytest

from analysis import Study

STUDY = Study.load(Path(__file__).parent)
THEORY = STUDY.theory


def errors(d, P, ridge, target, draws, inputs=np.random.Generator.standard_normal):
    """1 + |u - w|^2 - |w|^2 ... of each draw: the exact test error given the examples."""
    rng, found = np.random.default_rng(0), []
    for _ in range(draws):
        x = inputs(rng, (P, d))
        y, w = target(x)
        u = np.linalg.solve(x.T @ x + ridge * np.eye(d), x.T @ y) if ridge else np.linalg.pinv(x) @ y
        found.append(1 - w @ w + (u - w) @ (u - w))
    return np.array(found)


def he2(x):
    return (x[:, 0] ** 2 - 1) / 2**0.5, np.zeros(x.shape[1])


def bits(rng, shape):
    return rng.integers(0, 2, shape) * 2.0 - 1


def staircase(x):
    return (x[:, 0] + x[:, 0] * x[:, 1]) / 2**0.5, np.eye(x.shape[1])[0] / 2**0.5


@pytest.mark.parametrize("P", [8, 16, 24, 40, 48, 96])
def test_without_a_ridge(P):
    found, said = errors(32, P, 0, he2, 1500), THEORY.no_ridge(32, P, 2)
    assert found.mean() == pytest.approx(said, abs=4 * found.std() / 1500**0.5 + 0.01 * said)


@pytest.mark.parametrize("P", [24, 40])
def test_the_correction_is_needed_and_the_rival_far_off(P):
    found = errors(32, P, 0, he2, 5000)
    plain = 1 + (P / (31 - P) if P < 32 else 32 / (P - 33))
    assert abs(found.mean() - plain) > 4 * found.std() / 5000**0.5
    assert found.mean() > 2 * (1 + min(P / 32, 32 / P))


@pytest.mark.parametrize("P, ridge", [(32, 1), (64, 0.3), (64, 1), (64, 10), (128, 10)])
def test_with_a_ridge(P, ridge):
    found, said = errors(64, P, ridge, he2, 400), THEORY.with_ridge(64, P, ridge)
    assert found.mean() == pytest.approx(said, rel=0.06, abs=4 * found.std() / 20)


@pytest.mark.parametrize("P, ridge", [(32, 0), (48, 0), (96, 0), (32, 64), (64, 64), (128, 64)])
def test_with_a_signal(P, ridge):
    found = errors(64, P, ridge, staircase, 400, bits)
    assert found.mean() == pytest.approx(THEORY.with_signal(64, P, 2, ridge or 1e-9), rel=0.06, abs=4 * found.std() / 20)
