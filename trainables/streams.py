"""Random streams: what a cell draws depends on its seed, its shape and the purpose, never on pack, order, worker or restart.

A stream is Philox, a counter-based generator: the key is a hash of who draws for what, the counter starts at a block's
own position, so any block can be drawn at any time. Draws are float32 on the CPU whatever the cell's precision or device.
"""

import hashlib
from functools import lru_cache
from typing import Literal

import numpy as np

from trainables.cell import Cell

Purpose = Literal["symbols", "weights", "batches", "order", "test"]

BLOCK_STEPS = 10
"""Training steps whose batches are drawn together as one block."""


def stream_owner(cell: Cell) -> str:
    """Cells with the same owner draw the same symbols, weights, batches and test examples.

    It leaves out gamma, base_lr, steps, precision, and what task and network name in `shared_across`: at equilibrium networks of
    every width see one training set.
    """
    task = cell.task
    keys = {k: v for k, v in task.identity().items() if k not in task.shared_across}
    if "width" not in cell.network.shared_across:
        keys["width"] = cell.width
    keys["seed"] = cell.seed
    return "\n".join([task.name, task.source, *(f"{k}={v!r}" for k, v in sorted(keys.items()))])


def stream(owner: str, purpose: Purpose, block: int = 0) -> np.random.Generator:
    """Generator of one block of a stream: batches and order count blocks of BLOCK_STEPS steps, tests count steps."""
    return np.random.Generator(np.random.Philox(key=_key(purpose, owner), counter=block << 128))


@lru_cache(maxsize=1024)
def _key(purpose: Purpose, owner: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{purpose}\n{owner}".encode()).digest()[:16], "little")
