"""Numbers that the host draws for a device: the host draws the next ones while the device reads the present ones."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from trainables.limits import cores

Drawn = TypeVar("Drawn")

MOST_THREADS = 4
"""Threads that draw for a GPU. Compiled draws and sorts run side by side, as they release Python's lock."""


class Room(NamedTuple):
    """The shape and type of a staged tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype


@cache
def drawers() -> ThreadPoolExecutor:
    """The threads that draw for all packs of this process."""
    return ThreadPoolExecutor(min(MOST_THREADS, cores()), thread_name_prefix="draw")


def in_turn(draw: Callable[[int], Drawn], n: int) -> Iterator[Drawn]:
    """draw(0), ..., draw(n - 1) in this order, with threads a few ahead."""
    waiting: deque[Future[Drawn]] = deque()
    for g in range(n):
        waiting.append(drawers().submit(draw, g))
        if len(waiting) > MOST_THREADS:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


class Staging:
    """Tensors that take turns: the device reads those of one turn while threads fill the other's and a stream of their own brings
    them over, so that neither host nor device waits for a copy.

    `fill(g, key, rooms)` writes the numbers of part g of `n_parts` into host tensors; parts may be filled at the same time.
    Without `ahead`, as on a CPU, there is one turn: it is filled when it is asked for, and nothing is copied. `fill` must not
    hold the object that owns this one, or neither is freed with its last reference.
    """

    def __init__(
        self,
        rooms: Sequence[Room],
        device: torch.device,
        n_parts: int,
        fill: Callable[[int, Hashable, Sequence[Tensor]], None],
        ahead: bool,
    ) -> None:
        self.n_parts, self.fill, self.ahead = n_parts, fill, ahead
        self.turn = self.drawn = 0  # the turn that the device reads, and the one drawn last
        self.on_gpu = device.type == "cuda"
        turns = range(2 if ahead else 1)
        self.tensors = [[torch.zeros(room.shape, dtype=room.dtype, device=device) for room in rooms] for _ in turns]
        self.rooms = self.tensors
        if self.on_gpu:
            self.rooms = [[torch.zeros(room.shape, dtype=room.dtype, pin_memory=True) for room in rooms] for _ in turns]
            self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self.stream.wait_stream(torch.cuda.current_stream(device))  # which fills the tensors with zeros
            self.copied, self.read = ([torch.cuda.Event() for _ in turns] for _ in range(2))  # type: ignore[no-untyped-call]
        self.asked: Hashable = None
        self.filling: list[Future[None]] = []

    def take(self, key: Hashable) -> Sequence[Tensor]:
        """The tensors with the numbers of `key`, on the device. Work that is queued after this call sees them.

        Call `used` whenever work that reads them is queued.
        """
        self.draw(key)
        for part in self.filling:
            part.result()
        self.turn, self.asked, self.filling = self.drawn, None, []
        if self.on_gpu:
            self.stream.wait_event(self.read[self.turn])
            self.copy()
            self.copied[self.turn].record(self.stream)
            self.queue().wait_event(self.copied[self.turn])
        return self.tensors[self.turn]

    def copy(self) -> None:
        """Queue the copy of this turn on its own stream."""
        with torch.cuda.stream(self.stream):
            for tensor, room in zip(self.tensors[self.turn], self.rooms[self.turn], strict=True):
                tensor.copy_(room, non_blocking=True)

    def queue(self) -> torch.cuda.Stream:
        """The stream on which the steps are queued."""
        return torch.cuda.current_stream(self.stream.device)

    def used(self, following: Hashable) -> None:
        """Note that work which reads the tensors is queued, and let the numbers of `following` be drawn."""
        if self.on_gpu:
            self.read[self.turn].record(self.queue())
        if self.ahead:
            self.draw(following)

    def draw(self, key: Hashable) -> None:
        """Begin to fill the next turn, unless that is under way."""
        if self.asked == key:
            return
        for part in self.filling:
            part.result()  # of a key that nobody took: the room must be at rest before others fill it
        turn = (self.turn + 1) % len(self.rooms)
        if self.on_gpu:
            self.copied[turn].synchronize()  # of this room's last copy, made two turns ago
        self.drawn, self.asked, self.filling = turn, key, []
        if self.ahead:
            self.filling = [drawers().submit(self.fill, g, key, self.rooms[turn]) for g in range(self.n_parts)]
        else:
            for g in range(self.n_parts):
                self.fill(g, key, self.rooms[turn])
