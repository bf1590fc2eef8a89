"""One sweep from its grid to its end: plan, train, report."""

import gc
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn

from rich.console import Console

import orchestrator.running.interrupts
from orchestrator.cards import why_no_card
from orchestrator.code import commit
from orchestrator.cost.calibration import Rates, kept_rates, machine_rates, measured_on_card, with_card_rates
from orchestrator.cost.model import CostModel
from orchestrator.grid.load import Grid
from orchestrator.plan.announce import Outlook, announcement, outlook
from orchestrator.plan.checks import check_own_parts
from orchestrator.plan.forecast import Forecast, forecast, print_forecast, this_machine
from orchestrator.plan.kept_metrics import keeping_measured
from orchestrator.plan.machine import Machine
from orchestrator.plan.missing import enqueue, missing_cells, ordered
from orchestrator.plan.name_reuse import reused
from orchestrator.plan.packing import Filled, Order, PackQueue
from orchestrator.plan.task_files import prepare
from orchestrator.ray.scratch import remove_left
from orchestrator.running.driver import ProcessRunner, Runner, Sweep
from orchestrator.running.feed import SweepFeed
from orchestrator.running.library_output import words_apart
from orchestrator.running.outcome_process import BesideTheory
from orchestrator.running.progress import Progress, Screen
from orchestrator.running.screens import screen_of
from orchestrator.running.summary import report
from orchestrator.running.worker import Provenance, row_bytes
from orchestrator.search.searchers import Searchers
from sweepkit.console.errors import PlainError
from sweepkit.console.exit_codes import INTERRUPTED
from sweepkit.console.terminal import complain, err, told
from sweepkit.console.words import counted, listed
from sweepkit.store.files import ResultsError
from sweepkit.store.leases import Lease, forget_dead
from sweepkit.store.store import Store
from sweepkit.store.views import Statuses
from sweepkit.store.views import run as run_query
from trainables.engines import ENGINES
from trainables.limits import cores

BUSY = 0.5
"""Load per core, in the mean of the last minute, from which a forecast says that the machine is busy."""


SHORT_S = 5.0
"""Seconds of training up to which a sweep needs no Ray: half of what Ray takes, as a forecast may be half of what comes."""


class SweepError(PlainError):
    """The sweep cannot start, or cannot go on. `exit_code`: 2 if other arguments may help, 1 if it is no fault of theirs."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    engine: str | None
    order: Order
    address: str | None
    max_concurrent: int | None
    limit: int | None
    retry_failed: bool
    retrain: bool
    fail_fast: bool
    dry_run: bool
    debug: bool
    as_json: bool
    quiet: bool
    verbose: bool
    again: tuple[str, ...]
    """The arguments that start the same sweep again."""
    whole: bool
    """Whether the grid is the whole file, without overrides."""
    say: Callable[[str], None] = told
    """Tells a person what is being done."""


@dataclass(frozen=True)
class Stage:
    """The place where a sweep runs: how it shows its progress, and where its answers go."""

    screen: Callable[[bool], Screen] = lambda quiet: screen_of(err, quiet)
    """Makes the screen for the progress; `quiet` asks for none."""
    at_once: Callable[[Sweep], NoReturn] = orchestrator.running.interrupts.process_ends
    """Ends a sweep that is interrupted a second time."""
    answer: Callable[[dict[str, Any]], None] | None = None
    """Takes the summary, as of `--json`; without it the summary is printed."""
    foresee: Callable[[Forecast, Outlook | None], None] | None = None
    """Takes the forecast of a dry run; without it the forecast is printed."""


def run_session(grid: Grid, store: Store, options: Options, stage: Stage | None = None) -> int:
    """Plan, train, report; returns the exit code. Without a stage, on the terminal of a command.

    GridError, TaskError, ResultsError or SweepError if it cannot start: then nothing was trained.
    """
    stage = stage or Stage()
    check_engine(grid, options.engine)
    plan = _planned(grid, store, options)
    grid = plan.grid
    odd = check_own_parts(grid, [*plan.todo, *plan.searchers.later] if plan.todo else [])
    if plan.held and (warning := reused(grid, store, plan.held, options.whole)):
        _say(options, warning)
    _say(options, announcement(grid, plan.searchers, plan.todo, plan.held))
    for line in (*_left_failed(plan, options), *(f"warning: {words}" for words in odd)):
        _say(options, line)
    costs = _Costs(grid, store, plan, options)
    # The place where it trains, if one is named; Ray on this machine is started for `local`, too.
    address = options.address or os.environ.get("RAY_ADDRESS", "")
    in_process = options.debug or (not address and _is_short(grid, plan, costs, options))
    if plan.todo and (options.debug or not in_process):
        costs.measure()
    _look_ahead(grid, plan, costs, options, stage, in_process, here=address in ("", "local"))
    if not options.dry_run:
        store.prepare(need_bytes=sum(row_bytes(grid.cells[i]) for i in plan.todo))
        remove_left(store.results)
        forget_dead(store)
    tasks = (grid.cells[i].cell.task for i in plan.todo)
    prepare(tasks, Console(quiet=True) if options.quiet else err, options.dry_run)
    if options.dry_run:
        return 0
    feed = SweepFeed(
        grid, store, plan.held, plan.searchers, options.order, options.whole, lambda text: _say(options, text)
    )  # fmt: skip
    ended = _trained(grid, store, plan, costs, feed, options, stage, in_process) if plan.todo else _Ended()
    fatal = ended.fatal
    try:
        if plan.searchers or not plan.todo:
            feed.write_plan()
        beside = ended.beside or BesideTheory.ask(grid.sweep, store.results, grid.cells)
        now = store.statuses() if plan.todo else plan.held
        again, as_json = list(options.again), options.as_json
        complete = report(grid, plan.searchers, store, now, beside, again, fatal, as_json, stage.answer)
    except ResultsError as error:  # the store fails only now, after training: that is exit code 1, not bad input
        complete, fatal = False, fatal or str(error)
    if fatal:
        complain(f"the sweep could not go on: {fatal}")
    return INTERRUPTED if ended.interrupted else 0 if complete and not fatal else 1


def check_engine(grid: Grid, engine: str | None) -> None:
    """SweepError if this engine does not exist, or cannot train all cells of the grid."""
    if engine is None:
        return
    if engine not in ENGINES:
        raise SweepError(f"--engine {engine!r}: say auto, {', '.join(ENGINES)}")
    unfit = [planned.cell for planned in grid.cells if not ENGINES[engine].trains(planned.cell)]
    if unfit:
        able = [e.name for e in ENGINES.values() if not e.is_oracle and all(e.trains(planned.cell) for planned in grid.cells)]
        raise SweepError(
            f"--engine {engine} cannot train {len(unfit)} of the {len(grid.cells)} cells, such as {unfit[0].describe()}: "
            f"it trains {ENGINES[engine].needs}; say --engine {f'{listed(able)}, or auto' if able else 'auto'}"
        )


@dataclass(frozen=True)
class _Plan:
    """The work of a sweep, from its grid and the store."""

    grid: Grid
    """The grid; its cells also ask for the metrics that the store already has of them."""
    held: Statuses
    """The contents of the store at the start."""
    todo: list[int]
    """Positions in the grid of the cells to train first, in the order in which they start."""
    searchers: Searchers


def _planned(grid: Grid, store: Store, options: Options) -> _Plan:
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
    return _Plan(grid, held, todo, searchers)


def _left_failed(plan: _Plan, options: Options) -> list[str]:
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


class _Costs:
    """Cost models with the rates of a machine, corrected by the times of the packs in the store. Each card is asked once."""

    def __init__(self, grid: Grid, store: Store, plan: _Plan, options: Options) -> None:
        self.grid, self.store, self.say = grid, store, lambda text: _say(options, text)
        self.rates = kept_rates() or Rates()
        self.made: dict[str, CostModel] = {}

    def measure(self) -> None:
        """Measure this machine, unless it was measured before. A sweep of seconds is not worth it."""
        self.rates, self.made = machine_rates(self.say), {}

    def of(self, machine: Machine, measure: Callable[[], object]) -> CostModel:
        """The model for a machine; `measure` measures its card."""
        name = machine.card.name if machine.card else ""
        if name not in self.made:
            rates = with_card_rates(self.rates, machine.card, self.say, measure) if machine.card else self.rates
            self.made[name] = cost = CostModel(rates)
            cells = (planned.cell for planned in self.grid.cells)
            run_query(self.store.results, lambda connection: cost.learn(connection, cells, name))
        return self.made[name]


def _look_ahead(grid: Grid, plan: _Plan, costs: "_Costs", options: Options, stage: Stage, in_process: bool, here: bool) -> None:
    """Refuse cells that need more memory than a pack may take here, and show the forecast if asked to. `here`: it trains on this
    machine; the memory of a cluster's nodes is known once it is joined."""
    if not (options.dry_run or options.verbose or (plan.todo and here)):
        return
    machine = this_machine(grid.resources, 1 if in_process else options.max_concurrent)  # as in _runner
    if here and grid.resources.gpus_per_pack and why_no_card():
        _say(options, f"warning: no GPU is used: {why_no_card()}")
    if options.dry_run and machine.cards and not machine.throughput.get("cuda"):
        _say(options, f"warning: gpus_per_pack asks for {machine.asked_share:g} GPUs, and this machine has {machine.cards}")
    queue = _queue(grid, machine, costs.of(machine, measured_on_card), options)
    enqueue(queue, plan.todo, options.order)
    queue.make_room(plan.searchers.later)
    if options.dry_run or here:
        _refuse_too_large(queue, plan.searchers.later)
    if not (options.dry_run or options.verbose):
        return
    if here and (load := os.getloadavg()[0]) > BUSY * cores():
        _say(
            options,
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


def _is_short(grid: Grid, plan: _Plan, costs: "_Costs", options: Options) -> bool:
    """Whether training in this process, one pack after the other, takes less time than Ray to start and to close. A person's own
    parts train in processes of their own, whose end is not that of the sweep; how long a search takes is not known."""
    one, machine = grid.resources.cpus_per_pack == 1, this_machine(grid.resources)
    if not plan.todo or plan.searchers or grid.user_files or machine.cards or not one:
        return False
    queue = _queue(grid, machine, costs.of(machine, measured_on_card), options)
    return sum(queue.cell_seconds(i) for i in plan.todo) < SHORT_S


@dataclass(frozen=True)
class _Ended:
    """How training ended."""

    interrupted: bool = False
    fatal: str = ""
    """Why the sweep could not go on."""
    beside: BesideTheory | None = None


def _trained(
    grid: Grid, store: Store, plan: _Plan, costs: "_Costs", feed: SweepFeed, options: Options, stage: Stage, in_process: bool
) -> _Ended:
    """Train the missing cells."""
    with Lease(store) as lease, _runner(grid, options, lease, in_process) as (runner, machine):
        queue = _queue(grid, machine, costs.of(machine, runner.card_rates), options, feed)
        feed.enqueue(queue, plan.todo)
        queue.make_room(plan.searchers.later)
        if machine.card:
            cards = f"{machine.cards} GPU{'s' * (machine.cards > 1)} ({machine.card.name})"
            _say(options, f"training on {cards} and on processors, {queue.machine.slots} packs there at once")
        _refuse_too_large(queue, plan.searchers.later)
        feed.write_plan()
        about = plan.searchers.describe if plan.searchers else None
        with Progress(queue, stage.screen(options.quiet), about) as progress:
            again = [one for i in plan.todo if (one := grid.cells[i].cell_id) in plan.held]
            provenance = Provenance(store.results, commit(), store.last_finished(again) if again else None)
            job = Sweep(grid, queue, store, lease, provenance, options.fail_fast, plan.searchers.later, progress)
            with orchestrator.running.interrupts.draining(job, stage.at_once):
                runner.run(job)
        # Asked now, the process answers while Ray closes. With searches it is asked later, once the plan records their cells.
        early = not (queue.fatal or plan.searchers)
        beside = BesideTheory.ask(grid.sweep, store.results, grid.cells) if early else None
    return _Ended(job.interrupted, queue.fatal, beside)


def _queue(grid: Grid, machine: Machine, cost: CostModel, options: Options, feed: SweepFeed | None = None) -> PackQueue:
    return PackQueue(grid.cells, machine, cost, options.engine, grid.resources.pack_seconds, feed or Filled())


def _refuse_too_large(queue: PackQueue, later: Sequence[int]) -> None:
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
def _runner(grid: Grid, options: Options, lease: Lease, in_process: bool) -> Iterator[tuple[Runner, Machine]]:
    if in_process:
        _say(options, "training in this process" + ("" if options.debug else ", as Ray would take longer to start"))
        yield ProcessRunner(tells_errors=options.debug), this_machine(grid.resources, max_concurrent=1)
        return
    from orchestrator.ray.cluster import ClusterError, StartError, joined

    try:
        with orchestrator.running.interrupts.ends_noticed(), words_apart(err), ExitStack() as ray:
            with _awaiting(options, "starting Ray ..."), orchestrator.running.interrupts.keeping_signals():
                here = ray.enter_context(joined(options.address, (lease.release,)))
            from orchestrator.ray.runner import TuneRunner  # while Ray's first workers start

            runner = TuneRunner(grid.resources, options.max_concurrent, nodes_may_join=here.nodes_may_join, scratch=here.scratch)
            yield runner, runner.machine()
            with _awaiting(options, "closing Ray ...", is_news=False):
                ray.close()
    except ClusterError as error:
        raise SweepError(str(error), 1 if isinstance(error, StartError) else 2) from error


def _awaiting(options: Options, text: str, is_news: bool = True) -> AbstractContextManager[object]:
    """Tells what is awaited inside: on a terminal by a moving line, elsewhere by a line where it `is_news`."""
    if err.is_terminal and not options.quiet:
        return err.status(text)
    if is_news:
        _say(options, text)
    return nullcontext()


def _say(options: Options, text: str) -> None:
    if not options.quiet:
        options.say(text)


@contextmanager
def uncollected() -> Iterator[None]:
    """Inside, Python's garbage collector is off: the objects made inside live to the end, and looking through them costs time."""
    gc.disable()
    try:
        yield
        gc.freeze()  # only after success: after an error the objects should be collected
    finally:
        gc.enable()
