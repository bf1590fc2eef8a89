"""The compiled step of `gram`: one network, many steps, nothing allocated inside the loop.

Arrays, for L symbols and width m, halves s = 0, 1 of the input:
p (2, L, m)      initial preactivations Z W0_s of the symbols: h0 of a pair (u, v) is p[0, u] + p[1, v]
q (2, L, m)      their scaled changes Z U_s                    omega (2, L, m)   U_s = Z^T omega_s
a0, b (m,)       initial readouts, scaled changes              gram (L, L)       Z Z^T
"""

import numba
import numpy as np

# reassoc lets sums be vectorised; nnan and ninf are left out, because divergence is a NaN that must be seen.
FAST = {"reassoc", "contract", "nsz", "arcp"}


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _preactivate(p0, p1, q0, q1, b, a0, eps, inv_eps, zero, one, relu, on):
    """Centred output of one pair; leaves relu(h) and the mask h > 0 (as 0 or 1) behind."""
    f = zero
    for i in range(b.shape[0]):
        h0 = p0[i] + p1[i]
        dq = q0[i] + q1[i]
        h = h0 + eps * dq
        is_on = h > zero
        r = h if is_on else zero
        relu[i] = r
        on[i] = one if is_on else zero
        change = dq + min(h0, zero) * inv_eps if is_on else -max(h0, zero) * inv_eps
        f += b[i] * r + a0[i] * change
    return f


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _accumulate(df, relu, on, a, gb, g0, g1):
    """Add one pair's share to the gradients of b and of the preactivations of its two symbols."""
    for i in range(a.shape[0]):
        gb[i] += df * relu[i]
        dh = df * a[i] * on[i]
        g0[i] += dh
        g1[i] += dh


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _add_scaled(x, scale, y):
    for i in range(x.shape[0]):
        y[i] += scale * x[i]


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def train_steps(u, v, p, q, omega, a0, b, gram, eps, lr, loss, right):
    """Take the steps whose pairs are u, v (n_steps, B), in place; loss, right (n_steps,) get mean loss and right predictions."""
    n_steps, batch = u.shape
    n_symbols = p.shape[1]
    real = b.dtype.type  # numba widens float32 to float64 wherever a Python number meets it, and all that follows
    zero, one = real(0), real(1)
    inv_eps = one / eps
    count = np.zeros((n_symbols, n_symbols), np.int32)
    grad = np.zeros_like(p)
    gb, a, relu, on = np.zeros_like(b), np.zeros_like(b), np.zeros_like(b), np.zeros_like(b)
    for t in range(n_steps):
        for k in range(batch):
            count[u[t, k], v[t, k]] += 1
        a[:] = a0 + eps * b
        gb[:] = 0
        grad[:] = 0
        total, hits = zero, 0
        for k in range(batch):
            i, j = u[t, k], v[t, k]
            n = count[i, j]
            if n == 0:  # this pair was counted with its first occurrence
                continue
            count[i, j] = 0
            f = _preactivate(p[0, i], p[1, j], q[0, i], q[1, j], b, a0, eps, inv_eps, zero, one, relu, on)
            same = 1.0 if i == j else 0.0
            f64 = float(f)
            # Summed in the cell's precision: the loss is infinite when that overflows, as in any other engine.
            total += real(n * (max(f64, 0.0) + np.log1p(np.exp(-abs(f64))) - same * f64))
            hits += n if (f64 > 0) == (i == j) else 0
            df = -lr * n / batch * (1 / (1 + np.exp(-f64)) - same)
            _accumulate(real(df), relu, on, a, gb, grad[0, i], grad[1, j])
        loss[t] = total / batch
        right[t] = hits
        _add_scaled(gb, one, b)
        for s in range(2):
            for j in range(n_symbols):
                _add_scaled(grad[s, j], one, omega[s, j])
                for i in range(n_symbols):
                    _add_scaled(grad[s, j], gram[i, j], q[s, i])
