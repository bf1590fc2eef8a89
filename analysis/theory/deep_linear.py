"""Deep linear networks from a small start: each mode of the target waits, then is learnt at once [Saxe14].

L        number of weight matrices W_1 .. W_L of any widths above the target's rank
s        strength of a mode: its singular value in the map to be learnt, y = sum_k s_k u_k v_k'x with white inputs
u(t)     its strength in the network, u_k' W_L .. W_1 v_k
u_0      u at the start, far below s
t        time of gradient flow on |y - f|^2/2; for the loss |y - f|^2 of this project, 2 x rate x steps
share    u/s

du/dt = L u^(2 - 2/L) (s - u)           if W_l W_l' = W_(l-1)' W_(l-1), and along the modes [Saxe14, Arora18]
L = 2    u = s/(1 + (s/u_0 - 1) exp(-2 s t)), half time ln((s - u_0)/u_0)/(2 s)
L > 2    t = (F(u/s) - F(u_0/s))/(L s^(2 - 2/L)), F(w) = -w^(-c)/c 2F1(1, -c; 1 - c; w), c = 1 - 2/L; leading u_0^(-c)/(s (L - 2))
Small Gaussian weights, L = 2: the growing part of W_1, W_2 alone counts, u_0 = |u'W_2 + W_1 v|^2/4 (derived here); with variances
s_0^2/d and s_0^2/m it is s_0^2 (m/d + 1)/4 times chi^2_m/m. For L > 2 Gaussian weights of scale s_0 are not balanced, and their
times are known up to a factor: rescaling them shows t ~ s_0^-(L-2), as u_0^(-c) with u_0 = s_0^L (derived here).
d_lr     of the trained network: features have covariance s^(2 - 2/L), outputs s^2 along each mode (derived here)
The rival is lazy training, where all modes of white inputs are learnt at one rate, whatever their strengths.
"""

import numpy as np
from numpy.typing import ArrayLike

from stats.checks import Floats


def time_to(share: ArrayLike, s: ArrayLike, u_0: ArrayLike, layers: int) -> Floats:
    """t at which u = share s, from u_0 at t = 0; by broadcasting, with 0 < u_0 and 0 < share < 1."""
    share, s, u_0 = (np.asarray(value, float) for value in (share, s, u_0))
    if layers == 2:
        return np.asarray((np.log(share / (1 - share)) + np.log((s - u_0) / u_0)) / (2 * s))
    return np.asarray((_antiderivative(share, layers) - _antiderivative(u_0 / s, layers)) / (layers * s ** (2 - 2 / layers)))


def leading(s: ArrayLike, u_0: ArrayLike, layers: int) -> Floats:
    """u_0^-(1 - 2/L)/(s (L - 2)), to which any share's time tends for small u_0, L > 2."""
    return np.asarray(np.asarray(u_0, float) ** -(1 - 2 / layers) / (np.asarray(s, float) * (layers - 2)))


def typical_start(init_scale: float, d: int, width: int) -> float:
    """exp(E ln u_0) of small Gaussian weights of two layers, of variances init_scale^2/d and init_scale^2/width."""
    from scipy.special import digamma

    return float(init_scale**2 * (width / d + 1) / 4 * 2 * np.exp(digamma(width / 2)) / width)


def start(kind: str, init_scale: float, layers: int, d: int, width: int) -> float | None:
    """u_0 of network `mlp` by its key `start`; None for deep Gaussian weights, whose times are known up to a factor."""
    if kind == "balanced":
        return float(init_scale**layers)
    return typical_start(init_scale, d, width) if layers == 2 else None


def d_lr(s: ArrayLike, layers: int) -> float:
    """D_LR of the trained network, 1 - CKA of the last hidden features and the outputs, for modes of these strengths."""
    s = np.asarray(s, float)
    features, outputs = s ** (2 - 2 / layers), s**2
    return float(1 - (features * outputs).sum() / np.sqrt((features**2).sum() * (outputs**2).sum()))


def _antiderivative(w: Floats, layers: int) -> Floats:
    """F of w^-(2 - 2/L)/(1 - w)."""
    from scipy.special import hyp2f1

    c = 1 - 2 / layers
    return np.asarray(-(w**-c) / c * hyp2f1(1, -c, 1 - c, w))
