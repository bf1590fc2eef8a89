"""Products agree with torch.mm, whatever the layout of their arguments."""

import pytest
import torch

from trainables.trainers.products import add_product, product

# Partial sums of k terms of order 1 stay below 5 sqrt(k); k additions round by 6e-8 of them: at random, 3e-7 k in all.
SHAPES = [(128, 128, 1024), (7, 3, 5), (1024, 24, 96), (128, 1500, 1024)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "k", "m"), SHAPES)
def test_product(n, k, m, dtype):
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(n, 2 * k, dtype=dtype, generator=generator), torch.randn(k, m, dtype=dtype, generator=generator)
    for half in x.chunk(2, dim=1):
        torch.testing.assert_close(product(half, w), half @ w, rtol=0, atol=1e-6 * k)
    v = torch.randn(n, k, dtype=dtype, generator=generator).T
    torch.testing.assert_close(product(w.T, v), w.T @ v, rtol=0, atol=1e-6 * k)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "k", "m"), SHAPES)
def test_add_product(n, k, m, dtype):
    generator = torch.Generator().manual_seed(1)
    x, g, u = (torch.randn(*shape, dtype=dtype, generator=generator) for shape in ((n, k), (n, m), (k, m)))
    expected = u + x.T @ g
    add_product(u, x, g)
    torch.testing.assert_close(u, expected, rtol=0, atol=1e-6 * n)
