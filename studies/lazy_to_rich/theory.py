"""Grokking from lazy to rich: infinitely many neurons h + e h^2/2 with readouts 1 learn the square of one component. [Kumar23]

x      inputs (P, D), N(0, I); the training set         y = (w*.x)^2/2, |w*| = 1; 3/4 is its power
f      a (w.x + e x'M x/2), w = mean w_i, M = mean w_i w_i'; w = 0 and M = I/D at the start
a, e   laziness, and alignment of the initial features with the target
rate   of the mean of (f - y)^2, over a^2 and times the number of neurons, as `base_lr` of network `committee`
g      f - y at the training set, (P,)

Every neuron moves by the same affine map, w_i <- w_i - (2 rate/(a P)) (X'g + e X' diag(g) X w_i). So w_i = B w_i(0) + c with B
(D, D) and c (D,) for all neurons, w = c, M = B B'/D + c c', and training is followed exactly without any neuron. Derived here;
the three terms of the test error, as trainables.metrics.error_terms measures them, are those of [Kumar23].

Rival: the delay comes from the data alone, or from weight decay, and does not depend on a.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sweepkit.stats.checks import Floats


class Course(NamedTuple):
    """Errors along training, (n,) each."""

    step: Floats
    train: Floats
    constant: Floats
    """(1/2 - a e Tr M/2)^2, the power of the mean of f - y."""
    quadratic: Floats
    """|a e M - w* w*'|^2/2."""
    linear: Floats
    """a^2 |w|^2."""

    @property
    def test(self) -> Floats:
        """The exact mean squared error on fresh inputs."""
        return self.constant + self.quadratic + self.linear


def course(x: Floats, target: Floats, a: float, e: float, rate: float, at: Sequence[int], until: float = 0.0) -> Course:
    """Errors after these steps, up to the one at which both training and test error are at most `until`; the training error is
    that before the step."""
    n, d = x.shape
    y = (x @ target) ** 2 / 2
    b, c, wanted = np.eye(d), np.zeros(d), np.outer(target, target)
    rows, evaluated = [], set(at)
    for step in range(1, max(at) + 1):
        g = a * (x @ c) + a * e / 2 * (((x @ b) ** 2).sum(1) / d + (x @ c) ** 2) - y
        train = float((g**2).mean())
        along, curved, size = x.T @ g, (x * g[:, None]).T @ x, 2 * rate / (a * n)
        b, c = b - size * e * (curved @ b), c - size * (along + e * (curved @ c))
        if step in evaluated:
            m = a * e * (b @ b.T / d + np.outer(c, c)) - wanted
            rows.append((step, train, np.trace(m) ** 2 / 4, (m**2).sum() / 2, a**2 * (c @ c)))
            if max(train, sum(rows[-1][2:])) <= until:
                break
    return Course(*np.array(rows, float).T)


def drawn(d: int, n: int, a: float, e: float, rate: float, at: Sequence[int], seed: int, until: float = 0.0) -> Course:
    """`course` on n inputs and a direction of this seed."""
    rng = np.random.default_rng(seed)
    target = rng.standard_normal(d)
    return course(rng.standard_normal((n, d)), target / np.linalg.norm(target), a, e, rate, at, until)


def delay(of: Course, level: float) -> float:
    """The first step at which the test error is at most `level`, over that of the training error; NaN if one never is."""
    first = [of.step[error <= level] for error in (of.test, of.train)]
    return float(first[0][0] / first[1][0]) if all(len(steps) for steps in first) else float("nan")
