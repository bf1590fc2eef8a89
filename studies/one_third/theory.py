"""The one-third law: a linear student of the sign of a Gaussian's component, under cross entropy and gradient flow.

c = w*.x ~ N(0, 1)   label: c > 0; with a margin mu, |c| + mu in place of |c|
f = D c              the student along w*, from D = 0; its other components stay 0 by symmetry
t                    rate x steps
dD/dt = E |c| sigmoid(-D |c|),  loss L = E log(1 + exp(-D |c|))
large t, no margin   D = (3 A t)^(1/3), L = A/D = A^(2/3) (3 t)^(-1/3), A = sqrt(2/pi) pi^2/12 = 0.6562
Derived here; the rival is a density that vanishes at the boundary, where L falls as 1/t up to logarithms [Soudry18].
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from sweepkit.stats.checks import Floats

A = float(np.sqrt(2 / np.pi) * np.pi**2 / 12)
"""lim D^2 E |c| sigmoid(-D |c|)."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)


def loss(t: ArrayLike, margin: float = 0.0) -> Floats:
    """L at each t > 0, to a relative 1e-5."""
    from scipy.integrate import solve_ivp

    t = np.asarray(t, float)
    last = float(t.max())
    solved = solve_ivp(
        lambda _, d: [_mean(lambda c: c / (1 + np.exp(d[0] * c)), d[0], margin)], (0, last), [0.0], "LSODA", dense_output=True,
        rtol=1e-8, atol=1e-10,
    )  # fmt: skip
    sizes = solved.sol(t.ravel())[0]
    return np.array([_loss_at(float(size), margin) for size in sizes]).reshape(t.shape)


def _loss_at(size: float, margin: float) -> float:
    return _mean(lambda c: np.log1p(np.exp(-size * c)), size, margin)


def leading(t: ArrayLike) -> Floats:
    """A^(2/3) (3 t)^(-1/3), the law at large t without a margin."""
    return np.asarray(A ** (2 / 3) * (3 * np.asarray(t, float)) ** (-1 / 3))


def _mean(of: Callable[[Floats], Floats], size: float, margin: float) -> float:
    """E of a function of |c| + margin, |c| half-normal. The nodes lie where exp(-size |c|) has weight, and beyond."""
    split = min(40 / max(size, 4.0), 10.0)
    total = 0.0
    for low, high in ((0.0, split), (split, 10.0)):
        c = (high - low) / 2 * (_NODES + 1) + low
        total += float((_WEIGHTS * np.sqrt(2 / np.pi) * np.exp(-(c**2) / 2) * of(c + margin)).sum() * (high - low) / 2)
    return total
