"""Compiled steps of optimisers: one pass over a parameter, its gradient and what is kept of it."""

import math

from trainables.kernels.compiled import unchecked, unchecked_inline


@unchecked_inline
def follow_moments(theta, g, first, second, rate, decay, keep, factor, shift):
    """A step of Adam on a flat parameter, after a weight decay that does not enter the gradient; notation of
    trainables.training.adam, `keep` as `Adam.kept`, and g may be longer than theta."""
    real = theta.dtype.type
    new_1, keep_2, new_2, kept = keep[0], keep[1], keep[2], real(1) - rate * decay
    for i in range(len(theta)):
        mean = first[i] + new_1 * (g[i] - first[i])
        square = keep_2 * second[i] + new_2 * g[i] * g[i]
        first[i], second[i] = mean, square
        theta[i] = kept * theta[i] - rate * (mean / (math.sqrt(square) * factor + shift))


@unchecked
def follow_moments_of_each(theta, g, first, second, rates, decays, keep, factor, shift):
    """`follow_moments` for the rows of theta (C, n), of C networks with rates and decays (C,)."""
    for c in range(len(theta)):
        follow_moments(theta[c], g[c], first[c], second[c], rates[c], decays[c], keep, factor, shift)
