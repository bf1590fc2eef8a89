"""Products in tiles: any sizes, strides and places give what NumPy gives in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.kernels.matmul import multiply, transpose

SIZES = st.integers(1, 70)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(rows=SIZES, inner=SIZES, columns=SIZES, turned=st.booleans(), start=st.integers(0, 3), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=150)
def test_products_of_all_sizes(dtype, rows, inner, columns, turned, start, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((rows, inner)).astype(dtype), rng.standard_normal((inner, columns)).astype(dtype)
    c = np.full(start + rows * columns + 5, np.nan, dtype)
    flat = np.concatenate([np.full(start, np.nan, dtype), (a.T if turned else a).ravel()])
    strides = (1, rows) if turned else (inner, 1)
    multiply(c, start, columns, flat, start, *strides, b.ravel(), 0, columns, rows, inner, columns, dtype(0.5))
    exact = 0.5 * a.astype(float) @ b.astype(float)
    # A sum of n products is off by at most n roundings of the sum of their sizes.
    bound = inner * np.finfo(dtype).eps * 0.5 * (np.abs(a).astype(float) @ np.abs(b).astype(float))
    found = c[start : start + rows * columns].reshape(rows, columns)
    assert (np.abs(found - exact) <= bound + 1e-300).all()
    assert np.isnan(c[:start]).all() and np.isnan(c[start + rows * columns :]).all()  # nothing else is written


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(rows=SIZES, columns=SIZES, start=st.integers(0, 3))
@settings(deadline=None, max_examples=100)
def test_transposes_of_all_sizes(dtype, rows, columns, start):
    a = np.arange(start + rows * columns, dtype=dtype)
    c = np.full(rows * columns + 4, np.nan, dtype)
    transpose(c, a, start, rows, columns)
    np.testing.assert_array_equal(c[: rows * columns].reshape(columns, rows), a[start:].reshape(rows, columns).T)
    assert np.isnan(c[rows * columns :]).all()
