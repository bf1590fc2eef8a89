"""Diagnostics of whether chains reached equilibrium: rank-normalised split R-hat, effective sample size [Vehtari et al. 2021].

draws  one quantity (chains, n), after burn-in
R-hat  spread of all draws over the spread within the halves of the chains; it falls to 1 at equilibrium
ESS    effective sample size: how many independent draws the correlated ones are worth
"""

import numpy as np

from trainables.basics import Array


def split_r_hat(draws: Array) -> float:
    """The larger of two R-hats: of the ranks, and of the ranks of |draw - median|, which detects chains of different width.

    1 if all draws are equal, NaN if a draw is not finite. ValueError for fewer than 4 draws per chain.
    """
    halves = _halves(draws)
    if not np.isfinite(halves).all():
        return float("nan")
    return max(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(np.abs(halves - np.median(halves)))))


def bulk_ess(draws: Array) -> float:
    """ESS of the ranks, from the halves of the chains; the number of draws if all are equal, NaN if a draw is not finite."""
    halves = _halves(draws)
    return _ess(_normal_scores(halves)) if np.isfinite(halves).all() else float("nan")


def standard_error(draws: Array) -> float:
    """Monte-Carlo standard error of the mean: standard deviation / sqrt(ESS of the draws themselves)."""
    halves = _halves(draws)
    return float(draws.std(ddof=1) / np.sqrt(_ess(halves))) if np.isfinite(halves).all() else float("nan")


def _halves(draws: Array) -> Array:
    """(2 chains, n // 2): first and last halves, so that a drift within a chain shows as two chains that disagree."""
    n = draws.shape[1] // 2
    if n < 2:
        raise ValueError(f"{draws.shape[1]} draws a chain: R-hat needs 4 at least")
    return np.concatenate([draws[:, :n], draws[:, -n:]])


def _normal_scores(x: Array) -> Array:
    """Ranks r among all draws, ties alike, as normal quantiles of (r - 3/8)/(S + 1/4)."""
    from scipy.special import ndtri

    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    ranks = np.cumsum(count) - (count - 1) / 2
    return ndtri((ranks[place].reshape(x.shape) - 3 / 8) / (x.size + 1 / 4))


def _variances(x: Array) -> tuple[float, float]:
    """Variance within the chains, and of all draws: W and var+ of Vehtari's Eq. 1-3."""
    n = x.shape[1]
    within = float(x.var(axis=1, ddof=1).mean())
    return within, (n - 1) / n * within + float(x.mean(axis=1).var(ddof=1))


def _r_hat(x: Array) -> float:
    within, total = _variances(x)
    if total == 0:
        return 1.0
    return float(np.sqrt(total / within)) if within else float("inf")


def _ess(x: Array) -> float:
    """ESS of chains (m, n): m n / tau, with tau from the initial monotone sequence of paired autocorrelations [Geyer 1992]."""
    m, n = x.shape
    _, total = _variances(x)
    if total == 0:
        return float(m * n)
    centred = x - x.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :n].mean(axis=0) / (n - 1)
    rho = 1 - (covariance[0] - covariance) / total
    rho[0] = 1
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs[: int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)]
    tau = -1 + 2 * np.minimum.accumulate(positive).sum()
    return float(m * n / max(tau, 1 / np.log10(m * n)))  # anticorrelated draws count for more, up to a bound
