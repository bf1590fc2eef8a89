"""`python -m orchestrator.sweep grid.yaml`: the command line of a sweep."""

import orchestrator.interrupts  # Ctrl-C is answered from here on

# isort: split
import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from analysis.terminal import complain, err, stop, told
from orchestrator.announce import announcement, outlook
from orchestrator.calibration import machine_rates
from orchestrator.cost import CostModel
from orchestrator.driver import DebugRunner, Runner, Sweep, enqueue, missing_cells, ordered
from orchestrator.forecast import forecast, forecast_table, this_machine
from orchestrator.grid import DEFAULT_MAX_CELLS, Grid, GridError, load_grid
from orchestrator.others import Others
from orchestrator.packing import Machine, Order, PackQueue
from orchestrator.prepare import prepare
from orchestrator.progress import Progress
from orchestrator.quiet import words_apart
from orchestrator.report import report
from orchestrator.scratch import remove_left
from orchestrator.searching import Searchers
from orchestrator.work import Provenance, row_bytes
from store.files import ResultsError
from store.leases import Lease, forget_dead
from store.store import Store
from store.views import run as run_query
from trainables.engines.base import ENGINES, NEEDS, EngineName, can_train
from trainables.tasks.base import TaskError

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class Options:
    """What the command line says beside the grid."""

    engine: EngineName | None
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
    """The words that ask for the same sweep again."""
    whole: bool
    """Whether the grid is the file's, without overrides."""


@app.command()
def sweep(
    grid_file: Annotated[str, typer.Argument(metavar="GRID.yaml", help="The experiment: see the README, 'How to write a grid'.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUES]...", help="Replace an axis: gamma=0.1,1 seed=range(3) steps=2000")
    ] = None,
    results: Annotated[str, typer.Option(metavar="DIR_OR_URI", help="Where results are stored and looked up.")] = "results",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run and for how long; start nothing.")] = False,
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster to join, as `auto` on its head; else RAY_ADDRESS, else a local Ray.")
    ] = None,
    engine: Annotated[str, typer.Option(help=f"One of auto, {', '.join(ENGINES)}.")] = "auto",
    max_concurrent: Annotated[int | None, typer.Option(min=1, help="Packs at once at most.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Train at most N of the missing cells.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Train cells again that failed.")] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help=f"Train everything again; of a grid over {DEFAULT_MAX_CELLS:,} cells, train what is missing."
        ),
    ] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failed cell.")] = False,
    order: Annotated[
        str, typer.Option(help="seed-first (the whole grid for one seed, then for the next), grid, or shuffled.")
    ] = "seed-first",
    debug: Annotated[bool, typer.Option("--debug", help="Run in this process, without Ray.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress, only the summary.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Also say what is planned.")] = False,
) -> None:
    """Train what is missing of a grid of small networks and store the results."""
    if order not in ("seed-first", "grid", "shuffled"):
        stop(f"--order {order!r}: say seed-first, grid or shuffled")
    if engine not in ("auto", *ENGINES):
        stop(f"--engine {engine!r}: say auto, {', '.join(ENGINES)}")
    try:
        with _uncollected():
            grid = load_grid(grid_file, overrides or (), max_cells=10**9 if force else DEFAULT_MAX_CELLS)
    except GridError as error:
        stop(str(error))
    forced: EngineName | None = None if engine == "auto" else engine  # type: ignore[assignment]
    unfit = [planned.cell for planned in grid.cells if forced and not can_train(forced, planned.cell)]
    if forced and unfit:
        stop(
            f"--engine {engine} cannot train {len(unfit)} of the {len(grid.cells)} cells, such as {unfit[0].describe()}: "
            f"it trains {NEEDS[forced]}; say --engine batched, or auto"
        )
    again = [
        grid_file,
        *(overrides or ()),
        *(["--engine", engine] if forced else []),
        *(["--address", address] if address else []),
    ]
    options = Options(
        forced, order, address, max_concurrent, limit, retry_failed,  # type: ignore[arg-type]
        # A grid that needs --force to be planned at all must be able to go on where it stopped.
        retrain=force and len(grid.cells) <= DEFAULT_MAX_CELLS,
        fail_fast=fail_fast, dry_run=dry_run, debug=debug, as_json=as_json, quiet=quiet, verbose=verbose,
        again=tuple(again), whole=not overrides,
    )  # fmt: skip
    try:
        store = Store(results)
        store.files.exists()  # a bucket that cannot be reached is told at once, not after all retries
        raise typer.Exit(_run(grid, store, options))
    except ResultsError as error:
        stop(str(error))


def _run(grid: Grid, store: Store, options: Options) -> int:
    """Plan, train, report; returns the exit code."""
    with _uncollected():
        statuses = store.statuses()

    def missing(cells: Sequence[int]) -> list[int]:
        return missing_cells(grid.cells, statuses, cells, retry_failed=options.retry_failed, force=options.retrain)

    todo = ordered(grid.cells, missing(grid.fixed), options.order)[: options.limit]
    searchers = Searchers(grid, store, statuses, missing, todo, options.limit and options.limit - len(todo))
    if searchers:
        todo = ordered(grid.cells, [*todo, *searchers.start()], options.order)
    _say(options, announcement(grid, searchers, todo, statuses))
    cost = CostModel(machine_rates(lambda text: _say(options, text)) if todo else None)
    if todo:
        run_query(store.results, lambda connection: cost.learn(connection, (planned.cell for planned in grid.cells)))
    here = not (options.address or os.environ.get("RAY_ADDRESS"))  # a cluster's nodes are asked once it is joined
    if options.dry_run or options.verbose or (todo and here):
        at_once = 1 if options.debug else options.max_concurrent  # as _runner has it
        queue = _queue(grid, this_machine(grid.resources, at_once), cost, options)
        enqueue(queue, todo, options.order)
        if options.dry_run or here:
            _refuse_too_large(queue, searchers.later)
    if not options.dry_run:
        store.prepare(need_bytes=sum(row_bytes(grid.cells[i]) for i in todo))
        remove_left(store.results)
        forget_dead(store)
    if options.dry_run or options.verbose:
        shown = forecast(queue)
        if options.dry_run and options.as_json:
            later = {"searches": outlook(searchers, queue)._asdict()} if searchers else {}
            Console().print_json(json.dumps(shown.as_dict() | later))
        elif todo:
            err.print(forecast_table(shown))
            if searchers.n_open:
                err.print(outlook(searchers, queue).describe(), highlight=False)
            if shutil.which("nvidia-smi"):
                err.print("(a forecast for processors alone: a sweep here also trains on the card)", highlight=False)
    try:
        prepare((grid.cells[i].cell.task for i in todo), Console(quiet=True) if options.quiet else err, options.dry_run)
    except TaskError as error:
        stop(str(error))
    if options.dry_run:
        return 0
    interrupted, fatal = False, ""
    if todo:
        with Lease(store) as lease, _runner(grid, options) as (runner, machine):
            queue = _queue(grid, machine, cost, options)
            job = Sweep(grid, queue, store, lease, Provenance(store.results, _git_sha()), options.fail_fast, searchers.later)
            others = Others(job, statuses, lambda text: _say(options, text))
            others.enqueue(todo, options.order)
            _refuse_too_large(queue, job.later)
            _write_plan(grid, searchers, store, options)
            if searchers:
                queue.refill = partial(_refill, job, searchers, others, options)
            about = searchers.describe if searchers else None
            with Progress(queue, err, options.quiet, about) as progress, orchestrator.interrupts.draining(job):
                job.on_change = progress.changed
                runner.run(job)
        interrupted, fatal = job.interrupted, job.fatal
    try:
        if searchers or not todo:
            _write_plan(grid, searchers, store, options)
        now = store.statuses() if todo else statuses
        complete = report(grid, searchers, store, now, list(options.again), fatal, options.as_json)
    except ResultsError as error:  # a bucket that fails now: what was trained is no bad input
        complete, fatal = False, fatal or str(error)
    if fatal:
        complain(f"the sweep could not go on: {fatal}")
    return orchestrator.interrupts.INTERRUPTED if interrupted else 0 if complete and not fatal else 1


def _refill(job: Sweep, searchers: Searchers, others: Others, options: Options) -> bool:
    """Add what the searches want now that packs have ended; whether there was any."""
    try:
        found = searchers.cells_to_train(lambda i: i in job.queue.ended or i in job.queue.dropped)
        if found:
            others.enqueue(ordered(job.grid.cells, found, options.order), options.order)
            if searchers.plan_is_due():
                _write_plan(job.grid, searchers, job.store, options)
    except ResultsError as error:
        job.cannot_go_on(str(error))
        return False
    return bool(found)


def _write_plan(grid: Grid, searchers: Searchers, store: Store, options: Options) -> None:
    """Only once nothing can be refused any more: a plan that was refused must not be counted as missing."""
    wanted = dict.fromkeys([*grid.fixed, *searchers.asked])
    store.write_plan(grid.sweep, [grid.cells[i].cell_id for i in wanted], whole=options.whole)


def _queue(grid: Grid, machine: Machine, cost: CostModel, options: Options) -> PackQueue:
    return PackQueue(grid.cells, machine, cost, options.engine, grid.resources.pack_seconds)


def _refuse_too_large(queue: PackQueue, later: Sequence[int]) -> None:
    """A network that no pack can hold would fail after hours of others: say so before the first pack."""
    for i in queue.too_large(later)[:1]:
        fewer = ", or fewer samples P or chains" if hasattr(queue.plan[i].cell, "chains") else ""
        need, have = (n / 2**30 for n in (queue.pack_bytes([i]), queue.machine.bytes_of(queue.choice(i)[1])))
        stop(
            f"{queue.plan[i].cell.describe()} needs {need:,.1f} GiB, but each of {queue.machine.slots} packs at once may take "
            f"{have:,.1f}: take a smaller width or input{fewer}"
            + (
                ", or more cpus_per_pack, which leaves fewer packs to share the memory"
                if need <= have * queue.machine.slots
                else ""
            )
        )


@contextmanager
def _runner(grid: Grid, options: Options) -> Iterator[tuple[Runner, Machine]]:
    _say(options, "training in this process" if options.debug else "starting Ray ...")
    if options.debug:
        yield DebugRunner(), this_machine(grid.resources, max_concurrent=1)
        return
    from orchestrator.cluster import ClusterError, StartError, joined

    try:
        with orchestrator.interrupts.ends_noticed(), words_apart(err), ExitStack() as ray:
            with orchestrator.interrupts.keeping_signals():
                nodes_may_join = ray.enter_context(joined(options.address))
            from orchestrator.tune_runner import TuneRunner  # while Ray's first workers start

            runner = TuneRunner(grid.resources, options.max_concurrent, nodes_may_join=nodes_may_join)
            yield runner, runner.machine()
    except ClusterError as error:
        stop(str(error), 1 if isinstance(error, StartError) else 2)


def _say(options: Options, text: str) -> None:
    if not options.quiet:
        told(text)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Python's collector would look again and again through what is made here, all of which stays to the end."""
    gc.disable()
    try:
        yield
        gc.freeze()  # not where it failed: what is left then is to be collected
    finally:
        gc.enable()


def _git_sha() -> str:
    """Commit of this code, with `+` when files differ from it; empty outside a repository or without git."""
    root = str(Path(__file__).resolve().parent.parent)

    def git(*args: str) -> str:
        # Its owner may be another account: on a cluster it was copied there.
        done = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", root, *args], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        sha = git("rev-parse", "HEAD")
        return sha + ("+" if sha and git("status", "--porcelain", "--untracked-files=no") else "")
    except OSError:
        return ""


def main() -> NoReturn:
    """Run the command and leave at once: Ray keeps modules alive to the very end, which DuckDB's bindings report as leaks."""
    code: object = 0
    try:
        orchestrator.interrupts.in_order()
        app()
    except SystemExit as error:
        code = error.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
