"""Bayes classifiers [Tong25 App. E] against brute-force likelihoods, closed forms, each other and their own calibration."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import expit
from sweepkit.studies.tong25.theory import bayes
from sweepkit.studies.tong25.theory.bayes import (
    generalising_accuracy,
    generalising_log_ratio,
    memorising_accuracy,
    memorising_log_ratio,
)


def examples(n, d, sigma2, seed=0, symbols=None):
    """z1, z2 of n same and n different examples, from `symbols` or else from symbols of their own."""
    rng = np.random.default_rng(seed)
    if symbols is None:
        first, second = rng.normal(0, d**-0.5, (2, 2 * n, d))
    else:
        u = rng.integers(len(symbols), size=2 * n)
        first, second = symbols[u], symbols[(u + rng.integers(1, len(symbols), size=2 * n)) % len(symbols)]
    second[:n] = first[:n]
    return np.stack([first, second]) + rng.normal(0, np.sqrt(sigma2 / d), (2, 2 * n, d))


def draw_symbols(n_symbols, d, seed=1):
    return np.random.default_rng(seed).normal(0, d**-0.5, (n_symbols, d))


def test_generalising_ratio_is_that_of_the_integrals_over_symbols():
    from scipy.integrate import quad
    from scipy.stats import norm

    for sigma2 in (0.3, 2.0):
        sd = np.sqrt(sigma2)
        for z1, z2 in ((0.4, 0.1), (-1.0, 2.0)):
            same = quad(lambda s, a=z1, b=z2, sd=sd: norm.pdf(a, s, sd) * norm.pdf(b, s, sd) * norm.pdf(s), -10, 10)[0]
            one = [quad(lambda s, a=z, sd=sd: norm.pdf(a, s, sd) * norm.pdf(s), -10, 10)[0] for z in (z1, z2)]
            ratio = generalising_log_ratio(np.array([[z1]]), np.array([[z2]]), sigma2)[0]
            assert ratio == pytest.approx(np.log(same / one[0] / one[1]), abs=1e-7)  # quad's 1.5e-8 on integrals of 0.1


@pytest.mark.parametrize("sigma2", [0.1, 1.0, 4.0])
def test_ratios_are_the_printed_likelihoods(sigma2):
    from scipy.special import logsumexp

    d, n_symbols = 6, 9
    symbols = draw_symbols(n_symbols, d)
    z1, z2 = examples(10, d, sigma2)
    squares, product = (z1**2).sum(1) + (z2**2).sum(1), (z1 * z2).sum(1)
    same = -d * np.log(2 * np.pi / d) - d / 2 * np.log(sigma2 * (2 + sigma2))
    same = same - d / (2 * sigma2) * ((1 + sigma2) / (2 + sigma2) * squares - 2 / (2 + sigma2) * product)
    different = -d * np.log(2 * np.pi * (1 + sigma2) / d) - d / (2 * (1 + sigma2)) * squares
    np.testing.assert_allclose(generalising_log_ratio(z1, z2, sigma2), same - different, rtol=1e-10, atol=1e-11)
    middle = ((symbols - (z1 + z2)[:, None] / 2) ** 2).sum(-1)
    same = -d / (2 * sigma2) * (squares / 2 - product) + logsumexp(-d / sigma2 * middle, axis=1) - np.log(n_symbols)
    to1, to2 = (((z[:, None] - symbols) ** 2).sum(-1) for z in (z1, z2))
    pairs = -d / (2 * sigma2) * (to1[:, :, None] + to2[:, None, :]) + np.where(np.eye(n_symbols) == 1, -np.inf, 0)
    different = logsumexp(pairs, axis=(1, 2)) - np.log(n_symbols * (n_symbols - 1))
    np.testing.assert_allclose(memorising_log_ratio(z1, z2, symbols, sigma2), same - different, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("sigma2", [1e-10, 1e-3, 0.05, 1.0, 100.0])
@pytest.mark.parametrize("n_symbols", [2, 7])
def test_memorising_ratio_is_the_sum_over_all_pairs(n_symbols, sigma2):
    d = 3
    symbols = draw_symbols(n_symbols, d)
    # training symbols as they are: one symbol then dominates both sums, and subtracting it from the whole would leave no digit
    z1, z2 = np.hstack([examples(8, d, sigma2), examples(8, d, 0.0, symbols=symbols), examples(8, d, sigma2, symbols=symbols)])
    e, f = (-d / (2 * sigma2) * ((z[:, None] - symbols) ** 2).sum(-1) for z in (z1, z2))
    rival = []
    for k in range(len(z1)):
        same = different = -np.inf
        for i in range(n_symbols):
            for j in range(n_symbols):
                if i == j:
                    same = np.logaddexp(same, e[k, i] + f[k, j])
                else:
                    different = np.logaddexp(different, e[k, i] + f[k, j])
        rival.append(same - different + np.log(n_symbols - 1))
    # exponents of size d |z - s|^2 / (2 sigma2), here up to 10 d / sigma2, each with some twenty roundings
    atol = 1e-11 + 20 * 2e-16 * 10 * d / sigma2
    np.testing.assert_allclose(memorising_log_ratio(z1, z2, symbols, sigma2), rival, rtol=1e-11, atol=atol)


def test_chunks_change_nothing(monkeypatch):
    symbols, (z1, z2) = draw_symbols(20, 4), examples(15, 4, 1.0)
    at_once = memorising_log_ratio(z1, z2, symbols, 1.0)
    monkeypatch.setattr(bayes, "_CHUNK", 7 * 20)
    np.testing.assert_allclose(memorising_log_ratio(z1, z2, symbols, 1.0), at_once, rtol=1e-12, atol=1e-12)


def test_many_symbols_fit_in_memory():
    symbols, (z1, z2) = draw_symbols(8192, 64), examples(300, 64, 1.0)
    tracemalloc.start()
    memorising_log_ratio(z1, z2, symbols, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # L^2 numbers of one example alone would take 537 MB


@pytest.mark.parametrize("sigma2", [0.0, 0.05, 1.0, 3.0, 50.0])
def test_generalising_accuracy_in_closed_form_at_d_2(sigma2):
    """Chi-squares of 2 degrees of freedom are exponential, so both probabilities are elementary."""
    noise = max(sigma2, 1e-10)
    c = np.log((1 + noise) ** 2 / (noise * (2 + noise)))
    same = 1 - np.exp(-(1 + noise) * c) / 2
    different = np.exp(-noise * c) * (2 + noise) / (2 * (1 + noise))
    assert float(generalising_accuracy(sigma2, 2)) == pytest.approx((same + different) / 2, rel=1e-11)


@pytest.mark.parametrize(("sigma2", "d"), [(0.2, 1), (1.0, 64), (2.0, 64), (4.0, 64), (6.0, 128)])
def test_generalising_accuracy_is_that_of_drawn_examples(sigma2, d):
    n = 10_000
    ratio = generalising_log_ratio(*examples(n, d, sigma2), sigma2)
    is_right = np.concatenate([ratio[:n] > 0, ratio[n:] < 0])
    p = float(generalising_accuracy(sigma2, d))
    assert is_right.mean() == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / (2 * n)))  # at most the binomial standard error


def test_generalising_limits():
    assert generalising_accuracy(np.array([0.0, 0.5, 1.0]), 64).shape == (3,) and generalising_accuracy(1.0, 64).shape == ()
    np.testing.assert_allclose(generalising_accuracy(0.0, np.int64(64)), 1, atol=1e-12)
    # the ratio is then about sqrt(d) / sigma2 wide, and accuracy above 1/2 by a fraction of that
    assert 0 < float(generalising_accuracy(1e6, 64)) - 0.5 < 8e-6
    assert (np.diff(generalising_accuracy(np.logspace(-1, 2, 30), 64)) < 0).all()
    assert (np.diff([float(generalising_accuracy(1.0, d)) for d in (1, 2, 5, 20, 100)]) > 0).all()


@pytest.mark.parametrize("sigma2", [0.3, 2.0])
def test_ratios_are_calibrated(sigma2):
    """Where examples come from the prior itself, the classifier is right as often as its posterior says."""
    n, d = 5000, 8
    symbols = draw_symbols(5, d)
    z_fresh, z_training = examples(n, d, sigma2), examples(n, d, sigma2, symbols=symbols)
    for ratio in (generalising_log_ratio(*z_fresh, sigma2), memorising_log_ratio(*z_training, symbols, sigma2)):
        is_right = np.concatenate([ratio[:n] > 0, ratio[n:] < 0])
        excess = is_right - expit(np.abs(ratio))
        assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(2 * n)  # 4 standard errors
        assert 0.6 < is_right.mean() < 0.999


@pytest.mark.parametrize("n_symbols", [2, 3, 50])
def test_without_noise_nearest_symbols_decide(n_symbols):
    d, n = 4, 300
    symbols = draw_symbols(n_symbols, d)
    z1, z2 = examples(n, d, 0.0)
    nearest1, nearest2 = (((z[:, None] - symbols) ** 2).sum(-1).argmin(1) for z in (z1, z2))
    np.testing.assert_array_equal(memorising_log_ratio(z1, z2, symbols, 0.0) > 0, nearest1 == nearest2)


def test_without_noise_two_symbols_leave_the_masses_of_their_half_spaces():
    """Different examples are right if the plane between s_1 and s_2 parts their symbols: 2 p (1 - p) for p on one side."""
    from scipy.special import ndtr

    d, n_draws = 2, 400
    s = np.random.default_rng(5).normal(0, d**-0.5, (2, 20_000, d))
    norms = (s**2).sum(-1)
    p = ndtr((norms[0] - norms[1]) / (2 * np.linalg.norm(s[0] - s[1], axis=-1)) * np.sqrt(d))
    value, error = memorising_accuracy(2, 0.0, d, n_examples=64, n_draws=n_draws)
    rival = 0.5 + p * (1 - p)
    assert value == pytest.approx(rival.mean(), abs=4 * np.hypot(error, rival.std() / np.sqrt(20_000)))
    assert value + 4 * error < 0.75  # what halves of equal mass would give


def test_memorising_becomes_generalising_with_symbols():
    d, sigma2 = 2, 1.0
    z1, z2 = examples(500, d, sigma2)
    target = generalising_log_ratio(z1, z2, sigma2)
    away = [np.abs(memorising_log_ratio(z1, z2, draw_symbols(n, d), sigma2) - target).mean() for n in (128, 2048, 32768)]
    # sums over L symbols have relative errors of L^(-1/2), so 4 times less at each; a factor 2 for the draw of the symbols
    assert 2 < away[0] / away[1] < 8 and 2 < away[1] / away[2] < 8
    estimates = [memorising_accuracy(n, sigma2, d, n_examples=1000, n_draws=10) for n in (2, 32, 8192)]
    exact = float(generalising_accuracy(sigma2, d))
    assert estimates[-1].value == pytest.approx(exact, abs=4 * estimates[-1].standard_error)
    assert estimates[0].value + 4 * estimates[0].standard_error < estimates[1].value < exact + 4 * estimates[1].standard_error


def test_memorising_limits():
    assert memorising_accuracy(16, 0.0, 64, on_training_symbols=True) == (1.0, 0.0)
    value, error = memorising_accuracy(64, 1e6, 64)
    assert value == pytest.approx(0.5, abs=4 * error)
    noisy = memorising_accuracy(512, 1.0, 64)
    assert noisy.value + 10 * noisy.standard_error < float(generalising_accuracy(1.0, 64))  # the gap of Fig. 2


def test_the_standard_error_is_honest():
    estimates = np.array([memorising_accuracy(4, 0.5, 4, n_examples=64, n_draws=20, seed=s) for s in range(60)])
    # a standard deviation of 60 values has relative error sqrt(1 / 120); 4 of those
    assert estimates[:, 0].std(ddof=1) == pytest.approx(np.sqrt((estimates[:, 1] ** 2).mean()), rel=4 * np.sqrt(1 / 120))


def test_bad_values_are_named():
    z = np.zeros((1, 2))
    with pytest.raises(ValueError, match="sigma2 = -1"):
        generalising_log_ratio(z, z, -1)
    with pytest.raises(ValueError, match="L = 1"):
        memorising_log_ratio(z, z, np.zeros((1, 2)), 1.0)
    with pytest.raises(ValueError, match="n_draws = 1"):
        memorising_accuracy(4, 1.0, 2, n_draws=1)
