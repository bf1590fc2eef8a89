"""Energies of three erf layers on He_3 at finite size, with constants: which layer specialises, and how many neurons.

d, N1, N2  input dimension and widths; inputs x ~ N(0, I_d), standard scaling
alpha      alignment <f, y> / <y, y> of output f and target y = He_3(u) / sqrt(6), u = w*.x
M1         neurons of the first layer that specialise: w.w* = c and |w_perp| = r in M1 of N1, which is rounded in no formula
M2         neurons of the second layer with z beyond OUTLIER, in standard deviations of its prior
g1, g3     <erf(w.x), u> and <erf(w.x), y> of such a neuron
s^2        variance of a second-layer preactivation across u and y, as the lazy and the rest of the specialised neurons leave it
z          N(0, 1) under the prior: how strongly a second-layer neuron weighs the specialised neurons together
G(z)       <erf(sqrt(M1/N1) z (g1 u + g3 y) + s p), y>, p ~ N(0, 1)
E2         max over t of t alpha - N2 log E_z exp(t^2 G(z)^2 / (2 N2)), the second layer's and the readout's share (theory.rarity)

The patterns are those of [Rubin25 Sec. 6.1, Table 1], whose energies leave constants open; these do not:
Sp.-Mag.  E = min over M1, c, r of M1 (d/2) (c^2 + r^2 - 1 - log r^2) + E2
GP-Sp.    M1 = 0: a second-layer neuron sees u through the lazy kernel, with g1^2 M1/N1 = lambda/d and g3 = 0
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .large_deviation import OUTLIER
from .rarity import rarity

Array = np.ndarray[Any, Any]

LAZY = 2 / np.pi * np.arcsin(2 / 3)
"""Kernel (2/pi) arcsin(2 x.x'/3) of erf neurons at x = x', |x|^2 = d [Williams 1997]."""
LINEAR = 4 / (3 * np.pi)
"""lambda, its slope at x.x' = 0: the linear part of the kernel is lambda x.x'/d."""
REACH, STEP = 40.0, 1 / 4
"""End and step of the grid of z. 4 sqrt(d) are added to the end, so that erf has saturated there: in GP-Sp. the preactivation is
lambda^(1/2) z u/sqrt(d) > 2.6 u. The trapezoidal rule at 1/4 of the prior's width is exact to rounding."""
MOST_U, N_NODES = 9.0, 160
"""Gauss-Legendre nodes in u, from 0 on as the integrand is even; the prior has exp(-40) beyond. They are dense, as erf jumps
within 0.1 in u where z is large: 50 Gauss-Hermite nodes are wrong by 1.5% there."""


class FirstLayer(NamedTuple):
    """Least energy of Sp.-Mag., in nats, and the specialised neurons of the first layer there."""

    energy: float
    M1: float
    c: float
    r: float


class SecondLayer(NamedTuple):
    """The second layer's and the readout's share of the energy, in nats, and the specialised neurons of the second layer.

    The share is all of GP-Sp.'s energy, and the E2 of Sp.-Mag.'s."""

    energy: float
    M2: float


def projections(c: float, r: float) -> tuple[float, float]:
    """g1 and g3 of erf(c u + r p)."""
    total = 1 + 2 * (c**2 + r**2)
    return 2 * c / np.sqrt(np.pi * total), -np.sqrt(8 / (3 * np.pi)) * c**3 / total**1.5


def second_layer(alpha: float, N2: int, d: int, on_u: float, on_y: float, rest: float) -> SecondLayer:
    """E2 and M2, where a second-layer neuron has the preactivation z (on_u u + on_y y), and `rest` = s^2 across it."""
    z = np.arange(0, REACH + 4 * np.sqrt(d), STEP)
    log_weights = -(z**2) / 2 + np.log(STEP * np.sqrt(2 / np.pi) * np.where(z == 0, 0.5, 1.0))
    found = rarity(alpha, N2, projected(z, on_u, on_y, rest) ** 2 / (2 * N2), log_weights)
    return SecondLayer(found.energy, float(N2 * np.exp(found.tilted) @ np.where(z == OUTLIER, 0.5, z > OUTLIER)))


def projected(z: Array, on_u: float, on_y: float, rest: float) -> Array:
    """G(z) (n,); the Gaussian rest is integrated out: E erf(a + s p) = erf(a / sqrt(1 + 2 s^2))."""
    from scipy.special import erf

    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    u = MOST_U / 2 * (nodes + 1)
    weights = MOST_U * weights * np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    y = (u**3 - 3 * u) / np.sqrt(6)
    return np.asarray(erf(np.outer(z, on_u * u + on_y * y) / np.sqrt(1 + 2 * rest)) @ (y * weights))


def specialised_energy(alpha: float, d: int, N1: int, N2: int, M1: float, c: float, r: float) -> float:
    """Energy of Sp.-Mag. with these M1, c, r, in nats."""
    (g1, g3), share = projections(c, r), M1 / N1
    kernel = 2 / np.pi * np.arcsin(2 * (c**2 + r**2) / (1 + 2 * (c**2 + r**2)))
    rest = (1 - share) * LAZY + share * (kernel - g1**2 - g3**2)
    cost = M1 * d / 2 * (c**2 + r**2 - 1 - np.log(r**2))
    return float(cost + second_layer(alpha, N2, d, np.sqrt(share) * g1, np.sqrt(share) * g3, rest).energy)


@lru_cache(maxsize=1024)
def sp_mag(alpha: float, d: int, N1: int, N2: int) -> FirstLayer:
    """Least energy of Sp.-Mag. over M1 <= N1, c and r. ValueError for alpha <= 0 or a size below 1, RuntimeError
    if no minimum was found."""
    from scipy.optimize import minimize

    _check(alpha, d, N1, N2)
    found = minimize(
        lambda logs: specialised_energy(alpha, d, N1, N2, *np.exp(logs)),
        np.log([min(2.0, N1), 1.4, 0.5]),  # its place at any size, but for M1
        method="Nelder-Mead",
        bounds=[(None, np.log(N1)), (None, None), (None, None)],
        options={"xatol": 1e-4, "fatol": 1e-5},  # the energy is quadratic there: better than 1e-5 of it
    )
    if not found.success:
        raise RuntimeError(f"no minimum of Sp.-Mag. at alpha = {alpha}, d = {d}, N1 = {N1}, N2 = {N2}: {found.message}")
    return FirstLayer(float(found.fun), *map(float, np.exp(found.x)))


@lru_cache(maxsize=1024)
def gp_sp(alpha: float, d: int, N2: int) -> SecondLayer:
    """Energy of GP-Sp., which does not depend on N1. ValueError for alpha <= 0 or a size below 1."""
    _check(alpha, d, N2)
    return second_layer(alpha, N2, d, np.sqrt(LINEAR / d), 0.0, LAZY)


def _check(alpha: float, *sizes: int) -> None:
    if not alpha > 0 or min(sizes) < 1:
        raise ValueError(f"alpha = {alpha}, sizes {', '.join(map(str, sizes))}: all must be positive")
