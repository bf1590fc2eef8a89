"""Attention of many short strings on a CPU, without the thousands of products of tiny matrices that PyTorch would take.

N strings of L tokens; H heads of h numbers each. Tokens that are alike in several strings may share one of D rows.
q, k, v (D, H, h)                    queries, keys, values
rows (N, L)                          each token's row
bias (N, H, L, L)                    added to the scores q.k scale
A (N, H, L, L)                       softmax of the scores over the last axis

Where one token alone is read, its heads may see the tokens y (N, L, d) themselves:
u (H, N, d)                          what each head looks for among them; z = A y with A = softmax(u.y)
"""

from typing import Any

import numpy as np

from trainables.kernels.compiled import compiled, inline


@inline
def _below_top(row):
    """Subtract the largest number. NumPy then takes all exponentials at once, several times faster than one by one in a loop."""
    top = -np.inf
    for j in range(len(row)):
        top = max(top, row[j])
    for j in range(len(row)):
        row[j] -= top


@inline
def _normalised(row):
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += row[j]
    for j in range(len(row)):
        row[j] /= total


def attend(q: Any, k: Any, v: Any, rows: Any, bias: Any, scale: Any) -> tuple[Any, Any]:
    """Softmax attention A v (N, L, H, h), and A."""
    masses = _scores(q, k, rows, bias, scale)
    np.exp(masses, out=masses)
    return _attended(masses, v, rows), masses


@compiled
def _scores(q, k, rows, bias, scale):
    n, length = rows.shape
    _, heads, size = q.shape
    scores = np.empty_like(bias)
    for s in range(n):
        for head in range(heads):
            for i in range(length):
                row, query = scores[s, head, i], q[rows[s, i], head]
                for j in range(length):
                    key, score = k[rows[s, j], head], q.dtype.type(0)
                    for x in range(size):
                        score += query[x] * key[x]
                    row[j] = score * scale + bias[s, head, i, j]
                _below_top(row)
    return scores


@compiled
def _attended(masses, v, rows):
    """A v, and A in place of what is proportional to it."""
    n, length = rows.shape
    _, heads, size = v.shape
    out = np.empty((n, length, heads, size), v.dtype)
    for s in range(n):
        for head in range(heads):
            for i in range(length):
                row, own = masses[s, head, i], out[s, i, head]
                _normalised(row)
                for x in range(size):
                    own[x] = 0
                for j in range(length):
                    value = v[rows[s, j], head]
                    for x in range(size):
                        own[x] += row[j] * value[x]
    return out


@compiled
def attend_back(q, k, v, rows, masses, d_out, d_masses, scale):
    """Gradients of q, k, v and bias from those of A v and of A."""
    n, length = rows.shape
    _, heads, size = q.shape
    d_q, d_k, d_v = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    d_bias = np.empty_like(masses)
    for s in range(n):
        for head in range(heads):
            for i in range(length):
                row, slope, mean, own = masses[s, head, i], d_bias[s, head, i], q.dtype.type(0), d_out[s, i, head]
                for j in range(length):
                    value, total = v[rows[s, j], head], q.dtype.type(0)
                    for x in range(size):
                        total += own[x] * value[x]
                    slope[j] = total + d_masses[s, head, i, j]
                    mean += slope[j] * row[j]
                for j in range(length):
                    slope[j] = row[j] * (slope[j] - mean)
            for j in range(length):
                d_query, d_key, d_value = d_q[rows[s, j], head], d_k[rows[s, j], head], d_v[rows[s, j], head]
                for i in range(length):
                    own, mass = d_out[s, i, head], masses[s, head, i, j]
                    for x in range(size):
                        d_value[x] += mass * own[x]
                for i in range(length):
                    query, by = q[rows[s, i], head], d_bias[s, head, i, j] * scale
                    for x in range(size):
                        d_key[x] += by * query[x]
                for i in range(length):
                    key, by = k[rows[s, i], head], d_bias[s, head, j, i] * scale
                    for x in range(size):
                        d_query[x] += by * key[x]
    return d_q, d_k, d_v, d_bias


def mix(u: Any, y: Any) -> tuple[Any, Any]:
    """Softmax attention of one token to the tokens themselves: z (H, N, d), and A (H, N, L)."""
    masses = _looks(u, y)
    np.exp(masses, out=masses)
    return _mixed(masses, y), masses


@compiled
def _looks(u, y):
    heads, n, d = u.shape
    scores = np.empty((heads, n, y.shape[1]), u.dtype)
    for s in range(n):
        for head in range(heads):
            row, own = scores[head, s], u[head, s]
            for j in range(len(row)):
                token, score = y[s, j], u.dtype.type(0)
                for x in range(d):
                    score += own[x] * token[x]
                row[j] = score
            _below_top(row)
    return scores


@compiled
def _mixed(masses, y):
    """A y, and A in place of what is proportional to it."""
    heads, n, length = masses.shape
    d = y.shape[2]
    z = np.empty((heads, n, d), y.dtype)
    for s in range(n):
        for head in range(heads):
            row, own = masses[head, s], z[head, s]
            _normalised(row)
            for x in range(d):
                own[x] = 0
            for j in range(length):
                token = y[s, j]
                for x in range(d):
                    own[x] += row[j] * token[x]
    return z


@compiled
def mix_back(u, y, masses, d_z):
    """Gradients of u and y from that of z."""
    heads, n, d = u.shape
    d_u, d_y = np.empty_like(u), np.zeros_like(y)
    slope = np.empty(y.shape[1], u.dtype)
    for s in range(n):
        for head in range(heads):
            row, own, of_z, d_own, mean = masses[head, s], u[head, s], d_z[head, s], d_u[head, s], u.dtype.type(0)
            for j in range(len(row)):
                token, total = y[s, j], u.dtype.type(0)
                for x in range(d):
                    total += of_z[x] * token[x]
                slope[j] = total
                mean += total * row[j]
            for x in range(d):
                d_own[x] = 0
            for j in range(len(row)):
                token, d_token, by = y[s, j], d_y[s, j], row[j] * (slope[j] - mean)
                for x in range(d):
                    d_own[x] += by * token[x]
                for x in range(d):
                    d_token[x] += by * own[x] + row[j] * of_z[x]
    return d_u, d_y


@compiled
def add_rows(values, rows, sums):
    """Add values (n, d) to the sums (D, d) at these rows (n,)."""
    for i in range(len(rows)):
        own, total = values[i], sums[rows[i]]
        for x in range(len(own)):
            total[x] += own[x]
