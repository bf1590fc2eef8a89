"""One sweep from its grid to its end: plan, train, report."""

import os
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from rich.console import Console

import orchestrator.running.interrupts
from orchestrator.code import commit
from orchestrator.foresight import Costs, Plan, is_long, is_short, left_failed, look_ahead, planned_of, queue_of, refuse_too_large
from orchestrator.grid.load import Grid
from orchestrator.options import Options, Stage, SweepError
from orchestrator.plan.announce import announcement
from orchestrator.plan.checks import check_own_parts
from orchestrator.plan.forecast import this_machine
from orchestrator.plan.machine import Machine
from orchestrator.plan.name_reuse import reused
from orchestrator.plan.task_files import prepare
from orchestrator.ray.scratch import remove_left
from orchestrator.running.driver import ProcessRunner, Runner, Sweep
from orchestrator.running.feed import SweepFeed
from orchestrator.running.library_output import words_apart
from orchestrator.running.outcome_process import BesideTheory
from orchestrator.running.progress import Progress
from orchestrator.running.summary import report
from orchestrator.running.worker import Provenance, row_bytes
from sweepkit.console.exit_codes import INTERRUPTED
from sweepkit.console.terminal import complain, err
from sweepkit.console.words import counted, listed
from sweepkit.store.files import ResultsError
from sweepkit.store.leases import Lease, forget_dead
from sweepkit.store.store import Store
from trainables.engines import ENGINES


def run_session(grid: Grid, store: Store, options: Options, stage: Stage | None = None) -> int:
    """Plan, train, report; returns the exit code. Without a stage, on the terminal of a command.

    GridError, TaskError, ResultsError or SweepError if it cannot start: then nothing was trained.
    """
    stage = stage or Stage()
    check_engine(grid, options.engine)
    plan = planned_of(grid, store, options)
    grid = plan.grid
    odd = check_own_parts(grid, [*plan.todo, *plan.searchers.later] if plan.todo else [])
    if plan.held and (warning := reused(grid, store, plan.held, options.whole)):
        options.tell(warning)
    options.tell(announcement(grid, plan.searchers, plan.todo, plan.held))
    for line in (*left_failed(plan, options), *(f"warning: {words}" for words in odd)):
        options.tell(line)
    costs = Costs(grid, store, plan, options)
    # The place where it trains, if one is named; Ray on this machine is started for `local`, too.
    address = options.address or os.environ.get("RAY_ADDRESS", "")
    may_be_short = not (address or options.debug)
    short = may_be_short and is_short(grid, plan, costs, options)
    if plan.todo and not (short or costs.are_measured) and is_long(plan, costs, options):
        costs.measure()
        short = may_be_short and is_short(grid, plan, costs, options)  # by the rates of this machine
    in_process = options.debug or short
    look_ahead(grid, plan, costs, options, stage, in_process, here=address in ("", "local"))
    if not options.dry_run:
        store.prepare(need_bytes=sum(row_bytes(grid.cells[i]) for i in plan.todo))
        remove_left(store.results)
        forget_dead(store)
    tasks = (grid.cells[i].cell.task for i in plan.todo)
    prepare(tasks, Console(quiet=True) if options.quiet else err, options.dry_run)
    if options.dry_run:
        return 0
    words = options.again or (f"{grid.sweep}.yaml", *(grid.source.words() if grid.source else ()))
    feed = SweepFeed(
        grid, store, plan.held, plan.searchers, options.order, options.whole, options.tell,
        command=shlex.join(["sweep", "run", *words]), note=options.note,
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
class _Ended:
    """How training ended."""

    interrupted: bool = False
    fatal: str = ""
    """Why the sweep could not go on."""
    beside: BesideTheory | None = None


def _trained(
    grid: Grid, store: Store, plan: Plan, costs: Costs, feed: SweepFeed, options: Options, stage: Stage, in_process: bool
) -> _Ended:
    """Train the missing cells."""
    with Lease(store, sweep=grid.sweep) as lease, _runner(grid, options, lease, in_process) as (runner, machine):
        feed.lease = lease
        queue = queue_of(grid, machine, costs.of(machine, runner.card_rates), options, feed)
        feed.enqueue(queue, plan.todo)
        queue.make_room(plan.searchers.later)
        if machine.card:
            cards = f"{machine.cards} GPU{'s' * (machine.cards > 1)} ({machine.card.name})"
            options.tell(f"training on {cards} and on processors, {queue.machine.slots} packs there at once")
        refuse_too_large(queue, plan.searchers.later)
        again = [one for i in plan.todo if (one := grid.cells[i].cell_id) in plan.held]
        provenance = Provenance(store.results, commit(), store.last_finished(again) if again else None)
        progress = Progress(queue, stage.screen(options.quiet), plan.searchers.describe if plan.searchers else None)
        job = Sweep(grid, queue, store, lease, provenance, options.fail_fast, plan.searchers.later, progress)
        # From the plan on an interrupt ends the sweep as any other, with its summary.
        with orchestrator.running.interrupts.draining(job, stage.at_once):
            feed.write_plan()
            with progress:
                runner.run(job)
        if queue.dropped:
            options.tell(f"{counted(len(queue.dropped), 'network')} of these were trained by another sweep meanwhile")
        # Asked now, the process answers while Ray closes. With searches it is asked later, once the plan records their cells.
        early = not (queue.fatal or plan.searchers)
        beside = BesideTheory.ask(grid.sweep, store.results, grid.cells) if early else None
    return _Ended(job.interrupted, queue.fatal, beside)


@contextmanager
def _runner(grid: Grid, options: Options, lease: Lease, in_process: bool) -> Iterator[tuple[Runner, Machine]]:
    if in_process:
        options.tell("training in this process" + ("" if options.debug else ", as Ray would take longer to start"))
        machine = this_machine(grid.resources, max_concurrent=1)
        if options.debug:
            yield ProcessRunner(tells_errors=True), machine
            return
        with orchestrator.running.interrupts.ends_noticed(on_ray=False), words_apart(err):
            yield ProcessRunner(), machine
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
        options.tell(text)
    return nullcontext()
