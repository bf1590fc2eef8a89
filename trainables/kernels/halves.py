"""Rows of a table in half precision as single precision: read, widened and scaled at once, at the speed of reading them."""

import numpy as np

from trainables.kernels.compiled import exact


@exact
def gather_halves(table, rows, scale, out):
    """out[i] = scale * table[rows[i]]: table (N, D) the bits of float16 as uint16, finite; out (n, D) float32.

    The bits of a half, moved to where single precision has its exponent and fraction, are the number times 2^-112, also where
    the half is subnormal.
    """
    bits = out.view(np.uint32)
    factor = np.float32(np.float64(scale) * np.float64(2) ** 112)
    for i in range(len(rows)):
        row = rows[i]
        for j in range(table.shape[1]):
            half = np.uint32(table[row, j])
            bits[i, j] = ((half & np.uint32(0x8000)) << np.uint32(16)) | ((half & np.uint32(0x7FFF)) << np.uint32(13))
        for j in range(table.shape[1]):
            out[i, j] *= factor
