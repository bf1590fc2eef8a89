"""Tensors for checks of networks, and comparisons of tensors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.checking.values import fresh_generator
from trainables.tasks.base import Array


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, torch computes in one thread: on small tensors threads mostly wait for each other, above all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def as_inputs(cell: Cell, x: Array) -> Tensor:
    """Inputs (n, input_dim) in the type that the cell trains in; tokens stay whole numbers."""
    return torch.tensor(x, dtype=torch.int64 if cell.task.inputs == "tokens" else _dtype(cell))


def as_tensors(cell: Cell, parameters: Mapping[str, Array]) -> dict[str, Tensor]:
    """Parameters in the type that the cell trains in."""
    return {name: torch.tensor(values, dtype=_dtype(cell)) for name, values in parameters.items()}


def _dtype(cell: Cell) -> Any:
    return torch.float64 if cell.dtype == "float64" else torch.float32


def noise(theta: Tensor, k: int) -> Tensor:
    """Random changes, about as large as these parameters."""
    size = float(theta.double().std(correction=0)) or 0.1
    return size * torch.from_numpy(fresh_generator(k).standard_normal(tuple(theta.shape))).to(theta.dtype)


def equal(one: Tensor, other: Tensor) -> bool:
    """Whether shape and values are the same; NaN equals NaN."""
    return one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num())


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
