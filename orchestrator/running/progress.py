"""The progress of a running sweep, shown on a screen. It reads only the queue."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from orchestrator.plan.packing import PackQueue
from sweepkit.console.words import duration
from trainables.cell import Cell


@dataclass(frozen=True)
class Snapshot:
    """Counts of this run at one moment; `fraction` also counts the steps of packs in flight."""

    done: int
    total: int
    failed: int
    diverged: int
    fraction: float
    elapsed_s: float
    remaining_s: float
    draining: bool
    last: tuple[str, ...]
    has_trained: bool = True
    """True once some steps were trained; before, workers start and load their libraries."""
    about: str = ""
    """How far the searches are. While they go on, the number of cells to come is unknown."""

    @property
    def rate(self) -> float:
        """Cells per second so far."""
        return self.done / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def line(self) -> str:
        """The snapshot in one line."""
        eta = f"ETA {duration(self.remaining_s)}"
        if self.draining:
            eta = f"draining, about {duration(self.remaining_s)} to go"
        elif self.about:
            eta = self.about
        # Until networks train, nobody knows for how long libraries load on a busy machine.
        pace = (
            [f"{self.rate:.1f} cells/s", eta]
            if self.has_trained or self.draining
            else ["loading libraries, compiling what is new here"]
        )
        parts = [f"{self.done}/{self.total} cells", *pace, f"elapsed {duration(self.elapsed_s)}"]
        if self.failed:
            parts.insert(1, f"{self.failed} failed")
        if self.diverged:
            parts.insert(1, f"{self.diverged} diverged")
        return ", ".join(parts)


def snapshot(queue: PackQueue, elapsed_s: float, pace: float = 1.0, about: str = "") -> Snapshot:
    """The present state of the queue; `pace` is wall time over predicted time."""
    running = sum(len(p.cells) * queue.fraction.get(p.pack_id, 0.0) for p in queue.in_flight.values())
    return Snapshot(
        done=len(queue.ended),
        total=queue.n_cells,
        failed=queue.counts["failed"],
        diverged=queue.counts["diverged"],
        fraction=(len(queue.ended) + running) / max(1, queue.n_cells),
        elapsed_s=elapsed_s,
        remaining_s=pace * queue.remaining_seconds(),
        draining=queue.draining,
        last=tuple(_told(queue.plan[i].cell, value) for i, value in queue.latest),
        has_trained=bool(queue.ended or queue.fraction),
        about=about,
    )


def _told(cell: Cell, value: float) -> str:
    return f"{cell.describe()}: {cell.training.headline_of(type(cell.task))[1]} {value:.3f}"


class Screen(Protocol):
    """The place where a person sees the progress."""

    every_s: float
    """Seconds between two pictures."""

    def show(self, now: Snapshot) -> None:
        """Show the present state in place of the last."""

    def close(self, last: Snapshot) -> None:
        """Show the last state; nothing is shown after it."""


class Progress:
    """Shows a queue on a screen while its packs train. Use it as a context manager."""

    def __init__(self, queue: PackQueue, screen: Screen, about: Callable[[], str] | None = None) -> None:
        self.queue, self.screen, self.about = queue, screen, about
        self.started = self.shown = time.monotonic()
        self.training_since: float | None = None

    def __enter__(self) -> "Progress":
        self.screen.show(self.now())
        return self

    def __exit__(self, *_: object) -> None:
        self.screen.close(self.now())

    def now(self) -> Snapshot:
        """The present state."""
        return snapshot(self.queue, time.monotonic() - self.started, self._pace(), self.about() if self.about else "")

    def _pace(self) -> float:
        """Wall time over predicted time so far, at least 1. The cost model does not see, for example, other programs' work."""
        done = self.queue.done_wall_seconds()
        if self.training_since is None or done <= 0:
            return 1.0
        return max(1.0, (time.monotonic() - self.training_since) / done)

    def changed(self) -> None:
        """Show the present state when the screen's next picture is due."""
        if self.training_since is None and self.queue.done_seconds() > 0:
            self.training_since = time.monotonic() - self.queue.done_seconds()  # the first report comes after some training
        if time.monotonic() - self.shown >= self.screen.every_s:
            self.shown = time.monotonic()
            self.screen.show(self.now())
