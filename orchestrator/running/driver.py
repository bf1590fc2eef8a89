"""One sweep while it trains: how each pack ended, and the rows that record failures. Knows no Ray."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.cost.calibration import measured_on_card
from orchestrator.grid.load import Grid
from orchestrator.plan.packing import Pack, PackQueue
from orchestrator.running.worker import Failure, Outcome, PackWork, Provenance, declared_of, failed_row, keeping_threads
from sweepkit.console.terminal import told
from sweepkit.store.files import ResultsError
from sweepkit.store.leases import Lease
from sweepkit.store.store import Store
from trainables.basics import CardFault, CardUnusable

MOST_CARD_FAILURES = 6
"""Packs in a row that fail on cards, with none that is trained there, before cards are set aside."""


class Runner(Protocol):
    """Takes packs from the sweep's queue until the queue is empty, and reports how each ends."""

    def run(self, sweep: "Sweep") -> None:
        """Return when nothing is pending or in flight, or when the sweep drains and its packs have ended."""

    def card_rates(self) -> object:
        """Measure the rates of a card. RuntimeError, TimeoutError or SubprocessError if that fails."""


class Display(Protocol):
    """The display of a running sweep."""

    def changed(self) -> None:
        """Redraw: packs have started, ended or progressed."""


@dataclass
class Sweep:
    """A sweep under way: its queue, its store, its lease and its display."""

    grid: Grid
    queue: PackQueue
    store: Store
    lease: Lease
    provenance: Provenance
    fail_fast: bool = False
    later: Sequence[int] = ()
    """Cells that may be added to the queue while the sweep runs."""
    display: Display | None = None
    interrupted: bool = False
    on_leaving: list[Callable[[], None]] = field(default_factory=list)
    """Functions that give back what the sweep holds, to be called if the process must end at once."""
    tell: Callable[[str], None] = told
    """Says something to the user while the sweep goes on."""
    avoided: list[str] = field(default_factory=list)
    """The machines whose cards are set aside."""
    _told_of_cards: bool = False
    _told_of_turns: bool = False
    _card_failures: int = 0
    _leased: tuple[str, ...] = ()

    def drain(self) -> None:
        """Start no further pack; those in flight finish."""
        self.queue.draining = True
        self.redraw()

    def started(self, pack: Pack) -> None:
        """Record that a pack is in flight."""
        card, others = self.queue.machine.card, sum(p.share > 0 for p in self.queue.in_flight.values()) - 1
        if 0 < pack.share < 1 and others > 0 and card and not card.has_mps and not self._told_of_turns:
            self._told_of_turns = True
            self.tell(
                "packs that share a GPU take turns, as NVIDIA's MPS is not running: `nvidia-cuda-mps-control -d` on its "
                "machine lets them run side by side"
            )
        self.changed()

    def progressed(self, pack_id: str, fraction: float) -> None:
        """Record that a pack in flight has done this share of its steps."""
        self.queue.progress(pack_id, fraction)
        self.changed()

    def card_unusable(self, pack_id: str, reason: str, place: str = "", cards: int = 1) -> None:
        """Record that a card of a machine cannot train: its pack goes back, and the `cards` there are set aside."""
        self.queue.lost(pack_id)
        if place not in self.avoided:
            self.avoided.append(place)
            card = self.queue.machine.card.name if self.queue.machine.card else ""
            self.queue.set_aside_cards(cards)
            where = "processors go on" if not self.queue.machine.cards else "other cards and processors go on"
            self.tell(f"warning: a GPU is set aside ({card}{f', machine {place[:8]}' if place else ''}), {where}: {reason}")
        self.changed()

    def committed(self, pack_id: str, outcome: Outcome) -> None:
        """Record that a pack is in the store."""
        self.queue.finished(pack_id, outcome.statuses, outcome.headline, outcome.seconds, outcome.device)
        if outcome.device == "cuda":
            self._card_failures = 0
        self.changed()

    def failed(self, pack_id: str, failure: Failure) -> None:
        """Record that a pack failed. Its halves are tried again; a cell that fails alone gets a row with its reason and log."""
        pack = self.queue.in_flight.get(pack_id)
        if pack and pack.device == "cuda":
            self._failed_on_card(pack, failure)
        for i in self.queue.failed(pack_id, failure.out_of_memory):
            planned = self.grid.cells[i]
            try:
                path = self.store.write_log(planned.cell_id, failure.log)
                row = failed_row(planned, pack_id, failure.reason, path, self.provenance)
                self.store.commit(pack_id, [row], declared_of([planned]), failed=True)
            except ResultsError as error:
                self.cannot_go_on(str(error))
            if self.fail_fast:
                self.drain()
        self.changed()

    def _failed_on_card(self, pack: Pack, failure: Failure) -> None:
        """Say once that a card could not train a pack. After several in a row, do without cards, and say so."""
        self._card_failures += 1
        if self._card_failures == MOST_CARD_FAILURES:
            self.queue.set_aside_cards(self.queue.machine.cards)
            self.tell(f"warning: GPUs are set aside, as {MOST_CARD_FAILURES} packs in a row failed there; processors go on")
        if not self._told_of_cards:
            self._told_of_cards = True
            then = "smaller packs follow" if len(pack.cells) > 1 else "processors train such"
            self.tell(f"warning: {len(pack.cells)} networks could not train on the GPU; {then}: {failure.reason}")

    def cannot_go_on(self, reason: str) -> None:
        """Start no further pack: the store cannot be written, or a worker may not train for this sweep."""
        self.queue.stop(reason)
        self.redraw()

    def redraw(self) -> None:
        """Show the present state when the display's next picture is due."""
        if self.display:
            self.display.changed()

    def changed(self) -> None:
        """Redraw. If packs started or ended, tell other drivers, by the lease, which cells are in flight here."""
        in_flight = tuple(self.queue.in_flight)
        if in_flight != self._leased:
            self._leased = in_flight
            packs = list(self.queue.in_flight.values())  # a copy: the lease reads it later, when other packs may be in flight
            self.lease.update(self.grid.cells[i].cell_id for p in packs for i in p.cells)
        self.redraw()


class ProcessRunner:
    """Runs a sweep without Ray: its packs train one after the other in this process. `tells_errors`: whether tracebacks of what
    fails are told, besides the logs that they are in."""

    def __init__(self, tells_errors: bool = False) -> None:
        self.tells_errors = tells_errors

    def card_rates(self) -> object:
        return measured_on_card()

    def run(self, sweep: Sweep) -> None:
        with keeping_threads():
            self._run(sweep)

    def _run(self, sweep: Sweep) -> None:
        seen: set[object] = set()
        while pack := sweep.queue.next():
            members = [sweep.grid.cells[i] for i in pack.cells]
            sweep.started(pack)
            result: Outcome | Failure | None = None
            work = None
            while result is None:
                try:
                    work = work or PackWork(pack.pack_id, members, pack.engine, pack.device)
                    result = work.advance(1.0, sweep.provenance)
                except ResultsError as error:
                    return sweep.cannot_go_on(str(error))
                except (CardUnusable, CardFault) as error:  # after a CUDA error this process cannot use the card any more
                    sweep.card_unusable(pack.pack_id, str(error), cards=sweep.queue.machine.cards)
                    break
                except Exception as error:  # noqa: BLE001 - whatever a cell raises becomes its row; the sweep goes on
                    result = Failure.of(error)
                    if self.tells_errors:
                        _tell_once(sweep, result, error, seen)
                if isinstance(result, Outcome):
                    sweep.committed(pack.pack_id, result)
                elif isinstance(result, Failure):
                    sweep.failed(pack.pack_id, result)
                elif work is not None:
                    sweep.progressed(pack.pack_id, work.fraction)


def _tell_once(sweep: Sweep, failure: Failure, error: Exception, seen: set[object]) -> None:
    """Tell a failure: its traceback the first time that these lines fail, later its reason alone where that is another.
    Cells that failed together are trained in smaller packs, which fail alike."""
    lines = tuple((frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__))
    if lines not in seen:
        sweep.tell(failure.log.rstrip())
    elif failure.reason not in seen:
        sweep.tell(failure.reason)
    seen.update([lines, failure.reason])
