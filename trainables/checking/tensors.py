"""Tensors for checks of networks, and comparisons of tensors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from trainables.checking.values import fresh_generator


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, torch computes in one thread: on small tensors threads mostly wait for each other, above all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def noise(theta: Tensor, k: int) -> Tensor:
    """Random changes, about as large as these parameters."""
    size = float(theta.double().std(correction=0)) or 0.1
    return size * torch.from_numpy(fresh_generator(k).standard_normal(tuple(theta.shape))).to(theta.dtype)


def equal(one: Tensor, other: Tensor) -> bool:
    """Whether shape and values are the same; NaN equals NaN."""
    return one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


def close(one: Any, other: Tensor, whole: Tensor) -> bool:
    """True if outputs agree up to the rounding of sums in another order, relative to the largest output in `whole`."""
    if not isinstance(one, torch.Tensor) or one.shape != other.shape:
        return False
    # Some hundred times the precision of single sums, which deep networks and cancelling terms amplify.
    tolerance = 1e-9 if whole.dtype == torch.float64 else 1e-3
    return bool(((one - other).abs() <= tolerance * (whole.abs().max() + 1e-6)).all())


def type_name(x: Tensor) -> str:
    """`float32`, not `torch.float32`."""
    return str(x.dtype).removeprefix("torch.")
