"""Deep linear networks from a small start: each mode of the target waits, then is learnt at once [Saxe14].

L        number of weight matrices W_1 .. W_L of widths at least the target's rank; hidden width m, inputs d
s        strength of a mode: its singular value in the map to be learnt, y = sum_k s_k u_k v_k'x with white inputs
u(t)     its strength in the network, u_k' W_L .. W_1 v_k
u_0      u at the start, far below s
t        time of gradient flow on |y - f|^2/2; for the loss |y - f|^2 of this project, 2 x rate x steps
share    u/s

Balanced weights along the modes, W_l W_l' = W_(l+1)' W_(l+1) [Saxe14]: du/dt = L u^(2 - 2/L) (s - u), so
L = 2    u = s/(1 + (s/u_0 - 1) exp(-2 s t)), half time ln((s - u_0)/u_0)/(2 s)
L > 2    t = (F(u/s) - F(u_0/s))/(L s^(2 - 2/L)), F(w) = -w^(-c)/c 2F1(1, -c; 1 - c; w), c = 1 - 2/L (derived here)
         leading u_0^(-c)/(s (L - 2))

Small Gaussian weights (derived here)
L = 2    z_k = W_1 v_k + W_2' u_k (m,) grows, the difference decays. Modes learnt before hold z_1 .. z_(k-1), so that
         u_0 = |z_k orthogonal to these|^2/4; with variances s_0^2/d and s_0^2/m, s_0^2 (m/d + 1)/4 times chi^2_(m-k+1)/m
L > 2    layers are not balanced: times are known up to a factor. The flow of W_l = s_0 V_l at W_l << 1 is that of V_l in the
         time s_0^(L-2) t, so that t ~ s_0^-(L-2): the u_0^(-c) of u_0 = s_0^L

d_lr     of the trained balanced network: along each mode features have variance s^(2 - 2/L), outputs s^2 (derived here)
The rival is lazy training, where all modes of white inputs are learnt at one rate, whatever their strengths.
"""

import numpy as np
from numpy.typing import ArrayLike

from sweepkit.stats.checks import Floats


def time_to(share: ArrayLike, s: ArrayLike, u_0: ArrayLike, layers: int) -> Floats:
    """t at which u = share s, from u_0 at t = 0; by broadcasting, with 0 < u_0 and 0 < share < 1."""
    share, s, u_0 = (np.asarray(value, float) for value in (share, s, u_0))
    if layers == 2:
        return np.asarray((np.log(share / (1 - share)) + np.log((s - u_0) / u_0)) / (2 * s))
    return np.asarray((_antiderivative(share, layers) - _antiderivative(u_0 / s, layers)) / (layers * s ** (2 - 2 / layers)))


def leading(s: ArrayLike, u_0: ArrayLike, layers: int) -> Floats:
    """u_0^-(1 - 2/L)/(s (L - 2)), to which any share's time tends for small u_0, L > 2."""
    return np.asarray(np.asarray(u_0, float) ** -(1 - 2 / layers) / (np.asarray(s, float) * (layers - 2)))


def gaussian_start(w_1: Floats, w_2: Floats) -> Floats:
    """u_0 of each mode, strongest first, from small weights: W_1' (modes, m) of their inputs, W_2 (modes, m) of their outputs."""
    growing = np.linalg.qr((np.asarray(w_1, float) + np.asarray(w_2, float)).T)[1]  # Gram and Schmidt
    return np.asarray(np.diag(growing) ** 2 / 4)


def typical_start(init_scale: float, d: int, width: int, mode: int = 1) -> float:
    """exp(E ln u_0) of small Gaussian weights of two layers, of variances init_scale^2/d and init_scale^2/width."""
    from scipy.special import digamma

    return float(init_scale**2 * (width / d + 1) / 4 * 2 * np.exp(digamma((width - mode + 1) / 2)) / width)


def start(kind: str, init_scale: float, layers: int, d: int, width: int, mode: int = 1) -> float | None:
    """u_0 of a mode of network `mlp` by its key `start`; None for deep Gaussian weights, whose times are known up to a factor."""
    if kind == "balanced":
        return float(init_scale**layers)
    return typical_start(init_scale, d, width, mode) if layers == 2 else None


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
