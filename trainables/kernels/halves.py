"""Rows of a float16 table as float32: read, widened and scaled in one pass, at the speed of reading them."""

import numpy as np

from trainables.kernels.compiled import exact


@exact
def gather_halves(table, rows, scale, out):
    """out[i] = scale * table[rows[i]]. table (N, D) holds the bits of finite float16 numbers as uint16; out (n, D) is float32.

    The bits of a float16, moved to the exponent and fraction of a float32, are the number times 2^-112. This holds for subnormal
    numbers too.
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
