"""Attention of many short strings on a CPU: one pass over queries, keys and values where PyTorch multiplies thousands of tiny
matrices and copies all of them first.

N strings of L tokens, of which R are read; H heads of h numbers each. Arrays are ordered as layers give and take them.
q (N, R, H, h), k, v (N, L, H, h)    queries, keys, values
bias (N, H, R, L)                    added to the scores q.k scale
A (N, H, R, L)                       softmax of the scores over L
"""

import numpy as np

from trainables.kernels.compiled import compiled


@compiled
def attend(q, k, v, bias, scale):
    """A v (N, R, H, h), and A."""
    n, n_read, heads, size = q.shape
    length = k.shape[1]
    out, masses = np.empty_like(q), np.empty_like(bias)
    for s in range(n):
        for head in range(heads):
            for i in range(n_read):
                row, top = masses[s, head, i], -np.inf
                for j in range(length):
                    score = q.dtype.type(0)
                    for x in range(size):
                        score += q[s, i, head, x] * k[s, j, head, x]
                    row[j] = score * scale + bias[s, head, i, j]
                    top = max(top, row[j])
                total = q.dtype.type(0)
                for j in range(length):
                    row[j] = np.exp(row[j] - top)
                    total += row[j]
                for x in range(size):
                    out[s, i, head, x] = 0
                for j in range(length):
                    row[j] /= total
                    for x in range(size):
                        out[s, i, head, x] += row[j] * v[s, j, head, x]
    return out, masses


@compiled
def attend_back(q, k, v, masses, d_out, d_masses, scale):
    """Gradients of q, k, v and bias from those of A v and of A."""
    n, n_read, heads, size = q.shape
    length = k.shape[1]
    d_q, d_k, d_v = np.empty_like(q), np.zeros_like(k), np.zeros_like(v)
    d_bias = np.empty_like(masses)
    for s in range(n):
        for head in range(heads):
            for i in range(n_read):
                row, slope, mean = masses[s, head, i], d_bias[s, head, i], q.dtype.type(0)
                for j in range(length):
                    total = q.dtype.type(0)
                    for x in range(size):
                        total += d_out[s, i, head, x] * v[s, j, head, x]
                        d_v[s, j, head, x] += row[j] * d_out[s, i, head, x]
                    slope[j] = total + d_masses[s, head, i, j]
                    mean += slope[j] * row[j]
                for x in range(size):
                    d_q[s, i, head, x] = 0
                for j in range(length):
                    slope[j] = row[j] * (slope[j] - mean)
                    by = slope[j] * scale
                    for x in range(size):
                        d_q[s, i, head, x] += by * k[s, j, head, x]
                        d_k[s, j, head, x] += by * q[s, i, head, x]
    return d_q, d_k, d_v, d_bias
