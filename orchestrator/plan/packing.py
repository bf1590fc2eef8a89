"""Packs: cells of one shape that train together. They are formed from pending cells, by time and memory. Knows no Ray."""

import hashlib
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Literal, Protocol

from orchestrator.cost.model import CostModel
from orchestrator.grid.load import PlannedCell
from trainables.engines import ENGINES
from trainables.tasks import Task

Shape = tuple[tuple[Any, ...], tuple[bool, ...]]
Order = Literal["seed-first", "grid", "shuffled"]
LATE = 10**9
"""Rank of cells that another sweep is training: they start last, in packs of their own."""
MEMORY_SHARE = 0.8
"""Share of the available memory that packs may take."""
SMALLEST_PACK_S = 4.0
"""Towards the end of a sweep packs shrink so that all slots finish together, but not below this: each pack costs overhead."""

LATEST = 4
"""Number of finished cells that a display shows."""


@dataclass(frozen=True)
class Pack:
    """Cells (as positions in the plan) that one worker trains as one computation and commits as one file."""

    pack_id: str
    cells: tuple[int, ...]
    engine: str
    device: str
    seconds: float
    bytes: int
    memory_factor: float
    """Factor by which the predicted bytes were multiplied."""


@dataclass(frozen=True)
class Machine:
    """Room for packs: how many train at once and the memory of one, on CPUs and on GPUs (0 without GPUs)."""

    slots: int
    bytes_per_pack: int
    gpu_slots: int = 0
    gpu_bytes_per_pack: int = 0

    @property
    def device(self) -> str:
        """Device on which packs train: `cuda` if there is a GPU."""
        return "cuda" if self.gpu_slots else "cpu"

    def slots_of(self, device: str) -> int:
        """Packs that train at once on this kind of device; a pack on a GPU also needs a slot of the CPU."""
        return min(self.slots, self.gpu_slots) if device == "cuda" else self.slots

    def bytes_of(self, device: str) -> int:
        """Memory that a pack may take on this kind of device."""
        return self.gpu_bytes_per_pack if device == "cuda" else self.bytes_per_pack


def _shapes(plan: Sequence[PlannedCell]) -> tuple[list[Shape], list[int]]:
    """The shape of each cell and the number of its task, in the order of the plan; equal shapes are one object.

    Each shape is worked out once for all cells that have the same task, network and training objects: a plan of a million
    cells has a few hundred such combinations.
    """
    known: dict[tuple[Any, ...], tuple[Shape, int]] = {}
    same: dict[Shape, Shape] = {}
    tasks: dict[Task, int] = {}
    shapes, numbers = [], []
    for p in plan:
        key = (id(p.cell.task), id(p.cell.network), id(p.cell.training))
        if key not in known:
            # Cells with the same `Cell.shape` may differ in noise, and so in the engines that can train them.
            shape = p.cell.shape(), tuple(engine.trains(p.cell) for engine in ENGINES.values())
            known[key] = same.setdefault(shape, shape), tasks.setdefault(p.cell.task, len(tasks))
        shape, number = known[key]
        shapes.append(shape)
        numbers.append(number)
    return shapes, numbers


class Feed(Protocol):
    """The sweep that fills a queue, as the queue sees it."""

    def accepted(self, queue: "PackQueue", cells: list[int]) -> list[int]:
        """The cells among these that still want training. The queue asks just before a pack of them starts."""

    def refill(self, queue: "PackQueue") -> bool:
        """Add cells when nothing is pending; return whether any were added."""


class Filled:
    """The feed of a queue that holds all its cells from the start."""

    def accepted(self, queue: "PackQueue", cells: list[int]) -> list[int]:
        return cells

    def refill(self, queue: "PackQueue") -> bool:
        return False


@dataclass
class PackQueue:
    """Pending cells, packs in flight, and how packs ended. Runners take packs and report; displays read the counts."""

    plan: Sequence[PlannedCell]
    machine: Machine
    cost: CostModel
    engine: str | None = None
    pack_seconds: float = 60.0
    feed: Feed = field(default_factory=Filled)
    draining: bool = False
    fatal: str = ""
    """Why the sweep cannot go on at all, such as a full disk."""
    memory_factor: float = 1.0
    """Factor on the predicted memory. It doubles when a pack that was sized by it runs out of memory."""
    in_flight: dict[str, Pack] = field(default_factory=dict)
    fraction: dict[str, float] = field(default_factory=dict)
    ended: dict[int, str] = field(default_factory=dict)
    """Status of every cell that this sweep has finished."""
    dropped: set[int] = field(default_factory=set)
    """Cells that the feed did not accept, because another sweep has trained them."""
    counts: Counter[str] = field(default_factory=Counter)
    """Number of ended cells by status."""
    latest: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=LATEST))
    """The cells that finished last, each with its headline measure."""

    def __post_init__(self) -> None:
        self._shape, task_numbers = _shapes(self.plan)
        self._inputs: dict[Shape, set[tuple[int, int]]] = defaultdict(set)  # the distinct inputs of each shape
        self._cells: dict[Shape, int] = defaultdict(int)
        for shape, task, p in zip(self._shape, task_numbers, self.plan, strict=True):
            self._inputs[shape].add((p.cell.seed, task))
            self._cells[shape] += 1
        self._choice: dict[Shape, tuple[str, str, float]] = {}
        self._lanes: dict[tuple[int, Shape], dict[int, None]] = {}  # pending cells; lanes stand in the order in which they start
        self._ranks: dict[Shape, dict[int, None]] = {}  # for each shape, the ranks that have pending cells, ascending
        self._pending: dict[Shape, int] = {}  # number of cells of each shape: a plan has far fewer shapes than lanes
        self._trained: dict[Shape, int] = {}
        self._example: dict[Shape, int] = {}
        self._lane_of: dict[int, tuple[int, Shape]] = {}
        self._split: list[tuple[int, ...]] = []  # cells of packs that failed or were lost; these start first

    def add(self, cells: Sequence[int], rank: int = 0) -> None:
        """Append cells, by position in the plan. Lower ranks are added first and start first.

        Cells of different ranks share a pack only if it would otherwise be very short.
        """
        for i in cells:
            shape = self._shape[i]
            self._lane_of[i] = rank, shape
            self._lanes.setdefault((rank, shape), {})[i] = None
            self._ranks.setdefault(shape, {})[rank] = None
            self._pending[shape] = self._pending.get(shape, 0) + 1
            self._example.setdefault(shape, i)

    def side_by_side(self, later: Iterable[int] = ()) -> list[int]:
        """The pending cells, then the cells that may be added `later`. Cells that may share a pack stand side by side.

        Both are sorted by shape; the pending cells of a shape are sorted by rank.
        """
        lanes = (self._lanes[rank, shape] for shape, ranks in self._ranks.items() for rank in ranks)
        pending = [*chain.from_iterable(self._split), *chain.from_iterable(lanes)]
        known, of_shape = set(pending), defaultdict(list)
        for i in later:
            if i not in known:
                of_shape[self._shape[i]].append(i)
        return [*pending, *chain.from_iterable(of_shape.values())]

    @property
    def n_pending(self) -> int:
        return sum(self._pending.values()) + sum(map(len, self._split))

    @property
    def n_cells(self) -> int:
        """All cells of this run: ended, in flight and pending."""
        return len(self.ended) + self.n_pending + sum(len(p.cells) for p in self.in_flight.values())

    def choice(self, i: int) -> tuple[str, str]:
        """Engine and device for a cell of the plan; all cells of a shape have the same."""
        return self._chosen(i)[:2]

    def cell_seconds(self, i: int) -> float:
        """Predicted seconds of a cell of the plan; the prediction for one cell of a shape stands for all of them."""
        engine, device, predicted = self._chosen(i)
        return predicted * self.cost.correction(self._shape[i][0], engine, device)

    def _chosen(self, i: int) -> tuple[str, str, float]:
        shape, cell = self._shape[i], self.plan[i].cell
        if shape not in self._choice:
            group = self._cells[shape] / len(self._inputs[shape])
            if self.engine is None:
                engine, device = self.cost.choose(cell, self.machine.device, group)
            else:
                engine, device = (
                    self.engine,
                    self.machine.device if self.machine.device in ENGINES[self.engine].devices else "cpu",
                )
            predicted = self.cost.predicted(cell, engine, device, group)
            # If cells are so large that a pack holds few of them, only those few share their inputs.
            group = min(group, max(1.0, self.pack_seconds / predicted))
            self._choice[shape] = engine, device, self.cost.predicted(cell, engine, device, group)
        return self._choice[shape]

    def remaining_seconds(self) -> float:
        """Predicted wall time to the end: the work pending and in flight, shared by the slots of its device.

        The longest counts: the device that takes longest, or the longest pack.
        """
        work: dict[str, float] = defaultdict(float)
        longest = 0.0
        waiting = [(self._example[shape], n) for shape, n in self._pending.items()]
        waiting += [(cells[0], len(cells)) for cells in self._split]
        for i, n in () if self.draining else waiting:
            work[self.choice(i)[1]] += n * self.cell_seconds(i)
        for pack in self.in_flight.values():
            left = len(pack.cells) * self.cell_seconds(pack.cells[0]) * (1 - self.fraction.get(pack.pack_id, 0.0))
            work[pack.device] += left
            longest = max(longest, left)
        at_most = max(1, (0 if self.draining else self.n_pending) + len(self.in_flight))
        return max([longest, *(seconds / min(at_most, self.machine.slots_of(d)) for d, seconds in work.items())])

    def done_seconds(self) -> float:
        """Predicted seconds, on one slot, of the work done so far: the cells trained, and the steps of packs in flight."""
        running = (p.seconds * self.fraction.get(p.pack_id, 0.0) for p in self.in_flight.values())
        return sum(n * self.cell_seconds(self._example[shape]) for shape, n in self._trained.items()) + sum(running)

    def too_large(self, later: Iterable[int] = ()) -> list[int]:
        """Cells that even alone need more memory than a pack may take, one per shape, pending or to come `later`."""
        cells = {shape: self._example[shape] for shape in self._pending} | {self._shape[i]: i for i in later}
        return [i for i in cells.values() if not self._fits([i])]

    def next(self) -> Pack | None:
        """Take the next pack; None when nothing is pending or the sweep drains."""
        while not self.draining:
            if self._split:
                cells = list(self._split.pop(0))
            elif self._lanes:
                cells = self._gather()
            elif self.feed.refill(self):
                continue
            else:
                return None
            accepted = self.feed.accepted(self, cells)
            self.dropped.update(set(cells) - set(accepted))
            if accepted:
                return self._start(accepted)
        return None

    def _gather(self) -> list[int]:
        """Take the first pending cell and the next ones of its shape, as many as fit the time target and the memory.

        They are of one rank, unless that is too little work for a pack.
        """
        rank, shape = next(iter(self._lanes))
        first = next(iter(self._lanes[rank, shape]))
        each = self.cell_seconds(first)
        target = min(self.pack_seconds, max(self.remaining_seconds() / 3, SMALLEST_PACK_S))
        lane = self._lanes[rank, shape]
        same = list(islice(lane, max(1, int(target / each))))
        if len(lane) * each < min(SMALLEST_PACK_S, target):
            ranks = (r for r in self._ranks[shape] if r < LATE or r == rank)
            lanes = chain.from_iterable(self._lanes[r, shape] for r in ranks)
            same = list(islice(lanes, max(1, int(min(SMALLEST_PACK_S, target) / each))))
        while len(same) > 1 and not self._fits(same):
            same = same[: (len(same) + 1) // 2]
        for i in same:
            del self._lanes[self._lane_of[i]][i]
            if not self._lanes[self._lane_of[i]]:
                del self._lanes[self._lane_of[i]], self._ranks[shape][self._lane_of[i][0]]
        self._pending[shape] -= len(same)
        if not self._pending[shape]:
            del self._pending[shape]
        return same

    def pack_bytes(self, cells: Sequence[int]) -> int:
        """Predicted memory of a pack of these cells: its arrays, and on a CPU also the worker process that holds them."""
        engine, device = self.choice(cells[0])
        arrays = int(self.memory_factor * ENGINES[engine].memory([self.plan[i].cell for i in cells], device))
        return arrays + (0 if device == "cuda" else self.cost.rates.process_bytes)

    def _fits(self, cells: Sequence[int]) -> bool:
        return self.pack_bytes(cells) <= self.machine.bytes_of(self.choice(cells[0])[1])

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
            bytes=self.pack_bytes(cells),
            memory_factor=self.memory_factor,
        )
        self.in_flight[pack.pack_id] = pack
        return pack

    def progress(self, pack_id: str, fraction: float) -> None:
        """Note that a pack in flight has done this share of its steps."""
        if pack_id in self.in_flight:
            self.fraction[pack_id] = fraction

    def finished(
        self, pack_id: str, statuses: Sequence[str], headline: Sequence[float | None], seconds: float, device: str = "cpu"
    ) -> None:
        """Note that a pack was committed.

        `statuses` and `headline`: status and headline measure of its cells, in order. `seconds`: its training time.
        """
        pack = self._end(pack_id)
        if pack is None:
            return
        cell = self.plan[pack.cells[0]].cell
        inputs = {(self.plan[i].cell.seed, self.plan[i].cell.task) for i in pack.cells}
        if "ok" in statuses:  # a pack that diverged ended early, so its seconds predict nothing
            self.cost.observe(cell, pack.engine, device, seconds / len(pack.cells), len(pack.cells) / len(inputs))
        shape = self._shape[pack.cells[0]]
        self._trained[shape] = self._trained.get(shape, 0) + len(pack.cells)
        for i, status, value in zip(pack.cells, statuses, headline, strict=True):
            self.ended[i] = status
            self.counts[status] += 1
            if value is not None:
                self.latest.append((i, value))

    def failed(self, pack_id: str, out_of_memory: bool = False) -> list[int]:
        """Note that a pack failed. Its halves are tried again; a cell that fails alone is returned, to be recorded as failed."""
        pack = self._end(pack_id)
        if pack is None:
            return []
        if out_of_memory:  # packs sized by the same factor may fail together: it doubles once for all
            self.memory_factor = max(self.memory_factor, 2 * pack.memory_factor)
        if len(pack.cells) > 1:
            middle = len(pack.cells) // 2
            self._split += [pack.cells[:middle], pack.cells[middle:]]
            return []
        self.ended[pack.cells[0]] = "failed"
        self.counts["failed"] += 1
        return list(pack.cells)

    def lost(self, pack_id: str) -> None:
        """Put back a pack whose worker was lost, through no known fault of the pack. It starts again whole, before all others."""
        if pack := self._end(pack_id):
            self._split.insert(0, pack.cells)

    def stop(self, reason: str) -> None:
        """Note why the sweep cannot go on, and start no further pack. Committed results are kept."""
        self.fatal = self.fatal or reason
        self.draining = True

    def _end(self, pack_id: str) -> Pack | None:
        self.fraction.pop(pack_id, None)
        return self.in_flight.pop(pack_id, None)
