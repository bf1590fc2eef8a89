"""Random streams. A cell's draws depend on its seed, its shape and their purpose, never on pack, order, worker or restart.

A stream is Philox, a counter-based generator. Its key is a hash of owner and purpose, and each block has a counter of its own, so
any block can be drawn at any time. Numbers are drawn on the CPU and in one type, whatever the cell's device or precision.
"""

import hashlib
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from sweepkit.declarations.evaluations import PROBED
from trainables.basics import Array
from trainables.cell import Cell
from trainables.tasks.base import Task

Purpose = Literal["symbols", "weights", "batches", "order", "test", "validation", "richness"]

BLOCK_STEPS = 10
"""Training steps whose batches are drawn together as one block."""


def stream_owner(cell: Cell) -> str:
    """Cells with the same owner draw the same symbols, batches and test examples, and like networks the same weights unless the
    data have a seed of their own.

    An owner is the task's name, source and keys without `shared_across`, the seed of the data, and the width if each step sees
    fresh examples. So gamma, base_lr, steps and precision do not matter, and a fixed training set is the same for every network
    and training.
    """
    return _owner(cell, cell.seed if cell.task.data_seed is None else cell.task.data_seed)


def weights_owner(cell: Cell) -> str:
    """Like networks with the same owner draw the same weights: `stream_owner`, whatever seed the data have."""
    return _owner(cell, cell.seed)


def _owner(cell: Cell, seed: int) -> str:
    task = cell.task
    keys = {k: v for k, v in task.identity().items() if k not in (*task.shared_across, "data_seed")}
    if cell.task.n_train is None:
        keys["width"] = cell.width
    keys["seed"] = seed
    return "\n".join([task.name, task.source, *(f"{k}={v!r}" for k, v in sorted(keys.items()))])


def stream(owner: str, purpose: Purpose, block: int = 0) -> np.random.Generator:
    """Generator of one block of a stream. `block` counts blocks of BLOCK_STEPS steps for batches and order, epochs for the
    order of shuffled sets, and steps for tests, unless these are fixed; for batches of chains it counts trajectories."""
    return _key(purpose, owner).generator(block)


def stream_key(owner: str, purpose: Purpose) -> tuple[np.uint64, np.uint64]:
    """The lower and the upper half of a stream's key, for compiled draws of many blocks."""
    low, high = _key(purpose, owner).words
    return low, high


def initial_parameters(cell: Cell) -> dict[str, Array]:
    """The parameters by name with which the cell's network starts."""
    return cell.network.init(stream(weights_owner(cell), "weights"), cell)


def measured_at_once(cell: Cell) -> int:
    """Steps whose outputs are kept until all are measured: a block, or a single step where it is an epoch or its strings have
    many answers, to take less memory."""
    return BLOCK_STEPS if cell.updates == cell.task.n_answers == 1 else 1


def n_probed(cell: Cell) -> int:
    """Number of examples of `training_probe`."""
    return min(cell.task.n_train or PROBED, PROBED)


def training_probe(cell: Cell) -> tuple[Array, Array]:
    """Inputs and targets of `n_probed` training examples, on which a network is measured at any step.

    They are the first ones of a fixed training set, else fresh ones of a stream of their own.
    """
    return probe_set(stream_owner(cell), cell.task)


def probe_set(owner: str, task: Task, fresh: bool = False) -> tuple[Array, Array]:
    """`training_probe` of the cells of an owner and a task; `fresh`: PROBED test examples instead."""
    symbols = task.draw_symbols(stream(owner, "symbols"))
    if fresh:
        return task.test_examples(stream(owner, "richness", 1), symbols, PROBED)
    rng = stream(owner, "richness" if task.n_train is None else "batches")
    return (task.train_set if task.n_train else task.train_examples)(rng, symbols, PROBED)


def stream_of_tests(owner: str, task: Task, step: int) -> np.random.Generator:
    """Generator of the test examples on which `step` is evaluated: another at each step, unless the task's tests are fixed."""
    return stream(owner, "test", 0 if task.has_fixed_tests else step)


def tests_of(owner: str, task: Task, symbols: Array, step: int, n: int) -> tuple[Array, Array]:
    """Inputs and targets of n test examples on which `step` is evaluated."""
    return task.test_examples(stream_of_tests(owner, task, step), symbols, n)


class Key(ISeedSequence):
    """A stream's key in place of a seed: given `key=...`, Philox asks the system for a seed too, which takes four times as long
    as all else."""

    def __init__(self, words: np.ndarray[Any, np.dtype[np.uint64]]) -> None:
        self.words = words
        """The lower and the upper half."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray[Any, np.dtype[np.uint64]]:
        assert (n_words, dtype) == (2, np.uint64)
        return self.words

    def generator(self, block: int = 0) -> np.random.Generator:
        """The generator of one block of the stream."""
        counter = np.array([0, 0, block, 0], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(self, counter=counter))  # type: ignore[arg-type]  # a stub knows no protocol


@lru_cache(maxsize=1024)
def _key(purpose: Purpose, owner: str) -> Key:
    digest = hashlib.sha256(f"{purpose}\n{owner}".encode()).digest()[:16]
    return Key(np.frombuffer(digest, dtype="<u8").astype(np.uint64))
