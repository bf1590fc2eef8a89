"""The compiled elementwise half of a step of `batched` on the CPU, and of evaluation: one pass over each example's row.

h0, q (B, m) are a batch's initial preactivations and their scaled change; the matrix products that give them are taken outside.
"""

import numpy as np

from trainables.kernels.compiled import compiled, inline
from trainables.kernels.neuron import logistic, scaled_change


@inline
def _output(h0, q, a0, b, eps, inv_eps, zero):
    """Centred output of one example."""
    f = zero
    for i in range(h0.shape[0]):
        f += b[i] * max(h0[i] + eps * q[i], zero) + a0[i] * scaled_change(h0[i], q[i], inv_eps, zero)
    return f


@compiled
def outputs(h0, q, a0, b, eps):
    """Centred outputs (B,)."""
    real = b.dtype.type  # as in kernels.gram: everything stays in the cell's precision
    zero, inv_eps = real(0), real(1) / eps
    f = np.empty(len(h0), b.dtype)
    for k in range(len(h0)):
        f[k] = _output(h0[k], q[k], a0, b, eps, inv_eps, zero)
    return f


@compiled
def gradients(h0, q, y, a0, b, eps, lr):
    """Replace q by minus the rate times dloss/dh and step b, both in place. Returns mean loss and number of right predictions."""
    real = b.dtype.type
    zero, inv_eps = real(0), real(1) / eps
    a, gb = a0 + eps * b, np.zeros_like(b)
    total, hits = zero, 0
    for k in range(len(h0)):
        h0_row, q_row = h0[k], q[k]
        f, label = float(_output(h0_row, q_row, a0, b, eps, inv_eps, zero)), float(y[k])
        term, slope = logistic(f, label)
        total += real(term)
        hits += 1 if (f > 0) == (label > 0) else 0
        df = real(-lr * slope / len(h0))
        for i in range(len(b)):
            h = h0_row[i] + eps * q_row[i]
            gb[i] += df * max(h, zero)
            q_row[i] = df * a[i] if h > zero else zero
    b += gb
    return total / len(h0), hits
