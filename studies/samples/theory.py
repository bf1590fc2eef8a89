"""Samples that learning by fresh examples takes until it finds a target that depends on few directions.

d        input dimension, inputs x ~ N(0, I_d) or d fair bits
k        information exponent: the least degree of the target's Hermite (for bits: Fourier) components
leap     the most new directions that a term adds to those of terms learnt before, in the best order: k for He_k and for the
         parity of k bits, 1 for the staircase x_1 + x_1 x_2 + x_1 x_2 x_3
m        overlap u.w* of a neuron's direction
t        rate x steps
dm/dt = 2 s k m^(k-1) (1 - m^2) (1 - r)    flow of the neurons of network `sphere`, loss (f - y)^2, target He_k, readouts of signs
                                           s = +1 and -1
r = E_+ m^k - E_- m^k                      how much of y they have; means over neurons of each sign, at random directions at first
test error (1 - r)^2                       for many neurons in many dimensions, where they meet along w* only
rate ~ d^-max(1, k/2)                      keeps the noise that u collects, rate^2 d steps, of order 1 until the target is found
samples ~ d (k = 1), d log d (k = 2), d^(k-1) (k >= 3) [BenArous21]; with the leap in place of k for other sums [Abbe23]
The flow is derived here, and nothing in it is fitted. It leaves out noise, which slows learning at rates that are not small.
Rivals: lazy learning, a sample for each coefficient of degree k, ~ d^k; and no law of the leap: all targets of one degree take as
many samples, staircase or not.
"""

from collections.abc import Collection
from functools import lru_cache

import numpy as np

from sweepkit.stats.checks import Floats

from ..rubin25.theory.gaussian_process import lazy_error

FOUND = 0.5
"""Test error, over that of the output 0, at which a target counts as found."""
N_NODES = 500
"""Random directions that stand for all: twice as many change t by less than 0.1% from k = 1 to 4 and d = 16 to 256."""


def leap_of(terms: Collection[Collection[int]]) -> int:
    """The leap of a sum of products, each given by the directions it holds: {1}, {1, 2} for x_1 + x_1 x_2."""
    known: set[int] = set()
    left, largest = [{*term} for term in terms], 0
    while left:  # the term with the fewest new directions comes next: others only become easier by it
        following = min(left, key=lambda term: len(term - known))
        largest = max(largest, len(following - known))
        known |= following
        left.remove(following)
    return largest


def exponent(leap: int) -> int:
    """Exponent in d of the samples at large d, up to a logarithm for a leap of 2."""
    return max(leap - 1, 1)


@lru_cache(maxsize=256)
def flow_time(k: int, d: int, error: float = FOUND) -> float:
    """t at which the flow from random directions reaches a test error of `error`."""
    from scipy.integrate import solve_ivp
    from scipy.special import betaincinv

    # m^2 of a random direction is Beta(1/2, (d - 1)/2) distributed; nodes are the middles of equally likely parts.
    sizes = np.sqrt(betaincinv(0.5, (d - 1) / 2, (np.arange(N_NODES) + 0.5) / N_NODES))
    start = np.concatenate([sizes, -sizes])
    # For odd k neurons of s = -1 are mirror images of the others. For even k those of s = -1 lose the overlap they have.
    signs = np.array([[1.0]] if k % 2 else [[1.0], [-1.0]])

    def share(m: Floats) -> float:
        powers = (m.reshape(len(signs), -1) ** k).mean(1)
        return 2 * float(powers[0]) if k % 2 else float(powers[0] - powers[1])

    def flow(_: float, m: Floats) -> Floats:
        of = m.reshape(len(signs), -1)
        return np.ravel(2 * signs * k * of ** (k - 1) * (1 - of**2)) * (1 - share(m))

    def is_found(_: float, m: Floats) -> float:
        return (1 - share(m)) ** 2 - error

    is_found.terminal = True  # type: ignore[attr-defined]
    first = start if k % 2 else np.tile(start, 2)
    solved = solve_ivp(flow, (0, 1e3 * d ** max(0.5, k / 2 - 1)), first, "LSODA", events=is_found, rtol=1e-7, atol=1e-10)
    if not solved.t_events[0].size:
        raise ValueError(f"the flow of k = {k}, d = {d} does not reach a test error of {error:g}; it must be above 0 and below 1")
    return float(solved.t_events[0][0])


def samples(k: int, d: int, rate: float, batch: int, error: float = FOUND) -> float:
    """Samples that network `sphere` of many neurons sees until it has found He_k, at this learning rate and batch."""
    return flow_time(k, d, error) * batch / rate


@lru_cache(maxsize=256)
def lazy_samples(d: int, ridge: float, error: float = FOUND) -> float:
    """The P beyond which the test error of the lazy erf network on He_3 stays below `error`."""
    from scipy.optimize import brentq

    tried = np.geomspace(1, 4.0 * d**3, 60)
    above = np.array([lazy_error(P, 1, d, ridge) > error for P in tried])
    if not above.any() or above[-1]:
        raise ValueError(f"the lazy network of d = {d}, ridge = {ridge:g} passes no test error of {error:g} up to P = 4 d^3")
    last = int(np.flatnonzero(above)[-1])
    return float(np.exp(brentq(lambda log_p: lazy_error(np.exp(log_p), 1, d, ridge) - error, *np.log(tried[last : last + 2]))))
