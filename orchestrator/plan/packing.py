"""Packs: cells that train together. They are formed from pending cells, by time and memory. Knows no Ray.

Cells of a pack have one `Engine.pack_key`: on a CPU that is one shape for most engines, on a card, which works on hundreds at
once, it is less.
"""

import hashlib
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from typing import Literal, Protocol

from orchestrator.cost.model import CostModel
from orchestrator.grid.planned import PlannedCell
from orchestrator.plan.engine_choice import Choice, Choices, Shape
from orchestrator.plan.machine import CONTEXT_BYTES, FULL_CARD, Machine
from trainables.engines import ENGINES

Order = Literal["seed-first", "grid", "shuffled"]
LATE = 10**9
"""Rank of cells that another sweep is training, or about to: they start last, in packs of their own."""
DEVICES = ("cuda", "cpu")
"""The kinds of devices, those with the most work first."""
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
    share: float = 0.0
    """Share of a card that the pack takes."""


class Feed(Protocol):
    """The sweep that fills a queue, as the queue sees it."""

    def accepted(self, queue: "PackQueue", cells: list[int]) -> list[int]:
        """The cells among these that shall train now. The queue asks just before a pack of them starts. Of the others those are
        dropped that the feed does not add again."""

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
    memory_factor: dict[str, float] = field(default_factory=lambda: dict.fromkeys(DEVICES, 1.0))
    """Factor on the predicted memory, by device. It doubles when a pack that was sized by it runs out of memory."""
    in_flight: dict[str, Pack] = field(default_factory=dict)
    fraction: dict[str, float] = field(default_factory=dict)
    ended: dict[int, str] = field(default_factory=dict)
    """Status of every cell that this sweep has finished."""
    dropped: set[int] = field(default_factory=set)
    """Cells that the feed did not accept, because another sweep has trained them."""
    turned: bool = False
    """True once cells start in the opposite order of the plan."""
    counts: Counter[str] = field(default_factory=Counter)
    """Number of ended cells by status."""
    latest: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=LATEST))
    """The cells that finished last, each with its headline measure."""

    def __post_init__(self) -> None:
        self._pending: dict[Shape, int] = {}  # number of cells of each shape: a plan has far fewer shapes than lanes
        self._choices = Choices(self.plan, self.cost, self.engine, self.pack_seconds, self._pending)
        self._shape = self._choices.shapes
        self._lanes: dict[tuple[int, Shape], dict[int, None]] = {}  # pending cells; lanes stand in the order in which they start
        self._ranks: dict[Shape, dict[int, None]] = {}  # for each shape, the ranks that have pending cells, ascending
        self._trained: dict[Shape, int] = {}
        self._lane_of: dict[int, tuple[int, Shape]] = {}
        self._split: list[tuple[str, tuple[int, ...]]] = []  # device and cells of packs to try again, before all others
        self._nothing_for: set[str] = set()  # devices for which no lane is pending, until cells come or choices change

    def add(self, cells: Sequence[int], rank: int = 0) -> None:
        """Append cells, by position in the plan. Lower ranks are added first and start first.

        Cells of different ranks share a pack only if it would otherwise be very short.
        """
        for i in cells:
            self._put(i, rank, self._shape[i])

    def turn(self) -> None:
        """Let the pending cells start in the opposite order; those that another sweep is training still come last."""
        self.turned = True
        lanes = list(self._lanes.items())
        last = max((rank for (rank, _), _ in lanes if rank < LATE), default=0)
        self._lanes, self._ranks = {}, {}
        self._pending.clear()
        for of_late in (False, True):
            for (rank, shape), cells in reversed(lanes):
                if (rank == LATE) == of_late:
                    for i in reversed(cells):
                        self._put(i, rank if of_late else last - rank, shape)

    def _put_back(self, cells: Iterable[int]) -> None:
        for i in cells:
            self._put(i, *self._lane_of[i])

    def _forget(self) -> None:
        self._choices.forget()
        self._nothing_for.clear()

    def _put(self, i: int, rank: int, shape: Shape) -> None:
        self._nothing_for.clear()
        self._lane_of[i] = rank, shape
        self._lanes.setdefault((rank, shape), {})[i] = None
        self._ranks.setdefault(shape, {})[rank] = None
        self._pending[shape] = self._pending.get(shape, 0) + 1

    def side_by_side(self, later: Iterable[int] = ()) -> list[int]:
        """The pending cells, then the cells that may be added `later`. Cells that may share a pack stand side by side.

        Both are sorted by shape; the pending cells of a shape are sorted by rank.
        """
        lanes = (self._lanes[rank, shape] for shape, ranks in self._ranks.items() for rank in ranks)
        pending = [*chain.from_iterable(cells for _, cells in self._split), *chain.from_iterable(lanes)]
        known, of_shape = set(pending), defaultdict(list)
        for i in later:
            if i not in known:
                of_shape[self._shape[i]].append(i)
        return [*pending, *chain.from_iterable(of_shape.values())]

    @property
    def n_pending(self) -> int:
        return sum(self._pending.values()) + sum(len(cells) for _, cells in self._split)

    @property
    def n_cells(self) -> int:
        """All cells of this run: ended, in flight and pending."""
        return len(self.ended) + self.n_pending + sum(len(p.cells) for p in self.in_flight.values())

    def choice(self, i: int) -> tuple[str, str]:
        """Engine and device for a cell of the plan; all cells of a shape have the same."""
        return self._chosen(self._shape[i])[:2]

    def cell_seconds(self, i: int) -> float:
        """Predicted seconds of a cell of the plan; the prediction for one cell of a shape stands for all of them."""
        return self._seconds(self._shape[i])

    def _seconds(self, shape: Shape) -> float:
        chosen = self._chosen(shape)
        return chosen.seconds * self.cost.correction(chosen.key, chosen.engine, chosen.device)

    def _chosen(self, shape: Shape) -> Choice:
        return self._choices.of(shape, self.machine)

    def remaining_seconds(self) -> float:
        """Predicted wall time to the end: the work pending and in flight, shared by the slots of its device.

        The longest counts: the device that takes longest, or the longest pack.
        """
        work: dict[str, float] = defaultdict(float)
        longest = 0.0
        waiting = [*self._pending.items(), *((self._shape[i], 1) for _, cells in self._split for i in cells)]
        for shape, n in () if self.draining else waiting:
            work[self._chosen(shape).device] += n * self._seconds(shape)
        for pack in self.in_flight.values():
            left = self._pack_seconds(pack) * (1 - self.fraction.get(pack.pack_id, 0.0))
            work[pack.device] += left
            longest = max(longest, left)
        at_most = max(1, (0 if self.draining else self.n_pending) + len(self.in_flight))
        slots = self.machine.throughput
        return max([longest, *(seconds / min(at_most, slots.get(device, 1)) for device, seconds in work.items())])

    def _pack_seconds(self, pack: Pack) -> float:
        """Predicted seconds of a pack in flight. Those of a pack on a card stay what they were: it holds many kinds of cells."""
        return pack.seconds if pack.device == "cuda" else len(pack.cells) * self.cell_seconds(pack.cells[0])

    def done_seconds(self) -> float:
        """Predicted seconds, on one slot, of the work done so far: the cells trained, and the steps of packs in flight."""
        return sum(self._done().values())

    def done_wall_seconds(self) -> float:
        """Predicted wall time of the work done so far, by the device that did most."""
        slots = self.machine.throughput
        return max((seconds / slots.get(device, 1) for device, seconds in self._done().items()), default=0.0)

    def _done(self) -> dict[str, float]:
        done: dict[str, float] = defaultdict(float)
        for shape, n in self._trained.items():
            done[self._chosen(shape).device] += n * self._seconds(shape)
        for p in self.in_flight.values():
            done[p.device] += p.seconds * self.fraction.get(p.pack_id, 0.0)
        return done

    def make_room(self, later: Iterable[int] = ()) -> None:
        """Let fewer packs train at once on processors if their smallest cell, pending or to come `later`, would not fit else."""
        on_cpus = [self.pack_bytes([i]) for i in self._one_of_each(later) if self.choice(i)[1] == "cpu"]
        if on_cpus:
            self.machine = self.machine.with_room_for(min(on_cpus))
            self._forget()

    def too_large(self, later: Iterable[int] = ()) -> list[int]:
        """Cells that even alone need more memory than a pack may take, one per shape, pending or to come `later`."""
        return [i for i in self._one_of_each(later) if self.pack_bytes([i]) > self.machine.most_bytes(self.choice(i)[1])]

    def _one_of_each(self, later: Iterable[int]) -> list[int]:
        """One cell of each shape that is pending or may come later."""
        return [*({shape: self._choices.first[shape] for shape in self._pending} | {self._shape[i]: i for i in later}).values()]

    def next(self, devices: Collection[str] = DEVICES) -> Pack | None:
        """Take the next pack for one of these devices; None when nothing is pending for them or the sweep drains."""
        while not self.draining:
            cells = self._next_split(devices) or self._gather(devices)
            if not cells:
                if self.n_pending or not self.feed.refill(self):
                    return None
                continue
            accepted = self.feed.accepted(self, cells)
            self.dropped.update(i for i in {*cells} - {*accepted} if i not in self._lanes.get(self._lane_of[i], ()))
            if accepted:
                return self._start(sorted(accepted) if self.turned else accepted)  # Ray's runner writes ranges of them
        return None

    def _next_split(self, devices: Collection[str]) -> list[int]:
        """The first part of a failed or lost pack that may train on one of these devices."""
        for part in list(self._split):
            device, cells = part
            now = self.choice(cells[0])[1]
            if now != device:  # they shared a card that cannot be used any more
                self._split.remove(part)
                self._put_back(cells)
            elif device in devices:
                self._split.remove(part)
                return list(cells)
        return []

    def _gather(self, devices: Collection[str]) -> list[int]:
        """Take the first pending cell for these devices and the next ones that may share its pack, as many as fit the time target
        and the memory."""
        asked = [device for device in devices if device not in self._nothing_for]
        lane = next((lane for lane in self._lanes if self._chosen(lane[1]).device in asked), None) if asked else None
        if lane is None:
            self._nothing_for.update(asked)
            return []
        same = self._for_card(lane) if self._chosen(lane[1]).device == "cuda" else self._of_shape(lane)
        for (rank, shape), cells in groupby(same, self._lane_of.__getitem__):
            held = self._lanes[rank, shape]
            before = len(held)
            for i in cells:
                del held[i]
            self._pending[shape] -= before - len(held)
            if not held:
                del self._lanes[rank, shape], self._ranks[shape][rank]
            if not self._pending[shape]:
                del self._pending[shape]
        return same

    def _of_shape(self, first: tuple[int, Shape]) -> list[int]:
        """Cells for a pack on a CPU: of one shape and one rank, and of others with the same pack key if that is too little work
        for a pack."""
        rank, shape = first
        each = self._seconds(shape)
        target = min(self.pack_seconds, max(self.remaining_seconds() / 3, SMALLEST_PACK_S))
        lane = self._lanes[first]
        same = list(islice(lane, max(1, int(target / each))))
        if len(lane) * each < min(SMALLEST_PACK_S, target):
            mates = chain.from_iterable(
                self._lanes[r, mate] for mate in self._mates(shape) for r in self._ranks[mate] if r < LATE or r == rank
            )
            same = list(islice(mates, max(1, int(min(SMALLEST_PACK_S, target) / each))))
        while len(same) > 1 and not self._fits(same):
            same = same[: (len(same) + 1) // 2]
        return same

    def _mates(self, shape: Shape) -> list[Shape]:
        """The pending shapes whose cells may share a pack with those of this one, which comes first."""
        own = self._chosen(shape)
        if own.key == shape[0]:  # the engine joins no shapes
            return [shape]
        others = (other for other in self._pending if other is not shape)
        return [shape, *(o for o in others if (c := self._chosen(o)).key == own.key and c[:2] == own[:2])]

    def _for_card(self, first: tuple[int, Shape]) -> list[int]:
        """Cells for a pack on a card: of any shapes with one pack key, enough to fill the card and to take the time target.

        A smaller pack takes as long as a full one. So only the memory keeps a pack below FULL_CARD, and no smaller rest is left.
        """
        rank, own = first[0], self._chosen(first[1])

        def joins(rank_of_lane: int, shape: Shape) -> bool:
            chosen = self._chosen(shape)
            same = (chosen.engine, chosen.device, chosen.key) == (own.engine, own.device, own.key)
            return same and (rank_of_lane == LATE) == (rank == LATE)

        lanes = [(lane, self._seconds(lane[1])) for lane in self._lanes if joins(*lane)]
        left = sum(len(self._lanes[lane]) for lane, _ in lanes)
        same: list[int] = []
        seconds = 0.0
        for lane, each in lanes:
            for i in self._lanes[lane]:
                if len(same) >= FULL_CARD and seconds >= self.pack_seconds and left - len(same) >= FULL_CARD:
                    break
                same.append(i)
                seconds += each
        # The longest beginning that fits: between 1 cell, which is tried whatever it takes, and all.
        least, most = 1, len(same)
        while least < most:
            middle = (least + most + 1) // 2
            least, most = (middle, most) if self._fits(same[:middle]) else (least, middle - 1)
        return same[:least]

    def pack_bytes(self, cells: Sequence[int]) -> int:
        """Predicted memory of a pack of these cells on its device: its arrays, and what the worker process takes beside them."""
        engine, device = self.choice(cells[0])
        arrays = int(self.memory_factor[device] * ENGINES[engine].memory([self.plan[i].cell for i in cells], device))
        return arrays + (CONTEXT_BYTES if device == "cuda" else self.cost.rates.process_bytes)

    def _fits(self, cells: Sequence[int]) -> bool:
        return self.pack_bytes(cells) <= self.machine.bytes_of(self.choice(cells[0])[1])

    def _start(self, cells: list[int]) -> Pack:
        engine, device = self.choice(cells[0])
        members = [self.plan[i] for i in cells]
        text = "\n".join([engine, *sorted(p.cell_id for p in members)])
        n_bytes = self.pack_bytes(cells)
        seconds, share = len(cells) * self.cell_seconds(cells[0]), 0.0
        if device == "cuda":
            correction = self.cost.correction(self._chosen(self._shape[cells[0]]).key, engine, device)
            predicted, busy = self.cost.on_card([p.cell for p in members], engine)
            seconds, share = correction * predicted, self.machine.share_of(busy, n_bytes)
        pack = Pack(
            pack_id=hashlib.sha256(text.encode()).hexdigest()[:20],
            cells=tuple(cells),
            engine=engine,
            device=device,
            seconds=seconds,
            bytes=n_bytes,
            memory_factor=self.memory_factor[device],
            share=share,
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
        if "ok" in statuses:  # a pack that diverged ended early, so its seconds predict nothing
            self.cost.observe([self.plan[i].cell for i in pack.cells], pack.engine, device, seconds)
            if pack.device == "cuda":
                self._forget()  # a card may prove slower than processors, or faster
        for shape, same in groupby(pack.cells, self._shape.__getitem__):
            self._trained[shape] = self._trained.get(shape, 0) + sum(1 for _ in same)
        for i, status, value in zip(pack.cells, statuses, headline, strict=True):
            self.ended[i] = status
            self.counts[status] += 1
            if value is not None:
                self.latest.append((i, value))

    def failed(self, pack_id: str, out_of_memory: bool = False) -> list[int]:
        """Note that a pack failed. Its halves are tried again; a cell that fails alone is returned, to be recorded as failed.

        A cell that fails alone on a card is tried on a processor: the fault may be the card's.
        """
        pack = self._end(pack_id)
        if pack is None:
            return []
        if out_of_memory:  # packs sized by the same factor may fail together: it doubles once for all
            self.memory_factor[pack.device] = max(self.memory_factor[pack.device], 2 * pack.memory_factor)
        if len(pack.cells) > 1:
            middle = len(pack.cells) // 2
            self._split += [(pack.device, pack.cells[:middle]), (pack.device, pack.cells[middle:])]
            return []
        if pack.device == "cuda":
            self._choices.off_cards.add(self._shape[pack.cells[0]])
            self._forget()
            self._put_back(pack.cells)
            return []
        self.ended[pack.cells[0]] = "failed"
        self.counts["failed"] += 1
        return list(pack.cells)

    def lost(self, pack_id: str) -> None:
        """Put back a pack whose worker was lost, through no known fault of the pack. It starts again whole, before all others."""
        if pack := self._end(pack_id):
            self._split.insert(0, (pack.device, pack.cells))

    def set_aside_cards(self, n: int) -> None:
        """Plan without n of the cards from now on: they cannot be used."""
        left = self.machine.cards - n
        self.machine = replace(self.machine, cards=left) if left > 0 else self.machine.without_cards()
        self._forget()

    def stop(self, reason: str) -> None:
        """Note why the sweep cannot go on, and start no further pack. Committed results are kept."""
        self.fatal = self.fatal or reason
        self.draining = True

    def _end(self, pack_id: str) -> Pack | None:
        self.fraction.pop(pack_id, None)
        return self.in_flight.pop(pack_id, None)
