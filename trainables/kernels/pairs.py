"""The different pairs of symbols in a batch: all that a noiseless step depends on."""

import numpy as np

from trainables.kernels.compiled import compiled


@compiled
def distinct_pairs(codes, n_symbols):
    """The different pairs (u, v) of each step and the symbols in them, as `gram` reads them.

    Takes the codes u L + v (T, B), sorted within each step, and L. Returns pairs (T, B, 3), each u, v and its count, with their
    number (T,); and rows (T, 2, min(B, L)), the symbols of each half, with their number (T, 2). Entries beyond a number are not
    set.
    """
    n_steps, batch = codes.shape
    pairs, n_pairs = np.empty((n_steps, batch, 3), np.int32), np.zeros(n_steps, np.int32)
    rows, n_rows = np.empty((n_steps, 2, min(batch, n_symbols)), np.int32), np.zeros((n_steps, 2), np.int32)
    seen = np.full(n_symbols, -1, np.int64)
    for t in range(n_steps):
        i = 0
        for k in range(batch):
            n = n_pairs[t]
            if k > 0 and codes[t, k] == codes[t, k - 1]:
                pairs[t, n - 1, 2] += 1
                continue
            while codes[t, k] >= (i + 1) * n_symbols:
                i += 1
            j = codes[t, k] - i * n_symbols
            pairs[t, n, 0], pairs[t, n, 1], pairs[t, n, 2] = i, j, 1
            n_pairs[t] = n + 1
            if n_rows[t, 0] == 0 or rows[t, 0, n_rows[t, 0] - 1] != i:
                rows[t, 0, n_rows[t, 0]] = i
                n_rows[t, 0] += 1
            if seen[j] != t:
                seen[j] = t
                rows[t, 1, n_rows[t, 1]] = j
                n_rows[t, 1] += 1
    return pairs, n_pairs, rows, n_rows


@compiled
def plan_steps(codes, n_symbols, plan):
    """Write the steps as `gram` on a GPU reads them into plan (T, `sizes.plan_length`), from codes as for `distinct_pairs`.

    A step holds the number of pairs, of symbols in the first half and of symbols in the second (3); u of each pair (B); the count
    of each pair (B); then for each half its symbols (R), the start of each symbol's pairs in the list that follows, with the end
    of the last (R + 1), the list of pairs sorted by these symbols (B), and the symbol of the other half in each (B).
    R = min(B, L); entries beyond a number are not set. Pairs are numbered in the order of the first half, so that half's last
    part is v of each pair.
    """
    n_steps, batch = codes.shape
    most = min(batch, n_symbols)
    pairs, n_pairs, rows, n_rows = distinct_pairs(codes, n_symbols)
    place = np.empty(n_symbols, np.int32)  # where the next pair of a symbol goes
    for t in range(n_steps):
        out = plan[t]
        out[0], out[1], out[2] = n_pairs[t], n_rows[t, 0], n_rows[t, 1]
        for k in range(n_pairs[t]):
            out[3 + k], out[3 + batch + k] = pairs[t, k, 0], pairs[t, k, 2]
        for s in range(2):
            half = out[3 + 2 * batch + s * (2 * most + 1 + 2 * batch) :]
            starts, order, partner = half[most:], half[2 * most + 1 :], half[2 * most + 1 + batch :]
            for i in range(n_rows[t, s]):
                half[i] = rows[t, s, i]
                place[half[i]] = 0
            for k in range(n_pairs[t]):
                place[pairs[t, k, s]] += 1
            starts[0] = 0
            for i in range(n_rows[t, s]):
                starts[i + 1] = starts[i] + place[half[i]]
                place[half[i]] = starts[i]
            for k in range(n_pairs[t]):
                r = pairs[t, k, s]
                order[place[r]], partner[place[r]] = k, pairs[t, k, 1 - s]
                place[r] += 1
