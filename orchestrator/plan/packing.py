"""Packs: cells of one shape that train together, formed from what is still pending, sized by time and memory. Knows no Ray."""

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
"""Rank of cells that another sweep is training: they start last, and in packs of their own."""
MEMORY_SHARE = 0.8
"""Of the memory there is, what packs may plan with."""
SMALLEST_PACK_S = 4.0
"""Towards the end packs shrink so that all slots finish together, but not below this: a pack costs some overhead."""

LATEST = 4
"""Cells that a display tells of."""


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
    """What the predicted bytes were multiplied by."""


@dataclass(frozen=True)
class Machine:
    """What packs run on: how many at once, and the memory of one, on processors and on cards (0 where there are none)."""

    slots: int
    bytes_per_pack: int
    gpu_slots: int = 0
    gpu_bytes_per_pack: int = 0

    @property
    def device(self) -> str:
        """Where packs train: `cuda` when a card is there."""
        return "cuda" if self.gpu_slots else "cpu"

    def slots_of(self, device: str) -> int:
        """Packs that train at once on this kind of device; a pack on a card also needs its processor."""
        return min(self.slots, self.gpu_slots) if device == "cuda" else self.slots

    def bytes_of(self, device: str) -> int:
        """Memory that a pack may take there."""
        return self.gpu_bytes_per_pack if device == "cuda" else self.bytes_per_pack


def _shapes(plan: Sequence[PlannedCell]) -> tuple[list[Shape], list[int]]:
    """Of each cell its shape and the number of its task, equal ones being one object: worked out once for the cells of a plan
    that have the same task object and settings, of which a plan of a million has a few hundred."""
    known: dict[tuple[Any, ...], tuple[Shape, int]] = {}
    same: dict[Shape, Shape] = {}
    tasks: dict[Task, int] = {}
    shapes, numbers = [], []
    for p in plan:
        key = (id(p.cell.task), id(p.cell.network), id(p.cell.training))
        if key not in known:
            # Cells of one shape may differ in noise, and then in the engines that can train them.
            shape = p.cell.shape(), tuple(engine.trains(p.cell) for engine in ENGINES.values())
            known[key] = same.setdefault(shape, shape), tasks.setdefault(p.cell.task, len(tasks))
        shape, number = known[key]
        shapes.append(shape)
        numbers.append(number)
    return shapes, numbers


class Feed(Protocol):
    """What a queue asks the sweep that fills it."""

    def accepted(self, queue: "PackQueue", cells: list[int]) -> list[int]:
        """Those of these cells that still want training, asked just before a pack of them starts."""

    def refill(self, queue: "PackQueue") -> bool:
        """Add cells where nothing is pending; returns whether there were any."""


class Filled:
    """The feed of a queue that holds all its cells from the start."""

    def accepted(self, queue: "PackQueue", cells: list[int]) -> list[int]:
        return cells

    def refill(self, queue: "PackQueue") -> bool:
        return False


@dataclass
class PackQueue:
    """Pending cells, packs in flight and what became of them. Runners take packs and report; displays read the counts."""

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
    """Doubles when a pack that was sized by it runs out of memory: what was predicted was too little."""
    in_flight: dict[str, Pack] = field(default_factory=dict)
    fraction: dict[str, float] = field(default_factory=dict)
    ended: dict[int, str] = field(default_factory=dict)
    """Status of every cell that this sweep has finished."""
    dropped: set[int] = field(default_factory=set)
    """Cells that were not accepted: another sweep has trained them."""
    counts: Counter[str] = field(default_factory=Counter)
    """How many have which status."""
    latest: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=LATEST))
    """The cells that finished last, with their headline measure."""

    def __post_init__(self) -> None:
        self._shape, task_numbers = _shapes(self.plan)
        self._inputs: dict[Shape, set[tuple[int, int]]] = defaultdict(set)  # of each shape, those that differ
        self._cells: dict[Shape, int] = defaultdict(int)
        for shape, task, p in zip(self._shape, task_numbers, self.plan, strict=True):
            self._inputs[shape].add((p.cell.seed, task))
            self._cells[shape] += 1
        self._choice: dict[Shape, tuple[str, str, float]] = {}
        self._lanes: dict[tuple[int, Shape], dict[int, None]] = {}  # pending cells, lanes in the order in which they start
        self._ranks: dict[Shape, dict[int, None]] = {}  # of each shape, the ranks that have pending cells, ascending
        self._pending: dict[Shape, int] = {}  # of each shape, how many cells: a plan has far fewer shapes than lanes
        self._trained: dict[Shape, int] = {}
        self._example: dict[Shape, int] = {}
        self._lane_of: dict[int, tuple[int, Shape]] = {}
        self._split: list[tuple[int, ...]] = []  # of packs that failed or were lost, to be tried first

    def add(self, cells: Sequence[int], rank: int = 0) -> None:
        """Append cells, by position in the plan. A lower rank was added before and starts before; ranks meet only in packs
        that would otherwise be very short."""
        for i in cells:
            shape = self._shape[i]
            self._lane_of[i] = rank, shape
            self._lanes.setdefault((rank, shape), {})[i] = None
            self._ranks.setdefault(shape, {})[rank] = None
            self._pending[shape] = self._pending.get(shape, 0) + 1
            self._example.setdefault(shape, i)

    def side_by_side(self, later: Iterable[int] = ()) -> list[int]:
        """The pending cells, and those that may be added `later`, such that those that may share a pack lie together: shape
        after shape, of the pending ones rank after rank."""
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
        """Engine and device for a cell of the plan, the same for all of its shape."""
        return self._chosen(i)[:2]

    def cell_seconds(self, i: int) -> float:
        """Predicted seconds of a cell of the plan, taken from one of its shape for all."""
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
            # Cells so large that a pack holds few of them share with those few alone.
            group = min(group, max(1.0, self.pack_seconds / predicted))
            self._choice[shape] = engine, device, self.cost.predicted(cell, engine, device, group)
        return self._choice[shape]

    def remaining_seconds(self) -> float:
        """Predicted wall time to the end: what is pending and in flight over the slots, on the device that takes longest."""
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
        """Predicted seconds of one slot for what is done: the cells trained so far, and the share of packs in flight."""
        running = (p.seconds * self.fraction.get(p.pack_id, 0.0) for p in self.in_flight.values())
        return sum(n * self.cell_seconds(self._example[shape]) for shape, n in self._trained.items()) + sum(running)

    def too_large(self, later: Iterable[int] = ()) -> list[int]:
        """A cell of each shape, pending or to come `later`, that even alone needs more memory than a pack may take."""
        cells = {shape: self._example[shape] for shape in self._pending} | {self._shape[i]: i for i in later}
        return [i for i in cells.values() if not self._fits([i])]

    def next(self) -> Pack | None:
        """Take the next pack, or None when nothing is pending (or the sweep drains)."""
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
        """The first pending cell and those of its shape and rank that fit the time target and the memory."""
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
        """Predicted memory of a pack of these cells: of its arrays, and on a processor of the worker that holds them."""
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
        """A pack in flight has done this share of its steps."""
        if pack_id in self.in_flight:
            self.fraction[pack_id] = fraction

    def finished(
        self, pack_id: str, statuses: Sequence[str], headline: Sequence[float | None], seconds: float, device: str = "cpu"
    ) -> None:
        """A pack was committed: status and headline measure of its cells in order, the seconds it trained, and where it did."""
        pack = self._end(pack_id)
        if pack is None:
            return
        cell = self.plan[pack.cells[0]].cell
        inputs = {(self.plan[i].cell.seed, self.plan[i].cell.task) for i in pack.cells}
        if "ok" in statuses:  # a pack that diverged ended early, and tells nothing of one that does not
            self.cost.observe(cell, pack.engine, device, seconds / len(pack.cells), len(pack.cells) / len(inputs))
        shape = self._shape[pack.cells[0]]
        self._trained[shape] = self._trained.get(shape, 0) + len(pack.cells)
        for i, status, value in zip(pack.cells, statuses, headline, strict=True):
            self.ended[i] = status
            self.counts[status] += 1
            if value is not None:
                self.latest.append((i, value))

    def failed(self, pack_id: str, out_of_memory: bool = False) -> list[int]:
        """A pack failed. Its halves are tried again; a cell that fails alone is returned, to be recorded as failed."""
        pack = self._end(pack_id)
        if pack is None:
            return []
        if out_of_memory:  # packs sized alike may fail together: they tell the same thing once
            self.memory_factor = max(self.memory_factor, 2 * pack.memory_factor)
        if len(pack.cells) > 1:
            middle = len(pack.cells) // 2
            self._split += [pack.cells[:middle], pack.cells[middle:]]
            return []
        self.ended[pack.cells[0]] = "failed"
        self.counts["failed"] += 1
        return list(pack.cells)

    def lost(self, pack_id: str) -> None:
        """A pack was taken from its worker through no known fault of its own: it is tried again as it is, and first."""
        if pack := self._end(pack_id):
            self._split.insert(0, pack.cells)

    def stop(self, reason: str) -> None:
        """The sweep cannot go on: no further pack starts. Nothing is lost, but nothing more can be done."""
        self.fatal = self.fatal or reason
        self.draining = True

    def _end(self, pack_id: str) -> Pack | None:
        self.fraction.pop(pack_id, None)
        return self.in_flight.pop(pack_id, None)
