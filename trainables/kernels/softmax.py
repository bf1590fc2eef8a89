"""Attention of many short strings on a CPU: one pass over queries, keys and values where PyTorch multiplies thousands of tiny
matrices and copies all of them first.

N strings of L tokens, of which R are read; H heads of h numbers each. Arrays are ordered as layers give and take them.
q (N, R, H, h), k, v (N, L, H, h)    queries, keys, values
bias (N, H, R, L)                    added to the scores q.k scale
A (N, H, R, L)                       softmax of the scores over L

Where one token alone is read, its heads may see the tokens y (N, L, d) themselves:
u (N, H, d)                          what each head looks for among them; z = A y with A = softmax(u.y)
"""

import numpy as np

from trainables.kernels.compiled import compiled, inline


@inline
def _softmax(row):
    """Scores become masses, in place."""
    top = -np.inf
    for j in range(len(row)):
        top = max(top, row[j])
    total = row.dtype.type(0)
    for j in range(len(row)):
        row[j] = np.exp(row[j] - top)
        total += row[j]
    for j in range(len(row)):
        row[j] /= total


@compiled
def attend(q, k, v, bias, scale):
    """A v (N, R, H, h), and A."""
    n, n_read, heads, size = q.shape
    length = k.shape[1]
    out, masses = np.empty_like(q), np.empty_like(bias)
    for s in range(n):
        for head in range(heads):
            for i in range(n_read):
                row = masses[s, head, i]
                for j in range(length):
                    score = q.dtype.type(0)
                    for x in range(size):
                        score += q[s, i, head, x] * k[s, j, head, x]
                    row[j] = score * scale + bias[s, head, i, j]
                _softmax(row)
                for x in range(size):
                    out[s, i, head, x] = 0
                for j in range(length):
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


@inline
def _masses(u, y, row):
    """Write softmax(u.y) into the row."""
    for j in range(len(row)):
        score = u.dtype.type(0)
        for x in range(len(u)):
            score += u[x] * y[j, x]
        row[j] = score
    _softmax(row)


@compiled
def mix(u, y):
    """z (N, H, d)."""
    n, heads, d = u.shape
    z, row = np.empty_like(u), np.empty(y.shape[1], u.dtype)
    for s in range(n):
        for head in range(heads):
            _masses(u[s, head], y[s], row)
            for x in range(d):
                z[s, head, x] = 0
            for j in range(len(row)):
                for x in range(d):
                    z[s, head, x] += row[j] * y[s, j, x]
    return z


@compiled
def mix_back(u, y, d_z):
    """Gradients of u and y from that of z."""
    n, heads, d = u.shape
    d_u, d_y = np.empty_like(u), np.zeros_like(y)
    row, slope = np.empty(y.shape[1], u.dtype), np.empty(y.shape[1], u.dtype)
    for s in range(n):
        for head in range(heads):
            _masses(u[s, head], y[s], row)
            mean = u.dtype.type(0)
            for j in range(len(row)):
                total = u.dtype.type(0)
                for x in range(d):
                    total += d_z[s, head, x] * y[s, j, x]
                slope[j] = total
                mean += total * row[j]
            for x in range(d):
                d_u[s, head, x] = 0
            for j in range(len(row)):
                by = row[j] * (slope[j] - mean)
                for x in range(d):
                    d_u[s, head, x] += by * y[s, j, x]
                    d_y[s, j, x] += by * u[s, head, x] + row[j] * d_z[s, head, x]
    return d_u, d_y
