"""In-context linear regression by one layer of linear attention, as ridge regression on d (d + 1) features [Lu25].

context   examples x_i ~ N(0, I_d), y_i = w.x_i + N(0, rho), i = 1 .. l, and a query x; w ~ N(0, I/d). alpha = l/d
P         training contexts, tau = P/d^2; their tasks are k drawn ones, kappa = k/d, or (None) each has its own
h         (u, v/sqrt(d)), u = (1/l) sum_i y_i x_i, v = (1/l) sum_i y_i^2; f = x' G h, features x h'/sqrt(d)
R, A      E h h', E w h'. Given w, with s = |w|^2 + rho:                                                [derived here]
          E u u' = (s/l) I + (1 + 1/l) w w', E v u = (1 + 2/l) s w, E v^2 = (1 + 2/l) s^2, E w u' = w w', E w v = s w
error     of a given G: rho + |w|^2 - 2 tr G A' + tr G R G', means over tasks: training ones (old), or N(0, I/d) (new)
best      many contexts and tasks: G = c (I, 0), c = 1/(1 + (1 + d (1 + rho))/l), error rho + 1 - c       [Ahn23, Zhang23]
learned   regression on Gaussian features of the same covariance I x R/d (`ridge_curves`): mean G = A (R + K)^-1, where
          d tr R (R + K)^-1 + d ridge/K = P; old = error of mean G/(1 - d tr (R (R + K)^-1)^2/P);
          new = error of mean G + old (d/P) tr R (R + K)^-1 R_new (R + K)^-1                        [derived here; its limit Lu25]
limit     d to infinity at fixed alpha, tau, kappa: v drops out, d R has eigenvalues c_0 + omega, c_0 = (1 + rho)/alpha, omega of
          Marchenko and Pastur's law with 1/kappa. Without ridge and for kappa = infinity, with c = 1/(1 + c_0):
          (1 + rho - c + (1 - tau)^2 c)/(1 - tau) below tau = 1, (1 + rho - c) tau/(tau - 1) above: a peak at P = d^2
          For alpha, tau to infinity: old = rho, new = rho + max(0, 1 - kappa): training tasks by heart below k = d
few       many contexts of k tasks: G = A R^-1 of those tasks
bayes     least error of any network on new tasks: ridge regression on the context's own examples, whose posterior covariance is
          (d + X'X/rho)^-1, X (l, d); error rho + E tr of it
Rivals: the error of mean G alone, without a peak; a peak at P = d, as of regression on the query; tasks counted apart from d.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from analysis.theory.ridge_curves import effective_ridge
from sweepkit.stats.checks import Floats

NODES = 400
"""Nodes of the Marchenko-Pastur law, midpoints in the angle in which its density is smooth and periodic."""


class Moments(NamedTuple):
    """Means over contexts of certain tasks."""

    read: Floats
    """R (d + 1, d + 1)."""
    wanted: Floats
    """A (d, d + 1)."""
    power: float
    """E |w|^2."""


class Errors(NamedTuple):
    """Mean squared errors on contexts of new tasks and of those of training; and on new ones without fluctuations of G."""

    new: float
    old: float
    naive: float


def of_tasks(tasks: Floats, l: int, rho: float) -> Moments:  # noqa: E741  # the paper's l
    """Moments of contexts whose tasks are the rows (k, d)."""
    k, _ = tasks.shape
    squares = (tasks**2).sum(1)
    s = squares + rho
    return _moments(tasks.T @ tasks / k, (s[:, None] * tasks).mean(0), float(s.mean()), float((s**2).mean()), l)


def of_new(d: int, l: int, rho: float) -> Moments:  # noqa: E741
    """Moments of contexts with tasks ~ N(0, I/d)."""
    return _moments(np.eye(d) / d, np.zeros(d), 1 + rho, (1 + rho) ** 2 + 2 / d, l)


def error(G: Floats, of: Moments, rho: float) -> float:
    """Mean squared error of f = x' G h."""
    return float(rho + of.power - 2 * (G * of.wanted).sum() + ((G @ of.read) * G).sum())


def best(d: int, l: int, rho: float) -> float:  # noqa: E741
    """Least error of linear attention on new tasks."""
    return rho + 1 - 1 / (1 + (1 + d * (1 + rho)) / l)


@lru_cache(maxsize=256)
def bayes(d: int, l: int, rho: float, draws: int = 20_000) -> float:  # noqa: E741
    """Least error on new tasks, a mean over drawn contexts: known to better than 1%."""
    if rho == 0:
        return max(0.0, 1 - l / d)  # exact: of w nothing is left but what is orthogonal to the l examples
    x = np.random.default_rng(0).standard_normal((draws, l, d))
    precisions = d * np.eye(d) + np.swapaxes(x, 1, 2) @ x / rho
    return float(rho + np.trace(np.linalg.inv(precisions), axis1=1, axis2=2).mean())


@lru_cache(maxsize=256)
def few(d: int, l: int, k: int, rho: float, draws: int = 4000) -> Errors:  # noqa: E741
    """Errors of linear attention after many contexts of k tasks, a mean over drawn tasks."""
    new, rng, found = of_new(d, l, rho), np.random.default_rng(0), []
    for _ in range(draws):
        old = of_tasks(rng.standard_normal((k, d)) / d**0.5, l, rho)
        G = old.wanted @ np.linalg.inv(old.read)
        found.append((error(G, new, rho), error(G, old, rho)))
    on_new, on_old = np.mean(found, axis=0)
    return Errors(float(on_new), float(on_old), float(on_new))


def learned(P: int, ridge: float, rho: float, train: Moments, new: Moments) -> Errors:
    """Errors after P contexts with the moments `train`."""
    d = len(train.wanted)
    values, vectors = np.linalg.eigh(train.read)
    K = effective_ridge(values, np.full(d + 1, d), ridge * d, P)
    Q = (vectors / (values + K)) @ vectors.T
    G = train.wanted @ Q
    old = error(G, train, rho) / (1 - d * float(((values / (values + K)) ** 2).sum()) / P)
    naive = error(G, new, rho)
    return Errors(naive + old * d / P * float(((train.read @ Q) * (new.read @ Q).T).sum()), old, naive)


@lru_cache(maxsize=1024)
def drawn(d: int, l: int, k: int | None, P: int, ridge: float, rho: float, draws: int = 8) -> Errors:  # noqa: E741
    """`learned` at finite d, its mean over draws of k tasks; None: each context has a task of its own."""
    new = of_new(d, l, rho)
    if k is None:
        return learned(P, ridge, rho, new, new)
    rng = np.random.default_rng(0)
    sets = [of_tasks(rng.standard_normal((k, d)) / d**0.5, l, rho) for _ in range(draws)]
    return Errors(*(float(mean) for mean in np.mean([learned(P, ridge, rho, one, new) for one in sets], axis=0)))


def limit(tau: float, alpha: float, kappa: float, ridge: float, rho: float) -> Errors:
    """Errors as d grows at fixed tau, alpha and kappa, which may be infinite."""
    omega, share = marchenko_pastur(kappa)
    c_0 = (1 + rho) / alpha
    read = c_0 + omega
    K = effective_ridge(read, share, ridge, tau)
    G, learnt = omega / (read + K), read / (read + K)
    old = float(rho + share @ (omega - 2 * G * omega + G**2 * read)) / (1 - float(share @ learnt**2) / tau)
    naive = float(rho + share @ (1 - 2 * G + G**2 * (1 + c_0)))
    return Errors(naive + old / tau * float(share @ (read / (read + K) ** 2)) * (1 + c_0), old, naive)


def marchenko_pastur(kappa: float) -> tuple[Floats, Floats]:
    """Eigenvalues of d (1/k) sum of w w' over k = kappa d tasks w ~ N(0, I/d), large d, and their shares."""
    if np.isinf(kappa):
        return np.ones(1), np.ones(1)
    angle, half = (np.arange(NODES) + 0.5) * np.pi / NODES, 2 / kappa**0.5
    omega = 1 + 1 / kappa + half * np.cos(angle)
    share = half**2 * np.sin(angle) ** 2 / (2 * np.pi * omega / kappa) * np.pi / NODES
    return np.r_[omega, 0.0], np.r_[share, max(0.0, 1 - kappa)]


def _moments(second: Floats, towards: Floats, s: float, squared: float, l: int) -> Moments:  # noqa: E741
    """Moments from E w w' (d, d), E s w (d,), E s and E s^2."""
    d = len(second)
    read = np.empty((d + 1, d + 1))
    read[:d, :d] = s / l * np.eye(d) + (1 + 1 / l) * second
    read[:d, d] = read[d, :d] = (1 + 2 / l) * towards / d**0.5
    read[d, d] = (1 + 2 / l) * squared / d
    return Moments(read, np.c_[second, towards / d**0.5], float(np.trace(second)))
