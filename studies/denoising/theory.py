"""Linear denoisers: when each component of a signal is learnt from a noisy copy. Derived here; several layers as in [Saxe14].

lambda    variance of a component x ~ N(0, lambda) of the signal, an eigenvalue of its covariance
sigma^2   `noise`, variance of the noise in each component; inputs are z = x + sigma eps, targets x
L         number of layers of weights
w(t)      weight from z to x along the component
w_0       w at the start: 0 with one layer, far below the optimum with several
t         time of gradient flow on |x - f|^2/2; for the loss |x - f|^2 of this project, 2 x rate x steps
optimum   lambda/(lambda + sigma^2), to which w grows; the error that stays is lambda sigma^2/(lambda + sigma^2), Wiener's
share     w/optimum

E z^2 = lambda + sigma^2 and E x z = lambda, and components do not mix if weights begin along them, balanced. So
L = 1     dw/dt = lambda - (lambda + sigma^2) w, share = 1 - exp(-(lambda + sigma^2) t): half time ln 2/(lambda + sigma^2)
L >= 2    dw/dt = L w^(2 - 2/L) (lambda + sigma^2) (optimum - w), that is deep linear networks of strength `optimum` in the time
          (lambda + sigma^2) t. L = 2: half time ln(optimum/w_0 - 1)/(2 lambda)

The exponent of lambda in the half time of one layer is -lambda/(lambda + sigma^2), -1 in little noise and 0 in much. With two
layers it is -1 plus sigma^2/(lambda + sigma^2)/ln(optimum/w_0), so nearly -1 in any noise.
Rivals: -1 with one layer in much noise, too, as if the signal alone set the pace; 0 with two layers there, as with one; and
components learnt at the pace they have without noise.
"""

import numpy as np
from numpy.typing import ArrayLike

from sweepkit.stats.checks import Floats

from ..deep_linear.theory import time_to


def optimum(variance: ArrayLike, noise: ArrayLike) -> Floats:
    """lambda/(lambda + sigma^2)."""
    return np.asarray(np.asarray(variance, float) / np.add(variance, noise))


def wiener(variance: ArrayLike, noise: ArrayLike) -> Floats:
    """The least error of each component, lambda sigma^2/(lambda + sigma^2)."""
    return np.asarray(optimum(variance, noise) * np.asarray(noise, float))


def share_one(t: ArrayLike, variance: ArrayLike, noise: ArrayLike) -> Floats:
    """w/optimum of one layer from 0 at t."""
    return np.asarray(-np.expm1(-np.add(variance, noise) * np.asarray(t, float)))


def time_to_share(share: ArrayLike, variance: ArrayLike, noise: ArrayLike, layers: int, w_0: ArrayLike = 0.0) -> Floats:
    """t at which w = share x optimum, from w_0, which is above 0 with several layers; by broadcasting."""
    return np.asarray(time_to(share, optimum(variance, noise), w_0, layers) / np.add(variance, noise))
