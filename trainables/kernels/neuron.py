"""Compiled arithmetic that compiled engines share; notation of trainables.trainers.centred."""

import math

from trainables.kernels.compiled import inline


@inline
def scaled_change(h0, q, inv_eps, zero):
    """(relu(h0 + eps q) - relu(h0)) / eps without a small difference: max(q, t) - max(0, t), where t = -h0/eps."""
    t = -h0 * inv_eps
    return max(q, t) - max(t, zero)


@inline
def logistic(f, same):
    """Cross entropy of one example with logit f and label `same` (1.0 or 0.0), and its derivative, in float64."""
    e = math.exp(-abs(f))
    sigmoid = 1 / (1 + e) if f > 0 else e / (1 + e)
    return max(f, 0.0) + math.log1p(e) - same * f, sigmoid - same
