"""Two-layer linear networks under gradient flow, from rich to lazy: features, output and D_LR [Nam26], derived here.

x          input, f = a.Wx - a(0).W(0)x the centred output, W (m, d), a (m,); m >> d
sigma2     W(0)'W(0) = sigma2 I_d
tau2       |a(0)|^2, with W(0)'a(0) = 0; 0 in the simplest case
b          length of the learned coefficients, f = b u.x; B that of the target, y = B u.x, |u| = 1
g          variance of the features along u, |W u|^2; along all other directions it stays sigma2
S          sigma2 + tau2, the kernel of f at first
t          time: da/dt = -dE/da, dW/dt = -dE/dW, E = <(y - f)^2>/2, x ~ N(0, I_d)

Of W u and a the flow stretches the sum and shrinks the difference by one factor, so WW' - aa' stays: a.Wu = (S/2) sinh s and
|W u|^2 = (S cosh s + sigma2 - tau2)/2 for s that grows from 0. For a(0) = 0 features are sigma2 I + (g - sigma2) uu' whatever
the inputs' covariance and the path, since W'W = sigma2 I + cc' with a vector c parallel to W'a.
"""

from typing import Any, NamedTuple

import numpy as np

from .laziness import Alignment

Array = np.ndarray[Any, Any]


class Start(NamedTuple):
    """Scales of a network at initialisation."""

    sigma2: float
    tau2: float = 0.0

    @property
    def S(self) -> float:
        return self.sigma2 + self.tau2


def variance(start: Start, b: Array | float) -> Array:
    """g once the output is b u.x."""
    return np.asarray((start.sigma2 - start.tau2 + np.hypot(start.S, 2 * np.asarray(b, float))) / 2)


def alignment(d: int, start: Start, b: float) -> Alignment:
    """Features beside the output b u.x on white inputs: D = 1 - g/sqrt(g^2 + (d - 1) sigma2^2)."""
    g = float(variance(start, b))
    return Alignment(g, g + (d - 1) * start.sigma2, float(np.hypot(g, np.sqrt(d - 1) * start.sigma2)))


def d_lr(d: int, start: Start, b: float) -> float:
    """D of infinitely many neurons and examples: 0 for b >> sigma2 (rich), 1 - 1/sqrt(d) for b << sigma2 (lazy)."""
    return alignment(d, start, b).d_lr()


def learned(t: Array | float, start: Start, target: float) -> Array:
    """b at time t: db/dt = (B - b) sqrt(S^2 + 4 b^2), on white inputs. S > 0.

    With b = (S/2) sinh s, y = exp(s) obeys dy/dt = -(S/2) (y - y1)(y + 1/y1), which starts at 1 and ends at y1.
    """
    end = np.exp(np.arcsinh(2 * target / start.S))
    left = (1 - end) / (1 + 1 / end) * np.exp(-np.hypot(start.S, 2 * target) * np.asarray(t, float))
    y = (end + left / end) / (1 - left)
    return np.asarray(start.S * (y - 1 / y) / 4)
