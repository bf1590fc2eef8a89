"""Packs: cells of one shape that train together, formed from what is still pending, sized by time and memory. Knows no Ray."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.cost import PROCESS_BYTES, CostModel, EngineName, pack_bytes
from orchestrator.grid import PlannedCell
from trainables.engines.base import shape_of

Shape = tuple[Any, ...]
Order = Literal["seed-first", "grid", "shuffled"]
SMALLEST_PACK_S = 4.0
"""Towards the end packs shrink so that all slots finish together, but not below this: a pack costs some overhead."""


@dataclass(frozen=True)
class Pack:
    """Cells (as positions in the plan) that one worker trains as one computation and commits as one file."""

    pack_id: str
    cells: tuple[int, ...]
    engine: EngineName
    device: str
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Machine:
    """What packs run on: how many at once, memory for each, and the card's memory where there is one."""

    slots: int
    bytes_per_pack: int
    gpu_slots: int = 0
    gpu_bytes: int = 0

    @property
    def device(self) -> str:
        """Where `batched` trains: `cuda` when a card is there."""
        return "cuda" if self.gpu_slots else "cpu"


@dataclass
class PackQueue:
    """Pending cells, packs in flight and what became of them. Runners take packs and report; displays read the counts."""

    plan: Sequence[PlannedCell]
    machine: Machine
    cost: CostModel
    engine: EngineName | None = None
    pack_seconds: float = 60.0
    accept: Callable[[list[int]], list[int]] = lambda cells: cells
    """Last look before a pack starts: which of these cells still want training."""
    draining: bool = False
    memory_factor: float = 1.0
    """Doubles whenever a pack runs out of memory: what was predicted was too little."""
    in_flight: dict[str, Pack] = field(default_factory=dict)
    fraction: dict[str, float] = field(default_factory=dict)
    ended: dict[int, str] = field(default_factory=dict)
    """Status of every cell that this sweep has finished."""
    latest: dict[int, float] = field(default_factory=dict)
    """Best test accuracy of the cells that finished, in order of finishing."""

    def __post_init__(self) -> None:
        self._shape = [shape_of(planned.cell) for planned in self.plan]
        self._pending: dict[int, None] = {}  # in the order in which they should start
        self._of_shape: dict[Shape, dict[int, None]] = defaultdict(dict)  # the same cells by shape
        self._split: list[tuple[int, ...]] = []  # halves of packs that failed, to be tried first

    def add(self, cells: Sequence[int]) -> None:
        """Append cells, by position in the plan, in the order in which they should start."""
        for i in cells:
            self._pending[i] = self._of_shape[self._shape[i]][i] = None

    @property
    def n_pending(self) -> int:
        return len(self._pending) + sum(map(len, self._split))

    @property
    def n_cells(self) -> int:
        """All cells of this run: ended, in flight and pending."""
        return len(self.ended) + self.n_pending + sum(len(p.cells) for p in self.in_flight.values())

    def choice(self, i: int) -> tuple[EngineName, str]:
        """Engine and device for a cell of the plan."""
        cell = self.plan[i].cell
        if self.engine is None:
            return self.cost.choose(cell, self.machine.device)
        return self.engine, "cpu" if self.engine == "gram" else self.machine.device

    def cell_seconds(self, i: int) -> float:
        """Predicted seconds of a cell of the plan, the same for all of its shape."""
        return self.cost.seconds(self.plan[i].cell, *self.choice(i))

    def remaining_seconds(self) -> float:
        """Predicted wall time to the end: what is pending and in flight, over the slots."""
        parts = [(next(iter(cells)), len(cells)) for cells in self._of_shape.values() if cells]
        parts += [(part[0], len(part)) for part in self._split]
        waiting = sum(n * self.cell_seconds(i) for i, n in parts)
        running = [
            len(p.cells) * self.cell_seconds(p.cells[0]) * (1 - self.fraction.get(p.pack_id, 0.0))
            for p in self.in_flight.values()
        ]
        slots = max(1, min(self.machine.slots, self.n_pending + len(running)))
        return max((waiting + sum(running)) / slots, max(running, default=0.0))

    def next(self) -> Pack | None:
        """Take the next pack, or None when nothing is pending (or the sweep drains)."""
        while not self.draining:
            if self._split:
                cells = list(self._split.pop(0))
            elif self._pending:
                cells = self._gather()
            else:
                return None
            cells = self.accept(cells)
            if cells:
                return self._start(cells)
        return None

    def _gather(self) -> list[int]:
        """The first pending cell and those of its shape that fit the time target and the memory."""
        first = next(iter(self._pending))
        engine, device = self.choice(first)
        same = list(self._of_shape[self._shape[first]])
        target = min(self.pack_seconds, max(self.remaining_seconds() / 3, SMALLEST_PACK_S))
        n = max(1, min(len(same), int(target / self.cell_seconds(first))))
        limit = self.machine.gpu_bytes if device == "cuda" else self.machine.bytes_per_pack - PROCESS_BYTES
        while n > 1 and self.memory_factor * pack_bytes([self.plan[i].cell for i in same[:n]], engine) > limit:
            n = (n + 1) // 2
        for i in same[:n]:
            del self._pending[i], self._of_shape[self._shape[first]][i]
        return same[:n]

    def _start(self, cells: list[int]) -> Pack:
        engine, device = self.choice(cells[0])
        members = [self.plan[i] for i in cells]
        text = "\n".join([engine, *sorted(p.cell_id for p in members)])
        pack = Pack(
            pack_id=hashlib.sha256(text.encode()).hexdigest()[:20],
            cells=tuple(cells),
            engine=engine,
            device=device,
            seconds=len(cells) * self.cell_seconds(cells[0]),
            bytes=int(self.memory_factor * pack_bytes([p.cell for p in members], engine)) + PROCESS_BYTES,
        )
        self.in_flight[pack.pack_id] = pack
        return pack

    def progress(self, pack_id: str, fraction: float) -> None:
        """A pack in flight has done this share of its steps."""
        if pack_id in self.in_flight:
            self.fraction[pack_id] = fraction

    def finished(self, pack_id: str, statuses: Sequence[str], best: Sequence[float | None], seconds: float) -> None:
        """A pack was committed: status and best accuracy of its cells in order, and the seconds it trained."""
        pack = self._end(pack_id)
        if pack is None:
            return
        cell = self.plan[pack.cells[0]].cell
        self.cost.observe(cell, pack.engine, pack.device, seconds / len(pack.cells))
        for i, status, accuracy in zip(pack.cells, statuses, best, strict=True):
            self.ended[i] = status
            if accuracy is not None:
                self.latest[i] = accuracy

    def failed(self, pack_id: str, out_of_memory: bool = False) -> list[int]:
        """A pack failed. Its halves are tried again; a cell that fails alone is returned, to be recorded as failed."""
        pack = self._end(pack_id)
        if pack is None:
            return []
        if out_of_memory:
            self.memory_factor *= 2
        if len(pack.cells) > 1:
            middle = len(pack.cells) // 2
            self._split += [pack.cells[:middle], pack.cells[middle:]]
            return []
        self.ended[pack.cells[0]] = "failed"
        return list(pack.cells)

    def _end(self, pack_id: str) -> Pack | None:
        self.fraction.pop(pack_id, None)
        return self.in_flight.pop(pack_id, None)
