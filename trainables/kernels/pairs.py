"""The different pairs of symbols in a batch: all that a noiseless step depends on."""

import numpy as np

from trainables.kernels.compiled import compiled


@compiled
def distinct_pairs(codes, n_symbols):
    """What `gram` reads of batches: the different pairs (u, v) of each step, and the symbols in them.

    Takes L and the codes u L + v (T, B), sorted in each step. Returns pairs (T, B, 3) of u, v and how often, and their
    number (T,); rows (T, 2, min(B, L)), the symbols of each half, and their number (T, 2). Past a number nothing is set.
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
