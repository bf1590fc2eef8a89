"""The Markov process that stands for one hidden neuron of a rich network [Tong25 App. C.3, C.4].

omega   coordinates of the neuron's two halves in the training symbols, (runs, 2, L), zero at the start
(u, v)  symbols of a drawn example: v = u with probability 1/2, else another symbol
rho     preactivation omega^1_u + omega^2_v; the draw updates if rho > 0, or if rho = 0 with probability 1/2
a       readout; only its sign matters to omega: +1 goes to omega^1_u and omega^2_v where the label matches it, -1 where not
N       draws in a batch, during which omega stands still
drive   mean of S(u, v) relu(rho) over a batch's draws, S = 1 for same and -1 for different draws: what drives a [C.4.3]
s       position of a walker, s_u = omega^1_u + omega^2_u
mu      fraction of mixed-sign draws that update, over all draws of a run; the paper conjectures 1/2 and defines it twice:
        `mu_text`, C.4's text: among different draws with s_u s_v < 0;
        `mu_code`, the authors' code: among all draws with (omega^1_u + omega^1_v) (omega^2_u + omega^2_v) < 0.

The paper's 0.508 +- 0.056 (a > 0) and 0.499 +- 0.009 (a < 0), mean and 2 s.d. of 100 runs with L = 16, N = 512 and 100 steps, are
`mu_code`'s: 6000 runs give 0.507 +- 0.050 and 0.499 +- 0.010 here, against 0.543 +- 0.221 and 0.498 +- 0.012 for `mu_text`
(leaving out one run of the 6000 that froze early and had 0.18).
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from analysis.theory.estimate import Estimate

Array = np.ndarray[Any, Any]


class Ensemble(NamedTuple):
    """Final omega (runs, 2, L); each run's mu (runs,) by both definitions, NaN where no draw had mixed signs; and the change of
    its readout, the sum of `drive` over all batches (runs,)."""

    omega: Array
    mu_code: Array
    mu_text: Array
    readout: Array


class Spread(NamedTuple):
    """Mean of the runs and, as the paper gives it, twice their standard deviation."""

    mean: float
    two_sd: float


class Batch(NamedTuple):
    """Draws of one batch, each (runs, N): the symbols and the coin that decides at rho = 0."""

    u: Array
    v: Array
    heads: Array


def draw_batch(n_runs: int, n_symbols: int, n_draws: int, rng: np.random.Generator) -> Batch:
    """Half the draws same, half different, independently; `n_symbols` at least 2."""
    size = (n_runs, n_draws)
    u = rng.integers(n_symbols, size=size)
    shift = np.where(rng.random(size) < 0.5, 0, rng.integers(1, n_symbols, size=size))
    return Batch(u, (u + shift) % n_symbols, rng.random(size) < 0.5)


class Step(NamedTuple):
    """Omega after a batch; (updates, draws) with mixed signs, (2, runs), by the code's and by the text's definition; and the
    batch's drive (runs,)."""

    omega: Array
    mixed_code: Array
    mixed_text: Array
    drive: Array


def step(omega: Array, batch: Batch, sign: Literal[1, -1]) -> Step:
    """One batch for all runs; `sign` is that of a."""
    n_runs, _, n_symbols = omega.shape
    first, second = omega[:, 0].ravel(), omega[:, 1].ravel()
    at = np.arange(n_runs)[:, None] * n_symbols
    u, v = at + batch.u, at + batch.v
    u1, v1, u2, v2 = first[u], first[v], second[u], second[v]
    rho = u1 + v2
    is_updated = (rho > 0) | ((rho == 0) & batch.heads)
    is_same = u == v
    change = (np.where(is_same, sign, -sign) * is_updated).ravel()
    omega = np.stack([w + np.bincount(i.ravel(), change, w.size) for w, i in ((first, u), (second, v))])
    mixed = (u1 + v1) * (u2 + v2) < 0, (u1 + u2) * (v1 + v2) < 0  # the latter cannot be of same draws
    code, text = (np.stack([(m & is_updated).sum(1), m.sum(1)]) for m in mixed)
    drive = (np.where(is_same, 1, -1) * np.maximum(rho, 0)).mean(1)
    return Step(omega.reshape(2, n_runs, n_symbols).swapaxes(0, 1), code, text, drive)


def simulate(
    sign: Literal[1, -1], *, n_symbols: int = 16, n_draws: int = 512, n_steps: int = 100, n_runs: int = 100, seed: int = 0
) -> Ensemble:
    """Independent runs of the process for neurons whose readout has this sign; ValueError for fewer than 2 symbols."""
    if n_symbols < 2:
        raise ValueError(f"different draws need 2 symbols, not L = {n_symbols}")
    rng = np.random.default_rng(seed)
    omega = np.zeros((n_runs, 2, n_symbols))
    mixed_code = mixed_text = np.zeros((2, n_runs))
    readout = np.zeros(n_runs)
    for _ in range(n_steps):
        now = step(omega, draw_batch(n_runs, n_symbols, n_draws, rng), sign)
        omega, mixed_code, mixed_text = now.omega, mixed_code + now.mixed_code, mixed_text + now.mixed_text
        readout = readout + now.drive
    with np.errstate(invalid="ignore"):
        return Ensemble(omega, mixed_code[0] / mixed_code[1], mixed_text[0] / mixed_text[1], readout)


def spread(mu: Array) -> Spread:
    """Mean and 2 s.d. of the runs that have a mu."""
    known = mu[~np.isnan(mu)]
    return Spread(float(known.mean()), float(2 * known.std()))


def halves_cosine(omega: Array) -> Array:
    """Cosine of omega^1 and omega^2, (runs,); C.4: tends to 1 for a > 0 (parallel) and to -1 for a < 0 (antiparallel).

    Simulated, the halves grow by a drift and their difference (for a < 0 their sum) stays bounded: 1 - |cosine| falls as 1 /
    steps^2.
    """
    w1, w2 = omega[:, 0], omega[:, 1]
    return np.asarray((w1 * w2).sum(1) / (np.linalg.norm(w1, axis=1) * np.linalg.norm(w2, axis=1)))


def half_norm_ratio(omega: Array) -> Array:
    """Smaller over larger norm of omega^1 and omega^2, (runs,)."""
    norms = np.linalg.norm(omega, axis=2)
    return np.asarray(norms.min(1) / norms.max(1))


def of_trained(n_symbols: int, n_draws: int, n_runs: int = 1000) -> dict[str, Estimate]:
    """The process's values of measures of trained networks: alignment_pos, alignment_neg, half_norm_ratio, readout_ratio.

    It runs for the paper's 100 batches, each of `n_draws`, for neurons of both signs. All readouts start at 0 [C.4.3].
    """
    positive = simulate(1, n_symbols=n_symbols, n_draws=n_draws, n_runs=n_runs, seed=0)
    negative = simulate(-1, n_symbols=n_symbols, n_draws=n_draws, n_runs=n_runs, seed=1)
    (up, up_error), (down, down_error) = Estimate.of(positive.readout), Estimate.of(negative.readout)
    ratio = abs(down / up)
    return {
        "alignment_pos": Estimate.of(halves_cosine(positive.omega)),
        "alignment_neg": Estimate.of(halves_cosine(negative.omega)),
        "half_norm_ratio": Estimate.of(half_norm_ratio(np.concatenate([positive.omega, negative.omega]))),
        "readout_ratio": Estimate(ratio, ratio * float(np.hypot(up_error / up, down_error / down))),
    }
