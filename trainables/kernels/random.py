"""Counter-based random numbers: Philox4x32-10 and Philox4x64-10 [Salmon et al. 2011, SC'11], Box-Muller's normals, pairs of
symbols."""

import numpy as np

from trainables.kernels.compiled import exact, exact_inline

_CHUNK = 256
"""Counters whose four words are computed together; small enough for the first-level cache."""
_DIGITS = 256
"""Values of a digit, eight bits, by which whole numbers are sorted."""


@exact_inline
def philox(c0, c1, c2, c3, key0, key1):
    """The four 32-bit words, in 64-bit integers, of one counter (c0, c1, c2, c3) under a key."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    for _ in range(10):
        x, y = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c2 = (y >> half) ^ c1 ^ key0, (x >> half) ^ c3 ^ key1
        c1, c3 = y & low, x & low
        key0, key1 = (key0 + np.uint64(0x9E3779B9)) & low, (key1 + np.uint64(0xBB67AE85)) & low
    return c0, c1, c2, c3


@exact_inline
def _high(a, b):
    """The upper 64 bits of the product of two 64-bit numbers."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle, cross = a1 * b0 + ((a0 * b0) >> half), a0 * b1
    return a1 * b1 + (middle >> half) + ((cross + (middle & low)) >> half)


@exact_inline
def first_word(key0, key1, block):
    """The first 64-bit number of NumPy's `Philox(key=key1 << 64 | key0, counter=block << 128)`, which is Philox4x64-10."""
    c0, c1, c2, c3 = np.uint64(1), np.uint64(0), np.uint64(block), np.uint64(0)  # NumPy counts before it draws
    m0, m1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
    for _ in range(10):
        c0, c1, c2, c3 = _high(m1, c2) ^ c1 ^ key0, m1 * c2, _high(m0, c0) ^ c3 ^ key1, m0 * c0
        key0, key1 = key0 + np.uint64(0x9E3779B97F4A7C15), key1 + np.uint64(0xBB67AE8584CAA73B)
    return c0


@exact_inline
def _log(x):
    """Natural logarithm of 0 < x <= 1 in float32: x = 2^e m, m near 1, and the polynomial of Cephes' logf for log(m)."""
    bits = np.float32(x).view(np.int32)
    e = np.float32((bits >> np.int32(23)) - np.int32(126))
    m = np.int32((bits & np.int32(0x007FFFFF)) | np.int32(0x3F000000)).view(np.float32)  # [0.5, 1)
    small = m < np.float32(0.70710678)
    e = e - np.float32(1) if small else e
    m = m + m - np.float32(1) if small else m - np.float32(1)
    p = np.float32(7.0376836292e-2)
    for c in (-1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1,
              -2.4999993993e-1, 3.3333331174e-1):  # fmt: skip
        p = p * m + np.float32(c)
    return m - np.float32(0.5) * m * m + m * m * m * p + np.float32(0.69314718) * e


@exact_inline
def _sin_cos(word):
    """Sine and cosine of the angle 2 pi word / 2^32: the top bits name the quadrant, Taylor's series does the rest."""
    quadrant = (word + np.uint64(0x20000000)) >> np.uint64(30)  # nearest multiple of pi/2
    rest = np.int64(word) - np.int64(quadrant << np.uint64(30))  # [-2^29, 2^29)
    a = np.float32(rest) * np.float32(2 * np.pi / 2**32)
    s, c = a * a, a * a
    s = a * (1 + s * (np.float32(-1 / 6) + s * (np.float32(1 / 120) - s * np.float32(1 / 5040))))
    c = 1 - c * (np.float32(1 / 2) - c * (np.float32(1 / 24) - c * (np.float32(1 / 720) - c * np.float32(1 / 40320))))
    turned = quadrant & np.uint64(1)
    x, y = (c, s) if turned else (s, c)
    x = -x if quadrant & np.uint64(2) else x
    y = -y if (quadrant + np.uint64(1)) & np.uint64(2) else y
    return x, y


@exact
def fill_normals(key, out):
    """Fill out (n,) float32 with N(0, 1)."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    key0, key1 = key & low, key >> half
    words = np.empty((4, _CHUNK), np.uint64)
    drawn = np.empty((4, _CHUNK), np.float32)
    for start in range(0, out.shape[0], 4 * _CHUNK):
        block = np.uint64(start // 4)
        for i in range(_CHUNK):
            c = block + np.uint64(i)
            words[0, i], words[1, i], words[2, i], words[3, i] = philox(
                c & low, c >> half, np.uint64(0), np.uint64(0), key0, key1
            )
        for k in range(0, 4, 2):
            for i in range(_CHUNK):
                # (word + 1/2) / 2^32 lies in (0, 1], so its logarithm is finite, and normal numbers reach 6.7 in size.
                u = (np.float32(words[k, i]) + np.float32(0.5)) * np.float32(2.0**-32)
                radius = np.sqrt(np.float32(-2) * _log(u))
                sine, cosine = _sin_cos(words[k + 1, i])
                drawn[k, i], drawn[k + 1, i] = radius * sine, radius * cosine
        n = min(4 * _CHUNK, out.shape[0] - start)
        flat = drawn.reshape(-1)
        for i in range(n):
            out[start + i] = flat[i]


@exact_inline
def pair_of(i, key, n):
    """Symbols u, v of the i-th pair under a key, out of n: equal with probability 1/2, else different and uniform."""
    low, half, none = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(0)
    same, first, other, _ = philox(np.uint64(i), none, none, none, key & low, key >> half)
    # The integer part of word * n / 2^32 is uniform on 0..n-1, up to a bias of n/2^32.
    u = (first * n) >> half
    v = u + np.uint64(1) + ((other * (n - np.uint64(1))) >> half)
    return u, (u if same & np.uint64(1) else (v - n if v >= n else v))


@exact
def fill_pairs(key, n_symbols, u, v):
    """Fill u, v (n,) with the symbols of pairs."""
    for i in range(len(u)):
        u[i], v[i] = pair_of(i, key, np.uint64(n_symbols))


@exact
def fill_batches(key0, key1, n_symbols, block_steps, first_step, codes):
    """Fill codes (T, B) with u n_symbols + v of the batches of T steps, sorted in each step.

    The batches of `block_steps` steps are drawn together: their key is the first word of the stream (key0, key1) in that block.
    """
    batch = codes.shape[1]
    n, key = np.uint64(n_symbols), np.uint64(0)
    room, starts = np.empty(batch, codes.dtype), np.empty(_DIGITS, np.int64)
    for t in range(codes.shape[0]):
        block, k = (first_step + t) // block_steps, (first_step + t) % block_steps
        if t == 0 or k == 0:
            key = first_word(key0, key1, block)
        for i in range(batch):
            u, v = pair_of(k * batch + i, key, n)
            codes[t, i] = u * n + v
        _sort(codes[t], n_symbols * n_symbols, room, starts)


@exact_inline
def _sort(x, end, room, starts):
    """Sort whole numbers 0 <= x < end in place, digit by digit; room is as long as x, starts holds a number per digit."""
    shift = 0
    while end > 1:
        for digit in range(_DIGITS):
            starts[digit] = 0
        for i in range(len(x)):
            starts[(x[i] >> shift) & (_DIGITS - 1)] += 1
        before = 0
        for digit in range(_DIGITS):
            starts[digit], before = before, before + starts[digit]
        for i in range(len(x)):
            digit = (x[i] >> shift) & (_DIGITS - 1)
            room[starts[digit]] = x[i]
            starts[digit] += 1
        for i in range(len(x)):
            x[i] = room[i]
        shift += 8
        end = (end + _DIGITS - 1) // _DIGITS
