"""Synthetic rows of packs, for the tests of whatever reads a store."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sweepkit.declarations.columns import Key, Kind
from sweepkit.store.files import Files, open_files

START = datetime(2026, 1, 1, tzinfo=UTC)


def row(cell: int | str, status: str = "ok", minute: int = 0, curves: int = 3, neurons: int = 0, **more: Any) -> dict[str, Any]:
    cell_id = cell if isinstance(cell, str) else f"{cell:020x}"
    number = cell if isinstance(cell, int) else 0
    found: dict[str, Any] = {
        "cell_id": cell_id, "task": "same_different", "L": 2 + number % 11, "d": 128, "width": 512, "gamma": 1.0,
        "gamma_label": "1", "seed": number, "steps": 1000 * curves, "status": status, "best_test_acc": 0.5 + number / 1e6,
        "seconds": 0.25, "finished_at": START + timedelta(minutes=minute), "engine": "reference",
    }  # fmt: skip
    if status != "ok":
        found["reason"] = f"{status} at step {number}"
    if curves:
        steps = list(range(0, 1000 * curves, 1000))
        found |= {"curve_step": steps, **{f"curve_{name}": [0.5] * curves for name in ("train_loss", "train_acc", "test_acc")}}
    if neurons:
        found |= {"neuron_readout": [1.0] * neurons, "neuron_alignment": [0.5] * neurons}
    return found | more


def rows(first: int, n: int, **more: Any) -> list[dict[str, Any]]:
    return [row(first + i, **more) for i in range(n)]


def keys(**kinds: Kind) -> list[Key]:
    """Declarations of a task's own keys: `keys(hops="whole", colour="text")`."""
    return [Key(name, name, kind, in_streams=True) for name, kind in kinds.items()]


OWN_KEYS = keys(patches="whole", patch_size="whole", blur="number", layer="text", k="whole", eval_at="text")
"""Keys of tasks and trainings that the package `declarations` does not declare."""


def flip_bits(files: Files, path: str, where: float) -> None:
    """Invert one byte, at this share of the file."""
    data = bytearray(files.read(path))
    data[int(where * len(data))] ^= 0xFF
    files.write(path, bytes(data))


def names(results: str | Path) -> list[str]:
    """All committed files of rows."""
    files: Files = open_files(str(results))
    return [entry.path for folder in ("packs", "failed", "compacted") for entry in files.entries(folder)]
