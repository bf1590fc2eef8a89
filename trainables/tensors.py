"""Inputs and parameters of one network as tensors on the host, in the type that its cell trains in."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.streams import training_probe
from trainables.tasks.base import Array


def as_inputs(cell: Cell, x: Array) -> Tensor:
    """Inputs (n, input_dim); tokens stay whole numbers."""
    return torch.tensor(x, dtype=torch.int64 if cell.task.inputs == "tokens" else _dtype(cell))


def as_tensors(cell: Cell, parameters: Mapping[str, Array]) -> dict[str, Tensor]:
    """Parameters by name."""
    return {name: torch.tensor(values, dtype=_dtype(cell)) for name, values in parameters.items()}


def settled(cell: Cell, parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    """These parameters as evaluation takes them; see `Network.settled`."""
    if not cell.network.mixes_examples:
        return parameters
    return cell.network.settled(parameters, as_inputs(cell, training_probe(cell)[0]), cell)


def features_of(cell: Cell, parameters: Mapping[str, Array], x: Array) -> Array | None:
    """Activations (n, m) of the last hidden layer with these parameters at inputs x; None for a network that has none."""
    with torch.no_grad():
        found = cell.network.features(settled(cell, as_tensors(cell, parameters)), as_inputs(cell, x), cell)
    return None if found is None else found.numpy()


def _dtype(cell: Cell) -> Any:
    return torch.float64 if cell.dtype == "float64" else torch.float32
