"""The compiled elementwise half of a step of `batched` on the CPU: output, loss and gradients in one pass over each row.

h0, q (B, m) are a batch's initial preactivations and their scaled change; the matrix products that make them stay outside.
"""

import numba
import numpy as np

from trainables.engines.gram_kernel import FAST


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def gradients(h0, q, y, a0, b, eps, lr):
    """Replace q by minus the rate times dloss/dh, step b in place; returns the batch's mean loss and right predictions."""
    batch, width = h0.shape
    real = b.dtype.type  # as in gram_kernel: everything stays in the cell's precision
    zero = real(0)
    inv_eps = real(1) / eps
    a = a0 + eps * b
    gb = np.zeros_like(b)
    total, hits = zero, 0
    for k in range(batch):
        h0_row, q_row = h0[k], q[k]
        f = zero
        for i in range(width):
            h = h0_row[i] + eps * q_row[i]
            change = q_row[i] + min(h0_row[i], zero) * inv_eps if h > 0 else -max(h0_row[i], zero) * inv_eps
            f += b[i] * max(h, zero) + a0[i] * change
        f64, label = float(f), float(y[k])
        total += real(max(f64, 0.0) + np.log1p(np.exp(-abs(f64))) - label * f64)
        hits += 1 if (f64 > 0) == (label > 0) else 0
        df = real(-lr * (1 / (1 + np.exp(-f64)) - label) / batch)
        for i in range(width):
            h = h0_row[i] + eps * q_row[i]
            gb[i] += df * max(h, zero)
            q_row[i] = df * a[i] if h > 0 else zero
    b += gb
    return total / batch, hits
