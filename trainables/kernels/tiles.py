"""Compiled products of CHUNK neurons at a time, in the registers of the processor."""

from trainables.kernels.compiled import inline
from trainables.kernels.sizes import CHUNK, TILE


@inline
def fill(x, value):
    """Set the CHUNK numbers of x to `value`."""
    for n in range(CHUNK):
        x[n] = value


@inline
def add_product_of_one(a, r, x, q):
    """Row r of a (R, K) times x (K, CHUNK), added into q (CHUNK); K a multiple of TILE."""
    for j in range(0, x.shape[0], TILE):
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        k0, k1, k2, k3 = a[r, j], a[r, j + 1], a[r, j + 2], a[r, j + 3]
        for n in range(CHUNK):
            q[n] += k0 * x0[n] + k1 * x1[n] + k2 * x2[n] + k3 * x3[n]


@inline
def add_product_of_four(a, r0, r1, r2, r3, x, q):
    """Rows r0..r3 of a (R, K) times x (K, CHUNK), added into q (4, CHUNK); K a multiple of TILE."""
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    for j in range(0, x.shape[0], TILE):
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        k00, k01, k02, k03 = a[r0, j], a[r0, j + 1], a[r0, j + 2], a[r0, j + 3]
        k10, k11, k12, k13 = a[r1, j], a[r1, j + 1], a[r1, j + 2], a[r1, j + 3]
        k20, k21, k22, k23 = a[r2, j], a[r2, j + 1], a[r2, j + 2], a[r2, j + 3]
        k30, k31, k32, k33 = a[r3, j], a[r3, j + 1], a[r3, j + 2], a[r3, j + 3]
        for n in range(CHUNK):
            y0, y1, y2, y3 = x0[n], x1[n], x2[n], x3[n]
            q0[n] += k00 * y0 + k01 * y1 + k02 * y2 + k03 * y3
            q1[n] += k10 * y0 + k11 * y1 + k12 * y2 + k13 * y3
            q2[n] += k20 * y0 + k21 * y1 + k22 * y2 + k23 * y3
            q3[n] += k30 * y0 + k31 * y1 + k32 * y2 + k33 * y3


@inline
def add_product_of_six(a, r0, r1, r2, r3, r4, r5, x, q):
    """Like add_product_of_four, with six rows: x is read less often, which pays off if x is larger than the first-level cache."""
    q0, q1, q2, q3, q4, q5 = q[0], q[1], q[2], q[3], q[4], q[5]
    for j in range(0, x.shape[0], TILE):
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        k00, k01, k02, k03 = a[r0, j], a[r0, j + 1], a[r0, j + 2], a[r0, j + 3]
        k10, k11, k12, k13 = a[r1, j], a[r1, j + 1], a[r1, j + 2], a[r1, j + 3]
        k20, k21, k22, k23 = a[r2, j], a[r2, j + 1], a[r2, j + 2], a[r2, j + 3]
        k30, k31, k32, k33 = a[r3, j], a[r3, j + 1], a[r3, j + 2], a[r3, j + 3]
        k40, k41, k42, k43 = a[r4, j], a[r4, j + 1], a[r4, j + 2], a[r4, j + 3]
        k50, k51, k52, k53 = a[r5, j], a[r5, j + 1], a[r5, j + 2], a[r5, j + 3]
        for n in range(CHUNK):
            y0, y1, y2, y3 = x0[n], x1[n], x2[n], x3[n]
            q0[n] += k00 * y0 + k01 * y1 + k02 * y2 + k03 * y3
            q1[n] += k10 * y0 + k11 * y1 + k12 * y2 + k13 * y3
            q2[n] += k20 * y0 + k21 * y1 + k22 * y2 + k23 * y3
            q3[n] += k30 * y0 + k31 * y1 + k32 * y2 + k33 * y3
            q4[n] += k40 * y0 + k41 * y1 + k42 * y2 + k43 * y3
            q5[n] += k50 * y0 + k51 * y1 + k52 * y2 + k53 * y3
