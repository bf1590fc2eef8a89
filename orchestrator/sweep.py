"""`python -m orchestrator.sweep grid.yaml`: the command line of a sweep."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from orchestrator.cost import ENGINES, CostModel, EngineName, can_train
from orchestrator.driver import DebugRunner, Runner, Sweep, missing_cells, ordered
from orchestrator.forecast import forecast, forecast_table
from orchestrator.grid import DEFAULT_MAX_CELLS, Grid, GridError, load_grid
from orchestrator.packing import Machine, Order, PackQueue
from orchestrator.progress import Progress, duration
from orchestrator.work import Provenance
from store.files import ResultsError
from store.leases import Lease, others_in_flight
from store.store import Store
from store.views import connect

BYTES_PER_CELL = 2**15
"""Room that a cell's row takes at most: curves and neurons of width 4096."""

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
err = Console(stderr=True)


def stop(message: str) -> NoReturn:
    """Bad input: say what is wrong and leave with 2, before anything has started."""
    err.print(message, style="red", highlight=False, soft_wrap=True, markup=False)
    raise typer.Exit(2)


@app.command()
def sweep(
    grid_file: Annotated[str, typer.Argument(metavar="GRID.yaml", help="The experiment: see the README, 'How to write a grid'.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUES]...", help="Replace an axis: gamma=0.1,1 seed=range(3) steps=2000")
    ] = None,
    results: Annotated[str, typer.Option(metavar="DIR_OR_URI", help="Where results are stored and looked up.")] = "results",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run and how long it would take; start nothing.")
    ] = False,
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster to join, as `auto`; else RAY_ADDRESS, else a local Ray.")
    ] = None,
    engine: Annotated[str, typer.Option(help=f"One of auto, {', '.join(ENGINES)}.")] = "auto",
    max_concurrent: Annotated[int | None, typer.Option(min=1, help="Packs at once at most.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Train at most N of the missing cells.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Train cells again that failed.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Train everything again; also lifts the limit on the number of cells.")
    ] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failed cell.")] = False,
    order: Annotated[
        str, typer.Option(help="seed-first (the whole grid for one seed, then the next), grid, or shuffled.")
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
        grid = load_grid(grid_file, overrides or (), max_cells=10**9 if force else DEFAULT_MAX_CELLS)
    except GridError as error:
        stop(str(error))
    forced: EngineName | None = None if engine == "auto" else engine  # type: ignore[assignment]
    unfit = [planned.cell for planned in grid.cells if forced and not can_train(forced, planned.cell)]
    if unfit:
        stop(
            f"--engine {engine} cannot train {len(unfit)} of the {len(grid.cells)} cells, such as {unfit[0].describe()}: "
            "it needs noiseless same_different on the CPU; say --engine batched, or auto"
        )
    try:
        raise typer.Exit(
            _run(
                grid, Store(results), forced, order,  # type: ignore[arg-type]
                dry_run=dry_run, limit=limit, retry_failed=retry_failed, force=force, fail_fast=fail_fast, debug=debug,
                address=address, max_concurrent=max_concurrent, as_json=as_json, quiet=quiet, verbose=verbose,
                whole=not overrides, grid_file=grid_file,
            )
        )  # fmt: skip
    except ResultsError as error:
        stop(str(error))


def _run(
    grid: Grid, store: Store, engine: EngineName | None, order: Order, *, dry_run: bool, limit: int | None, retry_failed: bool,
    force: bool, fail_fast: bool, debug: bool, address: str | None, max_concurrent: int | None, as_json: bool, quiet: bool,
    verbose: bool, whole: bool, grid_file: str,
) -> int:  # fmt: skip
    statuses = store.statuses()
    todo = ordered(grid.cells, missing_cells(grid.cells, statuses, retry_failed=retry_failed, force=force), order)[:limit]
    merged = f" ({grid.merged} equal ones merged)" if grid.merged else ""
    say = (lambda text: None) if quiet else (lambda text: err.print(text, highlight=False, soft_wrap=True, markup=False))
    there = sum(planned.cell_id in statuses for planned in grid.cells)
    say(f"{grid.sweep}: {len(grid.cells)} cells{merged}, {there} in the store, {len(todo)} to train")
    cost = CostModel()
    cost.learn(connect(store.results))
    if dry_run or verbose:
        slots = max_concurrent or len(os.sched_getaffinity(0))
        shown = forecast(PackQueue(grid.cells, Machine(slots, 2**34), cost, engine, grid.resources.pack_seconds), todo)
        Console().print_json(json.dumps(shown.as_dict())) if dry_run and as_json else err.print(forecast_table(shown))
        if dry_run:
            return 0
    interrupted, fatal = False, ""
    if todo:
        store.prepare(need_bytes=BYTES_PER_CELL * len(todo))
        store.write_plan(grid.sweep, [planned.cell_id for planned in grid.cells], whole=whole)
        with Lease(store) as lease, _runner(debug, address, grid, max_concurrent) as (runner, machine):
            queue = PackQueue(grid.cells, machine, cost, engine, grid.resources.pack_seconds)
            job = Sweep(grid, queue, store, lease, Provenance(store.results, _git_sha()), fail_fast)
            _enqueue(job, todo, statuses, others_in_flight(store), say)
            with Progress(queue, err, quiet) as progress, _draining(job):
                job.on_change = progress.changed
                runner.run(job)
            interrupted, fatal = job.interrupted, job.fatal
    else:
        store.write_plan(grid.sweep, [planned.cell_id for planned in grid.cells], whole=whole)
    return _report(grid, store, grid_file, interrupted=interrupted, fatal=fatal, as_json=as_json)


def _enqueue(job: Sweep, todo: list[int], before: Any, elsewhere: dict[str, str], say: Any) -> None:
    """Cells in flight in another sweep come last, and are looked up once more before they start."""
    late = [i for i in todo if job.grid.cells[i].cell_id in elsewhere]
    if late:
        who = Counter(elsewhere[job.grid.cells[i].cell_id] for i in late)
        say(f"{len(late)} cells are in flight in another sweep ({', '.join(who)}): they come last, if still missing then")
    job.queue.add([i for i in todo if job.grid.cells[i].cell_id not in elsewhere])
    job.queue.add(late)
    waiting = set(late)

    def still_missing(cells: list[int]) -> list[int]:
        if not waiting.intersection(cells):
            return cells
        now = job.store.statuses()
        return [i for i in cells if now.get(job.grid.cells[i].cell_id) == before.get(job.grid.cells[i].cell_id)]

    job.queue.accept = still_missing


@contextmanager
def _runner(debug: bool, address: str | None, grid: Grid, max_concurrent: int | None) -> Iterator[tuple[Runner, Machine]]:
    if debug:
        yield DebugRunner(), Machine(slots=1, bytes_per_pack=2**32)
        return
    from orchestrator.tune_runner import ClusterError, TuneRunner

    try:
        with TuneRunner(address, grid.resources, max_concurrent) as runner:
            yield runner, runner.machine()
    except ClusterError as error:
        stop(str(error))


@contextmanager
def _draining(job: Sweep) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) lets packs in flight finish; the second ends everything at once."""

    def handle(signum: int, frame: FrameType | None) -> None:
        if job.interrupted:
            err.print("stopped at once; what was committed is kept", highlight=False)
            job.lease.release()
            os._exit(130)  # Ray's local processes end with their driver
        job.interrupted = True
        job.queue.draining = True
        n = len(job.queue.in_flight)
        err.print(f"draining: {n} packs in flight finish, about {duration(job.queue.remaining_seconds())}; again to stop at once")

    old = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for s, handler in old.items():
            signal.signal(s, handler)


def _report(grid: Grid, store: Store, grid_file: str, *, interrupted: bool, fatal: str, as_json: bool) -> int:
    """Counts, the table beside Eq. 3, and what to type next; returns the exit code."""
    from analysis.accuracy import RICH_LABEL, accuracy_points, eq3_table

    held = store.statuses()
    counts = Counter(held[p.cell_id][0] if p.cell_id in held else "missing" for p in grid.cells)
    connection = connect(store.results)
    points = [p for p in accuracy_points(connection, grid.sweep) if p.gamma_label == RICH_LABEL]
    out = Console()
    if as_json:
        eq3 = [{**p._asdict(), "best": p.best._asdict(), "eq3": p.eq3, "difference": p.difference} for p in points]
        summary = {"sweep": grid.sweep, "results": store.results, "cells": len(grid.cells), **counts, "eq3": eq3}
        out.print_json(json.dumps(summary | ({"error": fatal} if fatal else {})))
    else:
        if points:
            out.print(eq3_table(points))
        words = ", ".join(f"{n} {status}" for status, n in sorted(counts.items(), key=lambda kv: -kv[1]))
        where = _option(store)
        out.print(f"{grid.sweep}: {len(grid.cells)} cells: {words}. Results: {store.results}", highlight=False, soft_wrap=True)
        if counts["failed"]:
            out.print(f"  failed:  python -m orchestrator.store status{where}   shows why", highlight=False)
            out.print(
                f"  retry:   python -m orchestrator.sweep {grid_file} --retry-failed{where}", highlight=False, soft_wrap=True
            )
        elif counts["missing"]:
            out.print(f"  go on:   python -m orchestrator.sweep {grid_file}{where}", highlight=False, soft_wrap=True)
        query = "SELECT L, gamma_label, avg(best_test_acc) FROM cells GROUP BY ALL ORDER BY ALL"
        out.print(f'  query:   python -m analysis.query "{query}"{where}', highlight=False, soft_wrap=True, markup=False)
        if points:
            out.print(f"  figure:  python -m analysis.figures 1c --sweep {grid.sweep}{where}", highlight=False, soft_wrap=True)
        app = "streamlit run app/main.py" + (f" --{where}" if where else "")
        out.print(f"  app:     {app}", highlight=False, soft_wrap=True)
    if fatal:
        err.print(f"the sweep could not go on: {fatal}", style="red", highlight=False, markup=False)
    if interrupted:
        return 130
    return 1 if fatal or counts["failed"] or counts["missing"] else 0


def _option(store: Store) -> str:
    return "" if Path(store.results) == Path("results").absolute() else f" --results {store.results}"


def _git_sha() -> str:
    """Commit of this code, with `+` when files differ from it; empty outside a repository."""
    root = Path(__file__).resolve().parent.parent

    def git(*args: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *args], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    sha = git("rev-parse", "HEAD")
    return sha + ("+" if sha and git("status", "--porcelain", "--untracked-files=no") else "")


def main() -> NoReturn:
    """Run the command and leave at once: Ray keeps modules alive to the very end, which DuckDB's bindings report as leaks."""
    code: object = 0
    try:
        app()
    except SystemExit as error:
        code = error.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
