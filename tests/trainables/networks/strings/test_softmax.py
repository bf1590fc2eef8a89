"""The compiled attention against PyTorch's products: values and gradients, of one network and under torch.func.vmap."""

import pytest
import torch
from torch.func import vmap

from trainables.networks.strings.softmax import attention, mixed


def by_products(q, k, v, bias):
    q, k, v = (part.transpose(-3, -2) for part in (q, k, v))
    masses = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + bias).softmax(-1)
    return (masses @ v).transpose(-3, -2), masses


def drawn(*front):
    generator = torch.Generator().manual_seed(0)
    n, length, heads, size = 5, 4, 3, 6
    shapes = [(n, length, heads, size)] * 3 + [(n, heads, length, length)]
    return [torch.randn(*front, *shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("together", [False, True])
def test_values_and_gradients_are_those_of_products(together):
    tensors = drawn(*[2] * together)
    found = (vmap(attention) if together else attention)(*tensors)
    wanted = by_products(*tensors)
    slopes = [torch.randn(one.shape, dtype=torch.float64) for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    gradients = (torch.autograd.grad(outputs, tensors, slopes) for outputs in (found, wanted))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)  # sums in another order


def test_what_is_not_batched_is_shared_by_all_networks():
    q, k, v, bias = (tensor.detach() for tensor in drawn())
    queries = torch.stack([q, 2 * q])
    found, _ = vmap(attention, in_dims=(0, None, None, None))(queries, k, v, bias)
    torch.testing.assert_close(found[1], by_products(2 * q, k, v, bias)[0], rtol=1e-12, atol=1e-12)


def test_a_great_score_overflows_nothing():
    q, k, v, bias = (tensor.detach().float() for tensor in drawn())
    out, masses = attention(q, k, v, 1e4 * bias)
    assert out.isfinite().all() and torch.allclose(masses.sum(-1), torch.ones(1))


@pytest.mark.parametrize("together", [False, True])
def test_one_token_that_sees_the_tokens_themselves(together):
    generator = torch.Generator().manual_seed(0)
    front, (n, length, heads, d) = [2] * together, (5, 4, 3, 6)
    shapes = [(heads, n, d), (n, length, d), (heads, n, d)]
    u, y, slope = (torch.randn(*front, *shape, generator=generator, dtype=torch.float64) for shape in shapes)
    tensors = [u.requires_grad_(), y.requires_grad_()]
    found = (vmap(mixed) if together else mixed)(*tensors)
    tokens = y.unsqueeze(-4)
    wanted = ((u.unsqueeze(-2) @ tokens.mT).softmax(-1) @ tokens).squeeze(-2)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    for one, other in zip(*(torch.autograd.grad(of, tensors, slope) for of in (found, wanted)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)  # sums in another order


def test_long_strings_see_the_same(monkeypatch):
    u, y = torch.randn(3, 2, 6), torch.randn(2, 4, 6)
    of_kernel = mixed(u, y)
    monkeypatch.setattr("trainables.networks.strings.softmax.SHORT", 0)
    torch.testing.assert_close(mixed(u, y), of_kernel)
