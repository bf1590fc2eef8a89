"""Curves of networks that are still in training, from the checkpoints of live sweeps that this machine can read."""

import json
import re
from pathlib import Path
from typing import Any

from sweepkit.store.files import Files
from sweepkit.store.leases import drivers

CURVES = "curves.json"
"""The file beside a checkpoint that holds the curves of its pack so far."""
MOST_BYTES = 32 << 20
"""Larger files are left out: a page of the app reads them all."""
_SCRATCH = re.compile(r"sweep-.+-\d+-[0-9a-f]{8}")


def curves_under_way(files: Files) -> dict[str, dict[str, Any]]:
    """By cell in training, its `keys` and its `curve` (lists by name, `step` among them).

    A cell is left out before its first checkpoint, and if the checkpoints lie in a bucket or on another machine's disk.
    """
    found: dict[str, dict[str, Any]] = {}
    for driver in drivers(files):
        # A lease is a file that others may write: only directories named as a sweep names its own are looked into.
        if driver.alive and _SCRATCH.fullmatch(Path(driver.scratch).name):
            cells = set(driver.cell_ids)
            for path in sorted(Path(driver.scratch).glob(f"*/*/checkpoint_*/{CURVES}")):
                found |= {one["cell_id"]: one for one in _read(path) if one["cell_id"] in cells}
    return found


def _read(path: Path) -> list[dict[str, Any]]:
    """The cells in a file; none if it is gone meanwhile, half written, too large, or something else."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return []
        told = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    if not isinstance(told, list):
        return []
    return [one for one in told if isinstance(one, dict) and {"cell_id", "keys", "curve"} <= one.keys()]
