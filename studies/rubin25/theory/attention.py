"""Samples at which softmax attention learns pairs of tokens: lazy heads against heads with a spike [Rubin25 Sec. 6.2, App. E.3].

d, Lc  dimension and number of tokens x_a ~ N(0, I_d); H heads; kappa ridge
f      (H Lc)^(-1/2) sum_h sum_ab softmax_b(x_a'A_h x_b / sqrt(d)) v_h.x_b, entries of A_h and v_h ~ N(0, 1/d)
y      sum over a != b of c_a (c_b^2 - 1), of norm 1, c = w*.x; alpha = <f, y>
m, u   spike w*'A_h w* and readout v_h.w* of a head, N(0, 1/d) under the prior; S the sum of m^2 over the heads
r      (1 - 1/Lc)^(1/2) (1 - 3/Lc), what few tokens leave of a head's overlap
t      conjugate of alpha, t = E'(alpha); P* = kappa t / (1 - alpha) as for erf networks (large_deviation)

Our text of the paper has lost its formulas and keeps d^3 Lc, M d and Lc d^2 / M. Scales, target and all constants are restored
and derived here. In first order of the scores a head's overlap <phi_h, y> along w* is sqrt(2/Lc) r m/sqrt(d): the softmax keeps
1 - 1/Lc of a score, and terms of its denominator in which two of three tokens are the same take 2/Lc more. The second order has a
mean over the tokens that attend, -sqrt(2/Lc) 3/(2d), of the size of the first under the prior; the text leaves it out, and it
changes lambda by a constant alone. Energies:
  lazy heads    alpha ~ N(0, lambda), lambda = 2 (r^2 + 9/4) / (Lc d^3), E = alpha^2 / (2 lambda)
  a spike       E = d S/2 + alpha^2 H Lc d^2 / (4 r^2 S), least at S = alpha sqrt(H Lc d / 2) / r: E = d S
M heads of m = 1 have S = M. The paper's M d + Lc d^2 / M has H = 1, or takes H for a constant: at H ~ d its sqrt(Lc d^3) becomes
d^2 sqrt(Lc), and at H above some alpha^2 Lc d^3 heads stay lazy. Both are limits of one function, as m and u are Gaussian:
  K(t) = log E exp(t alpha) = H (-log(1 - x) / 2 + 9 x / (8 r^2 (1 - x))), x = 2 r^2 t^2 / (H Lc d^3), alpha = K'(t).
Left out: saturation of the softmax at m ~ sqrt(d), the second order's own 1/Lc and other terms of higher order, and, as in all
bounds here, what networks pay for the part of f across y. At few tokens that is much: lambda is 3.8, 2.1, 1.5 times that of heads
drawn from the prior at Lc = 8, 16, 32 (`drawn_eigenvalue`; docs/science/curse-of-detail.md), the rival of verdicts.
Rival: lazy heads, P* = kappa alpha / (lambda (1 - alpha)) ~ Lc d^3 for many tokens.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_CONTEXT = 4
"""Least Lc: at 3 the first order of the softmax has no overlap with the target."""


def reduced(context: int) -> float:
    """r, which is 1 for many tokens. ValueError below LEAST_CONTEXT."""
    if context < LEAST_CONTEXT:
        raise ValueError(f"context {context}: the first order of the softmax takes {LEAST_CONTEXT} tokens at least")
    return sqrt(1 - 1 / context) * (1 - 3 / context)


def overlap(m: float, d: int, context: int) -> float:
    """<phi_h, y> along w* of a head with spike m, in first and second order of the scores."""
    return sqrt(2 / context) * (reduced(context) * m / sqrt(d) - 3 / (2 * d))


def eigenvalue(d: int, context: int) -> float:
    """lambda, the variance of alpha under the prior: the kernel of lazy heads in the direction of y. Any number of heads."""
    return 2 * (reduced(context) ** 2 + 9 / 4) / (context * d**3)


def lazy_energy(alpha: float, d: int, context: int) -> float:
    """E of lazy heads."""
    return alpha**2 / (2 * eigenvalue(d, context))


def spiked_energy(alpha: float, spikes: float, d: int, context: int, heads: int) -> float:
    """E of heads whose spikes have the sum of squares `spikes`: S, or M heads of m = 1."""
    return d * spikes / 2 + alpha**2 * heads * context * d**2 / (4 * reduced(context) ** 2 * spikes)


def least_spikes(alpha: float, d: int, context: int, heads: int) -> float:
    """S at which `spiked_energy` is least."""
    return alpha * sqrt(heads * context * d / 2) / reduced(context)


def crossing(d: int, context: int, heads: int) -> float:
    """alpha above which a spike costs less than lazy heads; above 1 no head specialises."""
    return 2 * eigenvalue(d, context) * sqrt(heads * context * d**3 / 2) / reduced(context)


def slope(alpha: float, d: int, context: int, heads: int) -> float:
    """t = E'(alpha) of both patterns together: alpha = K'(t). ValueError unless alpha > 0."""
    from scipy.optimize import brentq

    if alpha <= 0:
        raise ValueError(f"alpha = {alpha}: must be positive")
    r = reduced(context)
    first = 2 * r**2 / (context * d**3)
    highest = sqrt(heads / first)  # x = 1

    def surplus(share: float) -> float:
        rest = 1 - share**2
        return first * highest * share * (1 / rest + 9 / (4 * r**2) / rest**2) - alpha

    return highest * float(brentq(surplus, 0.0, 1 - 1e-12))


def samples(alpha: float, d: int, context: int, heads: int, kappa: float = 1.0) -> float:
    """P* = kappa t / (1 - alpha). ValueError unless 0 < alpha < 1."""
    if alpha >= 1:
        raise ValueError(f"alpha = {alpha}: must be below 1")
    return kappa * slope(alpha, d, context, heads) / (1 - alpha)


def lazy_samples(alpha: float, d: int, context: int, kappa: float = 1.0) -> float:
    """P* of lazy heads alone, the rival."""
    return kappa * alpha / (eigenvalue(d, context) * (1 - alpha))


class Drawn(NamedTuple):
    """An eigenvalue as a mean over drawn heads, and its standard error."""

    value: float
    error: float


def drawn_eigenvalue(d: int, context: int, groups: int = 64, heads: int = 32, inputs: int = 8000, seed: int = 0) -> Drawn:
    """lambda as drawn, to all orders: the mean over heads of |<phi_h, y>|^2 / d, of any number of tokens from 2 on.

    Both factors of the square are of inputs of their own, so that the inputs' noise adds nothing to the mean. Groups of heads
    share nothing; the error is between them.
    """
    rng = np.random.default_rng(seed)
    half, products = inputs // 2, []
    for _ in range(groups):
        matrices = rng.standard_normal((heads, d, d), np.float32) / np.float32(sqrt(d))
        a, b = (_overlaps(rng.standard_normal((half, context, d), np.float32), matrices) for _ in range(2))
        products.append((a * b).sum(1).mean() / d)
    return Drawn(float(np.mean(products)), float(np.std(products, ddof=1) / sqrt(groups)))


def _overlaps(x: NDArray[np.float32], matrices: NDArray[np.float32]) -> NDArray[np.float32]:
    """<phi_h, y> of heads with these matrices (heads, d, d) over inputs x (n, Lc, d): (heads, d). w* is the first direction.

    A head without scores is taken off: its overlap is 0, and it has much of the inputs' noise.
    """
    n, context, d = x.shape
    c = x[:, :, 0]
    y = (c.sum(1) * (c**2 - 1).sum(1) - (c * (c**2 - 1)).sum(1)) / sqrt(2 * context * (context - 1))
    found = []
    for matrix in matrices:
        p = np.exp((x.reshape(-1, d) @ (matrix / sqrt(d))).reshape(n, context, d) @ x.transpose(0, 2, 1))
        p /= p.sum(2, keepdims=True)
        attended = (p.sum(1) - 1) * y[:, None]
        found.append(attended.reshape(1, -1) @ x.reshape(-1, d) / (n * sqrt(context)))
    return np.concatenate(found)
