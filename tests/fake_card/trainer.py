"""Trains in the name of the fake card: on the CPU, shape by shape, and with the faults that its environment asks for."""

import json
import os
import random
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from tests.fake_card import VARIABLE
from trainables.basics import CardUnusable
from trainables.cell import Cell
from trainables.engines import DescentEngine
from trainables.metrics.base import Probed
from trainables.tasks.base import Array
from trainables.trainers.base import Measures

_asked = json.loads(os.environ[VARIABLE])
_rng = random.Random(f"{_asked['seed']} {time.time_ns()} {os.getpid()}")
_broken = False


def call_card() -> None:
    """Call the card: it may fail, and once a process has met a CUDA error, every call fails."""
    global _broken
    for fault, rate in _asked["rates"].items():
        if _rng.random() >= rate:
            continue
        if fault == "memory":
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        if fault == "unusable":
            raise CardUnusable("Triton cannot compile for the GPU: no C compiler is there; install gcc, or name one in CC")
        if fault == "crash":
            os.abort()
        _broken = True
    if _broken:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be reported later")


class FakeCard:
    """Implements Trainer. Cells of any shapes: a trainer for each, on the CPU."""

    def __init__(self, engine: DescentEngine, cells: Sequence[Cell]) -> None:
        call_card()
        self.name = engine.name
        shapes: dict[tuple, list[int]] = {}
        for c, cell in enumerate(cells):
            shapes.setdefault(cell.shape(), []).append(c)
        self.members = list(shapes.values())
        self.trainers = [engine.trainer([cells[c] for c in members], "cpu") for members in self.members]
        self.place = {
            c: (trainer, k) for trainer, own in zip(self.trainers, self.members, strict=True) for k, c in enumerate(own)
        }

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        call_card()
        parts = [trainer.train(first_step, n_steps) for trainer in self.trainers]
        loss, right = (self._together([part[k] for part in parts]) for k in range(2))
        return loss, right

    def evaluate(self, step: int, n: int) -> Array:
        call_card()
        return self._together([trainer.evaluate(step, n).T for trainer in self.trainers]).T

    def measures(self, step: int) -> Measures:
        call_card()
        found = [trainer.measures(step) for trainer in self.trainers]
        merged = (None if parts[0] is None else self._together(list(parts)) for parts in zip(*found, strict=True))
        return Measures(*merged)

    def hidden_weights(self, c: int, neurons: Array) -> Array:
        trainer, k = self.place[c]
        return trainer.hidden_weights(k, neurons)

    def probed(self, c: int) -> Callable[[Array], Probed]:
        trainer, k = self.place[c]
        return trainer.probed(k)

    def state(self) -> dict[str, Array]:
        return {f"{k} {name}": array for k, one in enumerate(self.trainers) for name, array in one.state().items()}

    def load(self, state: dict[str, Array]) -> None:
        for k, trainer in enumerate(self.trainers):
            mine = {name.partition(" ")[2]: array for name, array in state.items() if name.partition(" ")[0] == str(k)}
            trainer.load(mine)

    def _together(self, parts: list[Array]) -> Array:
        whole = np.empty((len(self.place), *parts[0].shape[1:]), parts[0].dtype)
        for members, part in zip(self.members, parts, strict=True):
            whole[members] = part
        return whole
