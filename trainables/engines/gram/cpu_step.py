"""The compiled step of `gram`: one network, many steps, nothing allocated inside the loop.

Neurons come in chunks of CHUNK. The data of a chunk lie together, so that a step works in the first-level cache:
p (n, 2, L, CHUNK)       initial preactivations Z W0_s of the symbols, s = 0, 1; h0 of a pair is p[0, u] + p[1, v]
omega (n, 2, L, CHUNK)   scaled changes of the weights, U_s = Z^T omega_s; q = gram omega of the symbols, h = p + eps q
a0, b, a (n, CHUNK)      initial readouts, scaled changes, a = a0 + eps b             gram (L, L)   Z Z^T, L a multiple of TILE

A step visits each chunk once: it applies the chunk's gradient from the step before, then adds the chunk's share of its outputs.
"""

import numpy as np

from trainables.kernels.compiled import compiled, inline
from trainables.kernels.neuron import logistic, scaled_change
from trainables.kernels.sizes import CHUNK, MANY
from trainables.kernels.tiles import add_product_of_four, add_product_of_six, fill


@inline
def _preactivate(gram, rows, n_rows, omega, p, eps, zero, keep, room, q, h):
    """Compute h, and with `keep` also q, of the symbols in `rows`; the last tile may repeat a symbol.

    Six rows at a time read omega less often, which pays off if omega is larger than the first-level cache.
    """
    last, size = n_rows - 1, 6 if n_rows > MANY else 4
    for k in range(0, n_rows, size):
        r0, r1, r2, r3 = rows[k], rows[min(k + 1, last)], rows[min(k + 2, last)], rows[min(k + 3, last)]
        for i in range(size):
            fill(room[i], zero)
        if size == 6:
            add_product_of_six(gram, r0, r1, r2, r3, rows[min(k + 4, last)], rows[min(k + 5, last)], omega, room)
        else:
            add_product_of_four(gram, r0, r1, r2, r3, omega, room)
        for i in range(size):
            r = rows[min(k + i, last)]
            p_r, q_r, h_r, x = p[r], q[r], h[r], room[i]
            for n in range(CHUNK):
                h_r[n] = p_r[n] + eps * x[n]
            if keep:
                for n in range(CHUNK):
                    q_r[n] = x[n]


@inline
def _literal_output(h0, h1, a, zero):
    """Sum of a relu(h) over the chunk."""
    f = zero
    for n in range(CHUNK):
        f += a[n] * max(h0[n] + h1[n], zero)
    return f


@inline
def _scaled_output(h0, h1, p0, p1, q0, q1, a0, b, inv_eps, zero):
    """The chunk's share of the centred output."""
    f = zero
    for n in range(CHUNK):
        f += b[n] * max(h0[n] + h1[n], zero) + a0[n] * scaled_change(p0[n] + p1[n], q0[n] + q1[n], inv_eps, zero)
    return f


@inline
def _collect(h0, h1, df, zero, on0, on1):
    """Add df of one pair to both its symbols where the neuron is on."""
    for n in range(CHUNK):
        on = df if h0[n] + h1[n] > zero else zero
        on0[n] += on
        on1[n] += on


@inline
def _follow(h, on, a, gb, omega):
    """Add one symbol's share of the gradient of b to gb, and step the symbol's omega."""
    for n in range(CHUNK):
        gb[n] += h[n] * on[n]
        omega[n] += a[n] * on[n]


@inline
def _follow_readout(a0, gb, eps, b, a):
    for n in range(CHUNK):
        b[n] += gb[n]
        a[n] = a0[n] + eps * b[n]


@compiled
def train_steps(pairs, n_pairs, rows, n_rows, batch, literal, f0, p, omega, q, h, a0, b, gram, eps, lr, loss, right):
    """Take the steps given by `distinct_pairs`, in place; loss, right (T,) receive mean loss and right predictions before each
    step.

    With `literal` the centred output is the literal difference; f0 (L, L) keeps sum a0 relu(h0) of each pair, NaN for pairs not
    met yet. Without it the output is computed as in trainables.trainers.centred, for an eps at which the difference would lose
    its digits. q, h are working arrays, shaped as p.
    """
    real = b.dtype.type  # a Python number would make numba widen float32 to float64, and all that follows
    zero, inv_eps = real(0), real(1) / eps
    n_steps, n_chunks = len(n_pairs), len(p)
    on, room = np.empty(p.shape[1:], b.dtype), np.empty((6, CHUNK), b.dtype)
    gb, a = np.empty(CHUNK, b.dtype), a0 + eps * b
    f, df = np.empty(pairs.shape[1], b.dtype), np.empty(pairs.shape[1], b.dtype)
    for t in range(n_steps + 1):
        f[:] = 0
        for c in range(n_chunks):
            if t > 0:
                for s in range(2):
                    for i in range(n_rows[t - 1, s]):
                        fill(on[s, rows[t - 1, s, i]], zero)
                for k in range(n_pairs[t - 1]):
                    u, v = pairs[t - 1, k, 0], pairs[t - 1, k, 1]
                    _collect(h[c, 0, u], h[c, 1, v], df[k], zero, on[0, u], on[1, v])
                fill(gb, zero)
                for s in range(2):
                    for i in range(n_rows[t - 1, s]):
                        r = rows[t - 1, s, i]
                        _follow(h[c, s, r], on[s, r], a[c], gb, omega[c, s, r])
                _follow_readout(a0[c], gb, eps, b[c], a[c])
            if t < n_steps:
                for s in range(2):
                    _preactivate(
                        gram, rows[t, s], n_rows[t, s], omega[c, s], p[c, s], eps, zero, not literal, room, q[c, s], h[c, s]
                    )
                for k in range(n_pairs[t]):
                    u, v = pairs[t, k, 0], pairs[t, k, 1]
                    if literal:
                        f[k] += _literal_output(h[c, 0, u], h[c, 1, v], a[c], zero)
                    else:
                        f[k] += _scaled_output(
                            h[c, 0, u], h[c, 1, v], p[c, 0, u], p[c, 1, v], q[c, 0, u], q[c, 1, v], a0[c], b[c], inv_eps, zero
                        )
        if t < n_steps:
            total, hits = zero, 0
            for k in range(n_pairs[t]):
                u, v, n = pairs[t, k]
                if literal:
                    if np.isnan(f0[u, v]):
                        f0[u, v] = zero
                        for c in range(n_chunks):
                            f0[u, v] += _literal_output(p[c, 0, u], p[c, 1, v], a0[c], zero)
                    f[k] = (f[k] - f0[u, v]) * inv_eps
                term, slope = logistic(float(f[k]), 1.0 if u == v else 0.0)
                # Summed in the cell's precision, so that the loss becomes infinite on overflow, as in the other engines.
                total += real(n * term)
                hits += n if (f[k] > zero) == (u == v) else 0
                df[k] = real(-lr * n / batch * slope)
            loss[t], right[t] = total / batch, hits
