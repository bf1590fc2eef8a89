"""Names and shapes of the tensors in a file of weights, read from its header in milliseconds, without torch.

Sizes are checked too, so that a file that is torn, or a pointer of Git LFS in place of one, is noticed when a grid is planned.
"""

import io
import json
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sweepkit.console.words import in_a_line

Shapes = dict[str, tuple[int, ...]]

_POINTER = b"version https://git-lfs"
_LEGACY = 0x1950A86A20F9469CFC6C
"""The number at the beginning of files that torch wrote before they were archives, as the published ones are."""
_BYTES = {"Double": 8, "Long": 8, "Float": 4, "Int": 4, "Half": 2, "BFloat16": 2, "Short": 2, "Byte": 1, "Char": 1, "Bool": 1}
"""Bytes of a number in torch's storage of this name."""


class UnreadableError(Exception):
    """A file that holds no weights; the message says why, and what helps if it is known."""


def shapes_in(path: Path) -> Shapes:
    """Shapes of all tensors of the file, by name. UnreadableError if it is none that safetensors, or torch, could read whole;
    OSError if it cannot be opened."""
    with open(path, "rb") as file:
        if file.read(len(_POINTER)) == _POINTER:
            raise UnreadableError("it is a pointer of Git LFS; fetch the file itself, by git lfs pull")
        file.seek(0)
        try:
            if path.suffix == ".safetensors":
                return _in_safetensors(file, path.stat().st_size)
            is_archive = file.read(2) == b"PK"
            file.seek(0)
            return _in_archive(file) if is_archive else _in_legacy(file, path.stat().st_size)
        except (UnreadableError, OSError):
            raise
        except Exception as error:  # a damaged pickle or header raises errors of any kind
            raise UnreadableError(in_a_line(error)) from error


def _in_safetensors(file: BinaryIO, size: int) -> Shapes:
    """Eight bytes with the header's length, the header in JSON, the numbers."""
    length = int.from_bytes(file.read(8), "little")
    if length > size - 8:
        raise UnreadableError("its header is torn, or it is no file of safetensors")
    entries = {name: entry for name, entry in json.loads(file.read(length)).items() if name != "__metadata__"}
    whole = 8 + length + max((entry["data_offsets"][1] for entry in entries.values()), default=0)
    _check_size(size, whole)
    return {name: tuple(map(int, entry["shape"])) for name, entry in entries.items()}


class _Storage(NamedTuple):
    key: str
    n: int
    item_bytes: int

    @property
    def n_bytes(self) -> int:
        return self.n * self.item_bytes


class _Seen(NamedTuple):
    """A tensor in place of torch's: its shape alone."""

    shape: tuple[int, ...]


def _tensor(storage: _Storage, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> _Seen:
    last = offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if last >= storage.n and 0 not in shape:
        raise UnreadableError(f"a tensor of shape {tuple(shape)} exceeds its {storage.n} numbers")
    return _Seen(tuple(shape))


def _parameter(tensor: _Seen, *_: Any) -> _Seen:
    return tensor


class _Unpickler(pickle.Unpickler):
    """Reads a pickle of tensors by name without their numbers, and makes no objects of any other kind."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch._utils", "_rebuild_parameter"): _parameter,
        }
        if module == "torch" and name.endswith("Storage"):
            return name.removesuffix("Storage")
        if (module, name) not in known:
            raise UnreadableError(f"it holds {module}.{name}, and not tensors by name alone")
        return known[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        _, kind, key, _, count, *_ = pid
        return self.storages.setdefault(key, _Storage(key, int(count), _BYTES[kind]))


def _in_archive(file: BinaryIO) -> Shapes:
    """A zip file with a pickle and a file for each storage, as torch writes since version 1.6."""
    if not zipfile.is_zipfile(file):  # its end is missing, which lists the files
        raise UnreadableError("it is torn")
    with zipfile.ZipFile(file) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        (pickled,) = (name for name in sizes if name.endswith("/data.pkl"))
        unpickler = _Unpickler(io.BytesIO(archive.read(pickled)))
        found = _shapes(unpickler.load())
        folder = pickled.removesuffix("data.pkl")
        for storage in unpickler.storages.values():
            _check_size(sizes.get(f"{folder}data/{storage.key}", 0), storage.n_bytes)
    return found


def _in_legacy(file: BinaryIO, size: int) -> Shapes:
    """A number, a version, the machine's sizes, the pickle, and the storages, each with its length, as torch wrote before."""
    if _Unpickler(file).load() != _LEGACY:
        raise UnreadableError("torch did not write it")
    _Unpickler(file).load(), _Unpickler(file).load()
    unpickler = _Unpickler(file)
    found = _shapes(unpickler.load())
    keys = _Unpickler(file).load()
    _check_size(size, file.tell() + sum(8 + unpickler.storages[key].n_bytes for key in keys))
    return found


def _shapes(held: Any) -> Shapes:
    if not isinstance(held, Mapping):
        raise UnreadableError(f"it holds {type(held).__name__}, and not tensors by name")
    if others := [str(name) for name, value in held.items() if not isinstance(value, _Seen)]:
        raise UnreadableError(f"it holds {others[0]}, which is no tensor")
    return {name: value.shape for name, value in held.items()}


def _check_size(size: int, whole: int) -> None:
    if size < whole:
        raise UnreadableError(f"it is torn: {size} of {whole} bytes are there")
