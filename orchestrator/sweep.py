"""`python -m orchestrator.sweep grid.yaml`: the command line of a sweep."""

import orchestrator.running.interrupts  # from here on Ctrl-C ends the command in one line, without a traceback

# isort: split
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn, get_args

import typer

from orchestrator.foresight import uncollected
from orchestrator.grid.load import DEFAULT_MAX_CELLS, load_grid
from orchestrator.grid.syntax.problems import GridError
from orchestrator.options import Options, SweepError
from orchestrator.plan.packing import Order
from orchestrator.session import run_session
from sweepkit.console.commands import command
from sweepkit.console.streams import run_and_leave
from sweepkit.console.terminal import stop, told
from sweepkit.console.words import listed
from sweepkit.extras import require
from sweepkit.store.files import ResultsError
from sweepkit.store.store import Store
from trainables.engines import ENGINES
from trainables.tasks.base import TaskError

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
plan_app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

GridFile = Annotated[
    str,
    typer.Argument(
        metavar="GRID.yaml",
        help="The grid: which networks to train, in a file, or the name of one that comes with the project, such as quick.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUES]...",
        help="Values in place of those in the grid, for every block: gamma=0.1,1 seed=range(3) steps=2000.",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUES",
        help='Choose the networks of the grid that have these values: --only "template=copy d=64,128". Others are not trained.',
    ),
]
Results = Annotated[str, typer.Option(metavar="DIR_OR_URI", help="The results: networks found there are not trained again.")]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="The name of the sweep. Default: the name in the grid.")]
Address = Annotated[
    str | None,
    typer.Option(
        help="The address of a Ray cluster to join; on its head, `auto`; `local` starts one here. "
        "Default: $RAY_ADDRESS, else what is faster here."
    ),
]
Engine = Annotated[str, typer.Option(help=f"The code that trains: auto, {', '.join(ENGINES)}.")]
MaxConcurrent = Annotated[int | None, typer.Option(min=1, help="Train at most this many packs (groups of networks) at once.")]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="Train at most N of the missing networks.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Train failed networks again.")]
Force = Annotated[bool, typer.Option("--force", help="Train all networks again.")]
Large = Annotated[bool, typer.Option("--large", help=f"Allow a grid of more than {DEFAULT_MAX_CELLS:,} networks.")]
InOrder = Annotated[
    str,
    typer.Option(help="What to train first: seed-first (the whole grid with one seed, then with the next), grid, or shuffled."),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", help="Run in this process, without Ray, and print the traceback of what fails (before: with --retry-failed)."
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress, only the summary.")]


@app.command()
def sweep(
    grid_file: GridFile,
    overrides: Overrides = None,
    results: Results = "results",
    name: Name = None,
    only: Only = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Start nothing; say what would be trained, and how long it would take.")
    ] = False,
    address: Address = None,
    engine: Engine = "auto",
    max_concurrent: MaxConcurrent = None,
    limit: Limit = None,
    retry_failed: RetryFailed = False,
    force: Force = False,
    large: Large = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first network that fails.")] = False,
    order: InOrder = "seed-first",
    debug: Debug = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")] = False,
    quiet: Quiet = False,
    note: Annotated[str, typer.Option(metavar="TEXT", help="A note on the sweep, for `sweep store status` and the app.")] = "",
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show the forecast before training, too.")] = False,
) -> None:
    """Train the networks of a grid that are missing from the results, and add them there."""
    orchestrator.running.interrupts.in_order()
    require("train")
    if grid_file in ("run", "plan") and not Path(grid_file).exists():  # a word of `sweep run`, which this form does without
        if not overrides:
            stop(f"name the grid: {command('run', 'GRID.yaml')}")
        dry_run, (grid_file, *overrides) = dry_run or grid_file == "plan", overrides
    if swapped := _swapped(grid_file, overrides or ()):
        stop(swapped)
    if order not in get_args(Order):
        *others, last = get_args(Order)
        stop(f"--order {order!r}: say {listed(others)} or {last}")
    try:
        with uncollected():
            grid = load_grid(grid_file, overrides or (), 10**9 if large else DEFAULT_MAX_CELLS, name, only or ())
    except GridError as error:
        _refuse(error, debug)
    if grid.source and not quiet and not Path(grid_file).is_file():
        told(f"{grid_file} is {grid.source.file}")
    forced = None if engine == "auto" else engine
    again = [
        grid_file,
        *(overrides or ()),
        *(["--name", name] if name else []),
        *(word for values in only or () for word in ("--only", values)),
        *(["--engine", engine] if forced else []),
        *(["--address", address] if address else []),
        *(["--large"] if large else []),
    ]
    options = Options(
        forced, order, address, max_concurrent, limit, retry_failed,  # type: ignore[arg-type]
        retrain=force, fail_fast=fail_fast, dry_run=dry_run, debug=debug, as_json=as_json, quiet=quiet, verbose=verbose,
        again=tuple(again), whole=grid.is_whole, note=note,
    )  # fmt: skip
    try:
        store = Store(results)
        store.files.exists()  # reports an unreachable bucket at once; later requests retry first
        raise typer.Exit(run_session(grid, store, options))
    except GridError as error:
        _refuse(error, debug)
    except (ResultsError, TaskError) as error:
        stop(str(error))
    except SweepError as error:
        stop(str(error), error.exit_code)


@plan_app.command()
def plan(
    grid_file: GridFile,
    overrides: Overrides = None,
    results: Results = "results",
    name: Name = None,
    only: Only = None,
    address: Address = None,
    engine: Engine = "auto",
    max_concurrent: MaxConcurrent = None,
    limit: Limit = None,
    retry_failed: RetryFailed = False,
    force: Force = False,
    large: Large = False,
    order: InOrder = "seed-first",
    debug: Debug = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the forecast as JSON on standard output.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say what a sweep would train, how long it would take, and in how much memory. Nothing is started or written."""
    sweep(
        grid_file, overrides, results, name, only, True, address, engine, max_concurrent, limit, retry_failed, force, large,
        order=order, debug=debug, as_json=as_json, quiet=quiet,
    )  # fmt: skip


def _refuse(error: GridError, debug: bool) -> NoReturn:
    """End the command with the problems of a grid, and with --debug the tracebacks of the user's own parts before them."""
    if error.traces and not debug:
        stop(f"{error}\n--debug shows the traceback{'s' if len(error.traces) > 1 else ''}")
    for trace in error.traces if debug else []:
        told(trace.rstrip())
    stop(str(error))


def _swapped(grid_file: str, overrides: Sequence[str]) -> str:
    """The command to type instead if the grid does not come first; nothing if it does."""
    grids = [word for word in overrides if word.lower().endswith((".yaml", ".yml")) and "=" not in word]
    if "=" not in grid_file or Path(grid_file).exists() or len(grids) != 1:
        return ""
    rest = [grid_file, *(word for word in overrides if word not in grids)]
    return f"the grid comes first, then the axes: {command('run', grids[0], *rest)}"


def main() -> NoReturn:
    """The entry point of `python -m orchestrator.sweep`."""
    run_and_leave(app)


if __name__ == "__main__":
    main()
