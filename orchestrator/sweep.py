"""`python -m orchestrator.sweep grid.yaml`: the command line of a sweep."""

import orchestrator.running.interrupts  # from here on Ctrl-C ends the command in one line, without a traceback

# isort: split
import os
import sys
from typing import Annotated, NoReturn, get_args

import typer

from console.terminal import stop
from console.words import listed
from orchestrator.grid.load import DEFAULT_MAX_CELLS, GridError, load_grid
from orchestrator.plan.packing import Order
from orchestrator.session import Options, SweepError, run_session, uncollected
from store.files import ResultsError
from store.store import Store
from trainables.engines import ENGINES
from trainables.tasks.base import TaskError

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


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
        str | None, typer.Option(help="The Ray cluster to join; `auto` on its head. Default: RAY_ADDRESS, else a local Ray.")
    ] = None,
    engine: Annotated[str, typer.Option(help=f"One of auto, {', '.join(ENGINES)}.")] = "auto",
    max_concurrent: Annotated[int | None, typer.Option(min=1, help="Train at most this many packs at once.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Train at most N of the missing cells.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Train failed cells again.")] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help=f"Train all cells again. For a grid of over {DEFAULT_MAX_CELLS:,} cells: train the missing ones."
        ),
    ] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failed cell.")] = False,
    order: Annotated[
        str, typer.Option(help="seed-first (the whole grid for one seed, then for the next), grid, or shuffled.")
    ] = "seed-first",
    debug: Annotated[bool, typer.Option("--debug", help="Run in this process, without Ray.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress, only the summary.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Also show the forecast.")] = False,
) -> None:
    """Train the networks of a grid that are not in the store yet, and store the results."""
    if order not in get_args(Order):
        *others, last = get_args(Order)
        stop(f"--order {order!r}: say {listed(others)} or {last}")
    try:
        with uncollected():
            grid = load_grid(grid_file, overrides or (), max_cells=10**9 if force else DEFAULT_MAX_CELLS)
    except GridError as error:
        stop(str(error))
    forced = None if engine == "auto" else engine
    again = [
        grid_file,
        *(overrides or ()),
        *(["--engine", engine] if forced else []),
        *(["--address", address] if address else []),
    ]
    options = Options(
        forced, order, address, max_concurrent, limit, retry_failed,  # type: ignore[arg-type]
        # A grid above the limit needs --force in every run: there it does not retrain, so that a stopped sweep can go on.
        retrain=force and len(grid.cells) <= DEFAULT_MAX_CELLS,
        fail_fast=fail_fast, dry_run=dry_run, debug=debug, as_json=as_json, quiet=quiet, verbose=verbose,
        again=tuple(again), whole=not overrides,
    )  # fmt: skip
    try:
        store = Store(results)
        store.files.exists()  # reports an unreachable bucket at once; later requests retry first
        raise typer.Exit(run_session(grid, store, options))
    except (GridError, ResultsError, TaskError) as error:
        stop(str(error))
    except SweepError as error:
        stop(str(error), error.exit_code)


def main() -> NoReturn:
    """Run the command, then end the process at once.

    In an ordinary end Ray keeps modules alive to the last, and DuckDB's bindings report them as leaks.
    """
    code: object = 0
    try:
        orchestrator.running.interrupts.in_order()
        app()
    except SystemExit as error:
        code = error.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
