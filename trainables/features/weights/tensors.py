"""Tensors of a file of weights, by name. torch comes when they are read, because every plan checks shapes."""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from sweepkit.console.words import first_line
from trainables.basics import TaskError

if TYPE_CHECKING:
    from torch import Tensor


def loaded(path: Path) -> "dict[str, Tensor]":
    """All tensors of the file. TaskError, in one line, if it cannot be read or holds anything else."""
    from torch import Tensor

    try:
        found = _of_safetensors(path) if path.suffix == ".safetensors" else _of_torch(path)
    except Exception as error:  # a damaged file raises errors of many kinds, safetensors' own among them
        reason = first_line(error).split(". ")[0]  # torch goes on with advice
        raise TaskError(f"{path} cannot be read as weights: {reason}; replace it") from error
    if not isinstance(found, dict) or not all(isinstance(tensor, Tensor) for tensor in found.values()):
        raise TaskError(f"{path} cannot be read as weights: it holds other things than tensors by name; replace it")
    return found


def _of_safetensors(path: Path) -> object:
    from safetensors.torch import load_file

    return load_file(path)


def _of_torch(path: Path) -> object:
    import torch

    # Files of the older format, such as torchvision's own, cannot be mapped.
    return torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))


def picked(held: "dict[str, Tensor]", file: str | Path, wanted_by: str, name: str, shape: tuple[int, ...]) -> "Tensor":
    """The file's tensor of this name. TaskError if the file lacks it, or if it has another shape."""
    tensor = held.get(name)
    check_shape(file, wanted_by, name, None if tensor is None else tuple(tensor.shape), shape)
    assert tensor is not None
    return tensor


def check_shape(
    file: str | Path,
    wanted_by: str,
    name: str,
    found: tuple[int, ...] | None,
    wanted: tuple[int, ...],
    kind: type[Exception] = TaskError,
) -> None:
    """An error of this kind if a tensor's shape is not the wanted one, or if the file lacks the tensor: `found` is None."""
    if found != wanted:
        has = "is missing" if found is None else f"has shape {found}"
        raise kind(f"{file} is not {wanted_by}: {name} {has}, and must be {wanted}; replace it")
