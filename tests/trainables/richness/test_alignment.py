"""D_LR of features and outputs whose value is known [Nam26]."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.richness.alignment import centred, cka, d_lr, d_lr_of_span, gram_norm, participation, rank


def even(n):
    return np.full(n, 1 / n)


def orthogonal(k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((k, k)))[0]


def white(n, p, seed=0):
    """Features whose covariance on the sample is the identity exactly."""
    drawn = np.random.default_rng(seed).standard_normal((n, p))
    return np.linalg.qr(drawn - drawn.mean(0))[0] * n**0.5


def laziness(features, outputs, rank=None):
    f, y = centred(features, even(len(features))), centred(outputs, even(len(outputs)))
    return d_lr(f, y) if rank is None else d_lr_of_span(f, y, rank)


def codes(n, c):
    return np.eye(c)[np.arange(n) % c]


def test_collapsed_features_are_the_richest():
    y = codes(400, 10)
    features = np.hstack([3 * y @ orthogonal(10) + 7, np.ones((400, 2))])
    assert laziness(features, y) == pytest.approx(0, abs=1e-12)
    assert laziness(features, y, 9) == pytest.approx(0, abs=1e-12)
    # The span stays under an invertible map of the outputs; the outputs' covariance does not.
    mapped = y @ (orthogonal(10, 1) * np.linspace(1, 3, 10)) + 2
    assert laziness(features, mapped, 9) == pytest.approx(0, abs=1e-12)
    assert laziness(features, mapped) > 0.01


def test_of_the_span_a_rank_above_that_of_the_targets_counts_noise():
    rng = np.random.default_rng(0)
    y = codes(4000, 4)
    noisy = y + 1e-3 * rng.standard_normal(y.shape)
    assert laziness(y, noisy, 4) == pytest.approx(1 - 0.75**0.5, abs=1e-5)
    assert laziness(y, noisy, 3) == pytest.approx(4e-6, abs=4e-6)
    assert laziness(y, noisy) == pytest.approx(4e-6, abs=4e-6)


def test_outputs_of_fewer_features_vary_along_no_more_directions_than_these():
    rng = np.random.default_rng(0)
    features = white(500, 3) * [1, 0.9, 0.7]
    f, outputs = centred(features, even(500)), features @ rng.standard_normal((3, 7))
    assert rank(f, 7) == 3
    rho = np.array([1, 0.9, 0.7]) ** 2  # all directions are used: 1 - sum rho / (sqrt(R) |rho|)
    assert laziness(features, outputs, rank(f, 7)) == pytest.approx(1 - rho.sum() / (3**0.5 * np.linalg.norm(rho)), abs=1e-12)
    assert laziness(features, outputs, 7) > 0.3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_rank_is_that_of_the_features_up_to_a_limit(dtype):
    rng = np.random.default_rng(1)
    x = np.zeros((300, 50))
    x[:, 4:34] = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 30))
    x[:, 4:34] *= 9  # the longest columns have rank 6 alone, among dead neurons
    x[:, 40:43] = rng.standard_normal((300, 3))
    f = centred(x.astype(dtype), even(300))
    assert [rank(f, most) for most in (1, 5, 6, 8, 9, 10, 20, 60)] == [1, 5, 6, 8, 9, 9, 9, 9]


@pytest.mark.parametrize(("r", "expected"), [(1, 0.858579), (3, 0.755051), (9, 0.575736)])
def test_white_features(r, expected):
    features = white(300, 50)
    assert laziness(features, features[:, :r]) == pytest.approx(expected, abs=1e-6)
    assert laziness(features, features[:, :r], r) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("k", "expected"), [(1, 0.215567), (5, 0.843113)])
def test_a_power_law(k, expected):
    features = white(300, 50) / np.arange(1, 51) ** 0.5
    assert laziness(features, features[:, k - 1]) == pytest.approx(expected, abs=1e-6)
    assert participation(centred(features, even(300))) == pytest.approx(
        (1 / np.arange(1, 51)).sum() ** 2 / (1 / np.arange(1, 51.0) ** 2).sum()
    )


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 40), st.integers(2, 30), st.integers(1, 5), st.integers(0, 10**6))
def test_bounds_and_invariances(n, p, c, seed):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, p)) * rng.uniform(0.1, 3, p)
    outputs = features @ rng.standard_normal((p, c))
    f, y = centred(features, even(n)), centred(outputs, even(n))
    r = np.linalg.matrix_rank(y)
    rho = np.linalg.svd(f, compute_uv=False) ** 2
    spread = r**0.5 * np.linalg.norm(rho)
    among = np.sort(rho)[::-1][: np.linalg.matrix_rank(f)]  # Ky Fan
    found = d_lr_of_span(f, y, r)
    assert 1 - among[:r].sum() / spread - 1e-9 <= found <= 1 - among[-r:].sum() / spread + 1e-9
    assert -1e-12 <= d_lr(f, y) <= 1
    order = rng.permutation(n)
    moved = centred((4 * features @ orthogonal(p) - 1)[order], even(n))
    assert d_lr(moved, centred(outputs[order] * 2 + 5, even(n))) == pytest.approx(d_lr(f, y), abs=1e-9)


@pytest.mark.parametrize(("n", "p"), [(20, 60), (60, 20)])
def test_either_gram_gives_the_same(n, p):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((n, p)), rng.standard_normal((n, p))
    whole = np.square(x.T @ y).sum() / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))
    assert cka(x, y) == pytest.approx(whole, abs=1e-10)
    assert gram_norm(x) == pytest.approx(np.linalg.norm(x.T @ x), rel=1e-10)


def test_rounding_leaves_no_alignment_above_1():
    """Without a limit some of these give 1 + 2e-16, more than the metrics' bounds allow."""
    rng = np.random.default_rng(0)
    drawn = [rng.standard_normal((n, p)) for n, p in ((20, 3), (5, 30)) for _ in range(50)]
    assert all(cka(x, x) <= 1 and cka(x, x) == pytest.approx(1, abs=1e-12) for x in drawn)
    assert all(d_lr_of_span(q, q, 3) >= 0 for q in (np.linalg.qr(x)[0][:, :3] for x in drawn[:50]))


def test_an_example_may_stand_for_several():
    rng = np.random.default_rng(2)
    features, outputs = rng.standard_normal((5, 3)), rng.standard_normal(5)
    counts = np.array([1, 4, 2, 2, 1])
    once = d_lr(centred(features, counts / 10), centred(outputs, counts / 10))
    assert once == pytest.approx(laziness(features.repeat(counts, 0), outputs.repeat(counts)), abs=1e-12)


def sphere(n, d, rng):
    x = rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize(("d", "expected"), [(16, 0.751383), (64, 0.875191)])
def test_wide_random_relu_features(d, expected):
    rng = np.random.default_rng(d)
    n, m = 2000, 2048
    x, w = sphere(n, d, rng), rng.standard_normal((m, d))
    features = np.maximum(x @ w.T, 0) / m**0.5
    outputs = x @ rng.standard_normal(d)
    # Finite n and m: richness.md 1.4. For unit inputs Tr T is 1/2 less the constant's 1/(2 pi), and l is 1/(4 d).
    trace, share = 0.5 - 1 / (2 * np.pi), 1 / (4 * d)
    squared = (share / (1 - expected)) ** 2
    finite = (share + (trace - share) / n) / (squared + trace**2 / n + trace**2 / m) ** 0.5
    assert laziness(features, outputs) == pytest.approx(1 - finite, abs=0.01)  # the spread of one draw


def test_constant_values_have_no_direction():
    assert centred(np.ones((10, 3)), even(10)) is None
    assert centred(np.zeros((10, 3)), even(10)) is None
    assert centred(np.full(10, 0.1 + 0.2), even(10)) is None  # its mean differs in the last digit
    assert centred(np.array([1.0, np.nan, 2.0]), even(3)) is None
    rng = np.random.default_rng(0)
    features, outputs = rng.standard_normal((30, 4)), rng.standard_normal(30)
    with_dead = np.hstack([features, np.zeros((30, 1))])
    assert laziness(with_dead, outputs) == pytest.approx(laziness(features, outputs), abs=1e-12)
    assert laziness(outputs[:, None] * 2, outputs) == pytest.approx(0, abs=1e-12)  # one neuron


@pytest.mark.parametrize("value", [np.inf, 1e200])
def test_features_that_are_not_finite_have_no_measure_and_warn_of_nothing(value):
    """The warning stood amid the progress of a sweep whose network was about to diverge."""
    assert centred(np.array([[value, 1.0], [2.0, 3.0]]), even(2)) is None
