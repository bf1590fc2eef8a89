"""The functions that a notebook calls: `run` trains what is missing of a grid, `forecast` says what that would take."""

import gc
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, get_args

from orchestrator.grid.load import DEFAULT_MAX_CELLS, Grid
from orchestrator.grid.syntax.problems import GridError
from orchestrator.options import Options, Stage, SweepError
from orchestrator.plan.announce import Outlook
from orchestrator.plan.forecast import Forecast
from orchestrator.plan.packing import Order
from orchestrator.python.foreseen import Foreseen
from orchestrator.python.process import SweepProcess
from orchestrator.python.screen import in_notebook, say_here, screen_here
from orchestrator.python.summary import Summary
from orchestrator.running.driver import Sweep
from orchestrator.session import run_session
from sweepkit.console.errors import spelled
from sweepkit.console.exit_codes import INTERRUPTED
from sweepkit.console.terminal import told
from sweepkit.console.words import listed, nearest, show
from sweepkit.extras import missing_extra
from sweepkit.store.files import location
from sweepkit.store.store import Store
from trainables.engines import ENGINES

Gridlike = Grid | str | Path | Mapping[str, Any]
"""A grid, or what `Grid.load` makes one from."""


@spelled
def run(
    grid: Gridlike,
    results: str | os.PathLike[str] = "results",
    *,
    engine: str = "auto",
    max_concurrent: int | None = None,
    limit: int | None = None,
    order: Order = "seed-first",
    retry_failed: bool = False,
    force: bool = False,
    fail_fast: bool = False,
    address: str | None = None,
    debug: bool = False,
    quiet: bool = False,
    note: str = "",
) -> Summary:
    """Train the networks of a grid that are not in the results yet, as `sweep run` does, and return the summary.

    A process of its own trains, with Ray: this one never ends with it. Interrupting (Ctrl-C, or the kernel's stop button)
    starts no further pack and waits for those in flight. A notebook then gets the summary of what there is; elsewhere
    KeyboardInterrupt is raised, so that no script goes on with a part of its results. Interrupting again stops at once and
    raises KeyboardInterrupt. What was committed is kept in each case, and the same call goes on from there.

    Args:
        grid: A Grid, or the path, the text or the dictionary of one.
        results: The results directory, or a URI such as `s3://bucket/prefix`.
        engine: The engine that trains, by default the fastest that fits.
        max_concurrent: Train at most this many packs at once.
        limit: Train at most this many of the missing networks.
        order: `seed-first` (the whole grid for one seed, then for the next), `grid` or `shuffled`.
        retry_failed: Train failed networks again.
        force: Train all networks again.
        fail_fast: Stop at the first failed network.
        address: The Ray cluster to join, `auto` on its head; `local` for a Ray of this machine; by default RAY_ADDRESS,
            else what is faster here.
        debug: Train in this process, one pack after the other and without Ray, so that a debugger works in a task of one's own.
            The tracebacks of what fails are printed.
        quiet: Show no progress.
        note: A note on the sweep, for `sweep store status` and the app.

    Raises:
        GridError: The grid is wrong; the message names everything that is.
        TaskError: A task lacks something, such as data or room for them.
        ResultsError: The results cannot be read or written.
        SweepError: The sweep cannot start with these arguments, or cannot go on.
        KeyboardInterrupt: It was interrupted, and not in a notebook or for the second time.
    """
    made = grid if isinstance(grid, Grid) else Grid.load(grid)
    options = _options(
        made, engine, max_concurrent, limit, order, retry_failed, address, debug, quiet, retrain=force, fail_fast=fail_fast,
        note=note,
    )  # fmt: skip
    store = _store(results)
    if not debug:
        ended = SweepProcess(made, store.results, options).run(screen_here(quiet))
        return _ended(Summary.of(made, store, ended.answer, ended.interrupted))
    answers: list[dict[str, Any]] = []
    code = _here(made, store, options, Stage(screen_here, _interrupted, answers.append))
    if code == 1 and (not answers or "error" in answers[-1]):
        raise SweepError(f"the sweep could not go on: {answers[-1]['error'] if answers else 'the message above says why'}", 1)
    return _ended(Summary.of(made, store, answers[-1] if answers else {}, code == INTERRUPTED))


@spelled
def forecast(
    grid: Gridlike,
    results: str | os.PathLike[str] = "results",
    *,
    engine: str = "auto",
    max_concurrent: int | None = None,
    limit: int | None = None,
    order: Order = "seed-first",
    retry_failed: bool = False,
    address: str | None = None,
) -> Foreseen:
    """The networks that `run` would train with these arguments, how long that takes, and in how much memory: `sweep plan`.

    It starts and writes nothing. Exceptions are those of `run`.
    """
    made = grid if isinstance(grid, Grid) else Grid.load(grid)
    lines: list[str] = []
    found: list[tuple[Forecast, Outlook | None]] = []
    options = _options(
        made, engine, max_concurrent, limit, order, retry_failed, address, quiet=False, dry_run=True, say=lines.append
    )
    _here(made, _store(results), options, Stage(foresee=lambda *shown: found.append(shown)))
    return Foreseen(tuple(lines), *found[0])


def _ended(summary: Summary) -> Summary:
    """The summary. KeyboardInterrupt with its words if the sweep was interrupted outside of a notebook."""
    if summary.interrupted and not in_notebook():
        raise KeyboardInterrupt(str(summary))
    return summary


def _here(grid: Grid, store: Store, options: Options, stage: Stage) -> int:
    """Run the session in this process, which goes on afterwards."""
    try:
        return run_session(grid, store, options, stage)
    except GridError as error:
        for trace in error.traces if options.debug else []:
            options.say(trace.rstrip())
        raise
    finally:
        gc.unfreeze()  # a command keeps its objects to its end; here they would be kept for ever


def _store(results: str | os.PathLike[str]) -> Store:
    store = Store(location(results))
    store.files.exists()  # reports an unreachable bucket at once; later requests retry first
    return store


def _options(
    grid: Grid,
    engine: str,
    max_concurrent: int | None,
    limit: int | None,
    order: Order,
    retry_failed: bool,
    address: str | None,
    debug: bool = False,
    quiet: bool = False,
    **more: Any,
) -> Options:
    """The options of the command. SweepError for a value that is none, or without what training needs."""
    if why := missing_extra("train"):
        raise SweepError(why, 1)
    if order not in get_args(Order):
        raise SweepError(f"order = {show(order)}{nearest(order, get_args(Order)) or ':'} say {listed(get_args(Order))}")
    if engine not in ("auto", *ENGINES):
        known = ("auto", *ENGINES)
        raise SweepError(f"engine = {show(engine)}{nearest(engine, known) or ':'} say {listed(known)}")
    for name, number in (("limit", limit), ("max_concurrent", max_concurrent)):
        if number is not None and (not isinstance(number, int) or number < 1):
            raise SweepError(f"{name} = {show(number)}: must be a whole number >= 1")
    # A grid above the limit never retrains, so that a stopped sweep can go on.
    more["retrain"] = more.get("retrain", False) and len(grid.cells) <= DEFAULT_MAX_CELLS
    say = more.pop("say", told if debug and sys.stderr.isatty() else say_here)
    defaults = {"fail_fast": False, "dry_run": False, "as_json": False, "verbose": False}
    return Options(
        engine=None if engine == "auto" else engine, order=order, address=address, max_concurrent=max_concurrent, limit=limit,
        retry_failed=retry_failed, debug=debug, quiet=quiet, again=(), whole=grid.is_whole, say=say, **(defaults | more),
    )  # fmt: skip


def _interrupted(sweep: Sweep) -> NoReturn:
    """End a sweep within this process that is interrupted a second time."""
    raise KeyboardInterrupt("the sweep stopped at once; what was committed is kept")
