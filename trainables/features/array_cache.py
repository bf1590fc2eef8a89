"""Arrays that took long to make, kept on disk: NAME.npy, read as a memory map, and NAME.json, its description.

The description is written last, so an array without one is unfinished. It names the sources of the array and holds a check sum of
blocks spread over the file (of the whole file up to 16 MB): reading all of 8 GB would take longer than training a pack.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from sweepkit.console.writing import lock_file, make_folder, whole, write_whole
from trainables.basics import Array, TaskError, say

_FORMAT = 1
_BLOCK = 64 * 2**10
_BLOCKS = 256


@dataclass(frozen=True)
class Wanted:
    """An array by its name, the length and type of its rows, and the sources that it must have been made from."""

    name: str
    row: int
    dtype: str
    made_from: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Kept:
    """Rows (N, row) as a memory map, sorted by class, and the number of rows of each class."""

    rows: Array
    counts: tuple[int, ...]


class UnfitError(Exception):
    """A kept array cannot be used; the message is the reason."""


class UnreadError(UnfitError):
    """A kept array cannot be read now: it may be a good one, and is not replaced."""


def opened(folder: Path, wanted: Wanted) -> Kept | None:
    """The array, or None if there is none. UnfitError if it is damaged or was made from something else."""
    array, description = folder / f"{wanted.name}.npy", folder / f"{wanted.name}.json"
    if not os.path.lexists(array) and not os.path.lexists(description):
        return None
    try:
        said = json.loads(description.read_text())
        rows = np.load(array, mmap_mode="r", allow_pickle=False)
        check_sum = _check_sum(array)
    except FileNotFoundError:
        raise UnfitError("it was not finished") from None
    except OSError as error:
        raise UnreadError(f"it cannot be read: {error.strerror}") from None
    except (ValueError, EOFError) as error:  # no JSON, no header, or shorter than the header says
        raise UnfitError(f"it is torn ({error})") from None
    if not isinstance(said, dict) or {k: said.get(k) for k in ("format", "made_from")} != _description(wanted):
        raise UnfitError("it was made from something else")
    counts = said.get("counts")
    if not isinstance(counts, list) or not all(type(n) is int and n >= 0 for n in counts):
        raise UnfitError("it is torn (its description lacks the counts of the classes)")
    if rows.shape != (sum(counts), wanted.row) or rows.dtype != np.dtype(wanted.dtype) or said.get("check") != check_sum:
        raise UnfitError("it is torn (its check sum differs)")
    return Kept(rows, tuple(counts))


def made(
    folders: Iterable[Path], wanted: Wanted, batches: Callable[[], tuple[tuple[int, ...], Iterable[Array]]], console: Console
) -> Kept:
    """The array from the first of these folders that has it; else it is made in the first that can be written.

    `batches` gives the counts of the classes, and the rows, some at a time. One process makes the array, others wait. The console
    says why arrays that are there are not used. TaskError if no folder can be written or the disk is full.
    """
    folders = list(folders)
    kept, unfit = _looked(folders, wanted)
    if kept:
        return kept
    folder = writable(folders)
    unfit.pop(folder, None)  # looked at again under the lock: another process may be writing it
    try:
        make_folder(folder)
        with _locked(folder, wanted, console):
            kept, still_unfit = _looked([folder], wanted)
            if kept:  # made while this process waited
                return kept
            for place, reason in (unfit | still_unfit).items():
                if place == folder and isinstance(reason, UnreadError):
                    raise TaskError(f"{place / wanted.name}.npy may be there, but {reason}; let this account read it")
                at = "" if place == folder else f" in {folder}"
                say(console, f"{place / wanted.name}.npy is not used: {reason}; it is made anew{at}")
            _write(folder, wanted, *batches())
        kept = opened(folder, wanted)
    except OSError as error:
        at = f" ({error.filename})" if error.filename else ""
        raise TaskError(
            f"{folder / wanted.name}.npy cannot be made: {error.strerror or error}{at}; make room or let the folder be written"
        ) from error
    except UnfitError as reason:
        raise TaskError(
            f"{folder / wanted.name}.npy was just written, and {reason}: that disk loses data; use another"
        ) from reason
    assert kept is not None
    return kept


def found(folders: Iterable[Path], wanted: Wanted) -> Kept | None:
    """The array from the first of these folders that has it, fit for use; None if there is none."""
    return _looked(folders, wanted)[0]


def _looked(folders: Iterable[Path], wanted: Wanted) -> tuple[Kept | None, dict[Path, UnfitError]]:
    """The array as `found` gives it, and why it is unfit in the folders before."""
    unfit = dict[Path, UnfitError]()
    for folder in folders:
        try:
            if kept := opened(folder, wanted):
                return kept, unfit
        except UnfitError as reason:
            unfit[folder] = reason
    return None, unfit


def writable(folders: Iterable[Path]) -> Path:
    """The first of these folders that exists or can be made, and that can be written. TaskError if there is none."""
    folders = list(folders)
    for folder in folders:
        above = next(p for p in (folder, *folder.parents) if os.path.exists(p))
        if os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK):
            return folder
    raise TaskError(f"none of these folders can be written: {', '.join(map(str, folders))}")


def _write(folder: Path, wanted: Wanted, counts: tuple[int, ...], batches: Iterable[Array]) -> None:
    array = folder / f"{wanted.name}.npy"
    (folder / f"{wanted.name}.json").unlink(missing_ok=True)  # from here on the array counts as unfinished
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(wanted.dtype)), "fortran_order": False}
    n = 0
    # Written, not mapped: a full disk is then an error, and written rows need not stay in memory. The lock makes one name enough.
    with whole(array, aside=f".{wanted.name}.npy.part") as file:
        np.lib.format.write_array_header_1_0(file, header | {"shape": (sum(counts), wanted.row)})
        for batch in batches:
            file.write(np.ascontiguousarray(batch, wanted.dtype).data)
            n += len(batch)
        if n != sum(counts):
            raise ValueError(f"{n} rows were made of {wanted.name}, not {sum(counts)}")
    said = _description(wanted) | {"counts": counts, "check": _check_sum(array)}
    write_whole(folder / f"{wanted.name}.json", json.dumps(said, indent=1))


def _description(wanted: Wanted) -> dict[str, Any]:
    return {"format": _FORMAT, "made_from": dict(wanted.made_from)}


def _check_sum(file: Path) -> str:
    """sha256 of the file's length and of blocks spread evenly over it, its first and its last among them."""
    size = file.stat().st_size
    found = hashlib.sha256(str(size).encode())
    with file.open("rb") as data:
        starts = range(0, size, _BLOCK) if size <= _BLOCKS * _BLOCK else np.linspace(0, size - _BLOCK, _BLOCKS, dtype=np.int64)
        for start in starts:
            data.seek(int(start))
            found.update(data.read(_BLOCK))
    return found.hexdigest()


@contextmanager
def _locked(folder: Path, wanted: Wanted, console: Console) -> Iterator[None]:
    """Hold this array's lock, against processes of all nodes that share the folder."""
    with lock_file(folder / f".{wanted.name}.lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(console, f"waiting for another process that makes {folder / wanted.name}.npy ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
