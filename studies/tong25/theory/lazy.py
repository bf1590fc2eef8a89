"""The lazy regime of same-different: its kernel and its bound [Tong25 S3.3, App. D, Theorem 2].

L     number of training symbols
d     dimension of one symbol; the network sees x = (z1; z2) in R^{2d}
u     cosine of the angle between two inputs
K(u)  tangent kernel of the infinitely wide network at its initial weights, on the unit sphere [App. D]
c     constant in the exponent of Theorem 2, which the paper leaves open

With a, w ~ N(0, 1/m) and f = 1/eps sum_i a_i relu(w_i . x), sum_i (eps df/da_i)(eps df/da_i)' tends to
|x||x'| (u (1 - arccos(u)/pi)/2 + sqrt(1-u^2)/(2 pi)) and the part of w to |x||x'| u (1 - arccos(u)/pi)/2: together |x||x'| K(u),
with no further factor. So gradient flow at rate alpha_0 is df/dt = alpha_0 sum_x' p_x' |x||x'| K(u) (y' - sigmoid(f(x'))).
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def error_bound(n_symbols: Array | float, d: Array | float, c: float) -> Array:
    """The shape exp(-c L/d^2) of the bound on the test error, Theorem 2; at most 1/2, which is chance.

    The theorem is O(exp(-L/d^2)): c > 0 is FREE, it is no prediction but may be fitted. The prediction is that curves coincide
    in L/d^2, or lie below.
    """
    n, dim = np.asarray(n_symbols, dtype=float), np.asarray(d, dtype=float)
    return np.minimum(np.exp(-c * n / dim**2), 0.5)


def accuracy_bound(n_symbols: Array | float, d: Array | float, c: float) -> Array:
    """1 - `error_bound`, between 1/2 and 1; c as free as there."""
    return 1 - error_bound(n_symbols, d, c)


def ntk(u: Array | float) -> Array:
    """K(u) [App. D]; u beyond [-1, 1] by rounding is cut. K(1) = 1."""
    x = np.clip(u, -1, 1)
    # In place and with arcsin: this runs over 10^7 entries.
    root = np.sqrt(1 - x * x)
    root /= 2 * np.pi
    angle = np.arcsin(x)
    angle /= np.pi
    angle += 0.5
    angle *= x
    return np.asarray(angle + root)


def ntk_of_inputs(x: Array, other: Array) -> Array:
    """|x||x'| K(cos), (n, n') for inputs (n, D) and (n', D) other than 0: the kernel is homogeneous in each of them."""
    norms = np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(other, axis=1)
    return ntk(x @ other.T / norms) * norms


def tangent_kernel(x: Array, other: Array, w: Array, a: Array) -> Array:
    """sum_i relu(h_i) relu(h_i') + a_i^2 relu'(h_i) relu'(h_i') x . x', (n, n'), h = x w, of a network w (D, m), a (m,)."""
    h, k = x @ w, other @ w
    return np.asarray(np.maximum(h, 0) @ np.maximum(k, 0).T + (x @ other.T) * ((h > 0) * a**2 @ (k > 0).T))
