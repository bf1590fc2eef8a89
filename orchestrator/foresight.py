"""Before a sweep trains: the networks that are missing, what they will cost, and whether they fit."""

import gc
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf

from rich.console import Console

from orchestrator.cards import why_no_card
from orchestrator.cost.calibration import Rates, kept_rates, machine_rates, measured_on_card, with_card_rates
from orchestrator.cost.model import CostModel
from orchestrator.grid.load import Grid
from orchestrator.options import Options, Stage, SweepError
from orchestrator.plan.announce import outlook
from orchestrator.plan.forecast import forecast, print_forecast, this_machine
from orchestrator.plan.kept_metrics import keeping_measured
from orchestrator.plan.machine import Machine
from orchestrator.plan.missing import enqueue, missing_cells, ordered
from orchestrator.plan.packing import Filled, PackQueue
from orchestrator.running.feed import SweepFeed
from orchestrator.search.searchers import Searchers
from sweepkit.console.terminal import err
from sweepkit.console.words import counted
from sweepkit.store.store import Store
from sweepkit.store.views import Statuses
from sweepkit.store.views import run as run_query
from trainables.limits import cores

BUSY = 0.5
"""Load per core, in the mean of the last minute, from which a forecast says that the machine is busy."""


SHORT_S = 5.0
"""Seconds of training up to which a sweep needs no Ray: half of what Ray takes, as a forecast may be half of what comes."""

LONG_S = 30.0
"""Seconds of training from which it pays to measure the machine: that takes some 20 s, twice as many beside other work."""

SMALL = 0.25
"""Share of the memory for a pack up to which a network may train in the sweep's own process, which must not die of it."""


@dataclass(frozen=True)
class Plan:
    """The work of a sweep, from its grid and the store."""

    grid: Grid
    """The grid; its cells also ask for the metrics that the store already has of them."""
    held: Statuses
    """The contents of the store at the start."""
    todo: list[int]
    """Positions in the grid of the cells to train first, in the order in which they start."""
    searchers: Searchers


def planned_of(grid: Grid, store: Store, options: Options) -> Plan:
    """Find the missing cells, and start the searches."""
    with uncollected():
        held = store.statuses()
        grid = keeping_measured(grid, store.results, held, force=options.retrain)

    def missing(cells: Sequence[int]) -> list[int]:
        return missing_cells(grid.cells, held, cells, retry_failed=options.retry_failed, force=options.retrain)

    todo = ordered(grid.cells, missing(grid.fixed), options.order)[: options.limit]
    searchers = Searchers(grid, store, held, missing, todo, options.limit and options.limit - len(todo))
    if searchers:
        todo = ordered(grid.cells, [*todo, *searchers.start()], options.order)
    return Plan(grid, held, todo, searchers)


def left_failed(plan: Plan, options: Options) -> list[str]:
    """A line about the networks that failed earlier and are not trained again, if there are some, and how to see why."""
    wanted = dict.fromkeys([*plan.grid.fixed, *plan.searchers.asked])
    ids = [plan.grid.cells[i].cell_id for i in wanted]
    n = sum(one in plan.held and plan.held[one].status == "failed" for one in ids)
    if not n or options.retry_failed or options.retrain:
        return []
    are, them = ("is", "it") if n == 1 else ("are", "them")
    way = "--retry-failed" if options.again else "retry_failed=True"
    seen = ", and prints the traceback" if options.debug else ""
    return [f"{counted(n, 'network')} of these failed earlier and {are} left alone: {way} trains {them} again{seen}"]


class Costs:
    """Cost models with the rates of a machine, corrected by the times of the packs in the store. Each card is asked once."""

    def __init__(self, grid: Grid, store: Store, plan: Plan, options: Options) -> None:
        self.grid, self.store, self.say = grid, store, options.tell
        kept = kept_rates()
        self.rates, self.are_measured = kept or Rates(), kept is not None
        self.made: dict[str, CostModel] = {}

    def measure(self) -> None:
        """Measure this machine, unless it was measured before. A sweep of seconds is not worth it."""
        self.rates, self.are_measured, self.made = machine_rates(self.say), True, {}

    def of(self, machine: Machine, measure: Callable[[], object]) -> CostModel:
        """The model for a machine; `measure` measures its card."""
        name = machine.card.name if machine.card else ""
        if name not in self.made:
            rates = with_card_rates(self.rates, machine.card, self.say, measure) if machine.card else self.rates
            self.made[name] = cost = CostModel(rates)
            cells = (planned.cell for planned in self.grid.cells)
            run_query(self.store.results, lambda connection: cost.learn(connection, cells, name))
        return self.made[name]


def look_ahead(grid: Grid, plan: Plan, costs: Costs, options: Options, stage: Stage, in_process: bool, here: bool) -> None:
    """Refuse cells that need more memory than a pack may take here, and show the forecast if asked to. `here`: it trains on this
    machine; the memory of a cluster's nodes is known once it is joined."""
    if not (options.dry_run or options.verbose or (plan.todo and here)):
        return
    machine = this_machine(grid.resources, 1 if in_process else options.max_concurrent)  # as in _runner
    if here and grid.resources.gpus_per_pack and why_no_card():
        options.tell(f"warning: no GPU is used: {why_no_card()}")
    if options.dry_run and machine.cards and not machine.throughput.get("cuda"):
        options.tell(f"warning: gpus_per_pack asks for {machine.asked_share:g} GPUs, and this machine has {machine.cards}")
    queue = queue_of(grid, machine, costs.of(machine, measured_on_card), options)
    enqueue(queue, plan.todo, options.order)
    queue.make_room(plan.searchers.later)
    if options.dry_run or here:
        refuse_too_large(queue, plan.searchers.later)
    if not (options.dry_run or options.verbose):
        return
    if here and (load := os.getloadavg()[0]) > BUSY * cores():
        options.tell(
            f"this machine is busy (a load of {load:.1f} on {cores()} cores): times are those of a free one",
        )
    shown = forecast(queue, in_process)
    if options.dry_run and stage.foresee:
        stage.foresee(shown, outlook(plan.searchers, queue, shown.wall_s) if plan.searchers.n_open else None)
    elif options.dry_run and options.as_json:
        later = {"searches": outlook(plan.searchers, queue, shown.wall_s)._asdict()} if plan.searchers else {}
        Console().print_json(json.dumps(shown.as_dict() | later), highlight=False)  # FORCE_COLOR would colour it
    elif plan.todo:
        print_forecast(shown, err, goes_on=plan.searchers.n_open > 0)
        if plan.searchers.n_open:
            err.print(outlook(plan.searchers, queue, shown.wall_s).describe(), highlight=False, soft_wrap=True)


def is_short(grid: Grid, plan: Plan, costs: Costs, options: Options) -> bool:
    """True if training in this process, one pack after the other, takes less time than Ray to start and to close. A person's own
    parts and large networks train in processes of their own, whose end is not that of the sweep; how long a search takes is not
    known."""
    if (
        not plan.todo
        or plan.searchers
        or grid.user_files
        or grid.resources.cpus_per_pack != 1
        or (options.max_concurrent or 1) > 1
    ):
        return False
    machine = this_machine(grid.resources)
    return not machine.cards and _takes(plan, machine, costs, options, SHORT_S, SMALL) < SHORT_S


def is_long(plan: Plan, costs: Costs, options: Options) -> bool:
    """True if it pays to measure the machine first."""
    machine = this_machine(plan.grid.resources)
    return bool(plan.searchers or machine.cards) or _takes(plan, machine, costs, options, LONG_S) >= LONG_S


def _takes(plan: Plan, machine: Machine, costs: Costs, options: Options, most: float, share: float = inf) -> float:
    """Seconds of training on one core, by the rates that are known, counted up to `most`; `most` too where a network takes more
    than this share of the memory for a pack."""
    queue = queue_of(plan.grid, machine, costs.of(machine, measured_on_card), options)
    seconds = 0.0
    for i in plan.todo:
        seconds += queue.cell_seconds(i)
        if seconds >= most or queue.pack_bytes([i]) > share * machine.most_bytes("cpu"):
            return most
    return seconds


def queue_of(grid: Grid, machine: Machine, cost: CostModel, options: Options, feed: SweepFeed | None = None) -> PackQueue:
    """A queue for the grid's cells on a machine, empty; a `feed` may add cells later."""
    return PackQueue(grid.cells, machine, cost, options.engine, grid.resources.pack_seconds, feed or Filled())


def refuse_too_large(queue: PackQueue, later: Sequence[int]) -> None:
    """Stop before the first pack if a cell needs more memory than a pack may take: it might fail only after hours of training."""
    for i in queue.too_large(later)[:1]:
        fewer = ", or fewer samples P or chains" if queue.plan[i].cell.training.family == "sampling" else ""
        need, have = (n / 2**30 for n in (queue.pack_bytes([i]), queue.machine.most_bytes(queue.choice(i)[1])))
        process = queue.cost.rates.process_bytes / 2**30
        raise SweepError(
            f"{queue.plan[i].cell.describe()} needs {need:,.1f} GiB, but a pack may take {have:,.1f} here, even alone: "
            + (
                f"a process without networks takes {process:,.1f}: ask for more memory (from the batch system or the container)"
                if process >= have
                else f"take a smaller width, input or test set{fewer}"
            )
        )


@contextmanager
def uncollected() -> Iterator[None]:
    """Inside, Python's garbage collector is off: the objects made inside live to the end, and looking through them costs time."""
    gc.disable()
    try:
        yield
        gc.freeze()  # only after success: after an error the objects should be collected
    finally:
        gc.enable()
