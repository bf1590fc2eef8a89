"""`sweep store {status,check,compact,copy,export}`: what a results directory holds, and its files."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from csv import writer
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from orchestrator.store.trackers import check_options, share_runs
from sweepkit.console.command_groups import OptionsAnywhere
from sweepkit.console.commands import command
from sweepkit.console.escaping import printable
from sweepkit.console.streams import answers
from sweepkit.console.terminal import err, stop
from sweepkit.console.words import IN_PART, counted, listed, nearest, show
from sweepkit.store.files import Files, LocalFiles, ResultsError, existing, open_files
from sweepkit.store.sharing.runs import PER
from sweepkit.store.sharing.trackers import TRACKERS
from sweepkit.store.upkeep.check import check as check_files
from sweepkit.store.upkeep.compact import compact as compact_files
from sweepkit.store.upkeep.copy import copy as copy_rows
from sweepkit.store.upkeep.delete import forget_expired
from sweepkit.store.upkeep.export import export as export_views
from sweepkit.store.upkeep.notes import in_a_line
from sweepkit.store.upkeep.summary import Summary, summarise
from sweepkit.store.views import fetch

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, cls=OptionsAnywhere
)
Results = Annotated[str, typer.Option("--results", metavar="DIR_OR_URI", help="Where the results are.")]


@app.callback()
def store() -> None:
    """Look after a results directory. Sweeps may run meanwhile."""


@contextmanager
def opened(results: str) -> Iterator[Files]:
    """Open the results directory. If it does not exist or cannot be read, end the command with exit code 2."""
    try:
        yield existing(results)
    except ResultsError as error:
        stop(str(error))


@app.command(short_help="How many networks of each sweep are done, running, missing, failed.")
def status(
    results: Results = "results",
    sweep: Annotated[str | None, typer.Option("--sweep", metavar="NAME", help="Only the cells of this sweep.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show for each sweep how many cells are done, running and missing, why cells failed, and the disk space used."""
    answers()
    with opened(results) as files:
        check_names(files, [] if sweep is None else [sweep])
        found = summarise(files, sweep)
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=2))
    else:
        _show(found, sweep)


def check_names(files: Files, sweeps: Sequence[str]) -> None:
    """End the command with exit code 2 if the results hold no sweep of one of these names."""
    there = [name for (name,) in fetch(files, "SELECT DISTINCT sweep FROM plans ORDER BY sweep")] if sweeps else []
    for sweep in sweeps:
        if sweep not in there:
            known = f"there are {listed(there)}" if there else "it holds no plan of any sweep"
            stop(f"no sweep {show(sweep)} in {files.root}{nearest(sweep, there) or ':'} {known}")


@app.command(short_help="Verify every file by its checksums.")
def check(
    results: Results = "results",
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what dead processes left, and sweeps deleted 30 days ago.")
    ] = False,
) -> None:
    """Verify every file down to its checksums. Exit 1 if a file is torn, foreign or damaged; readers leave such files out."""
    answers()
    with opened(results) as files, Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("checking", total=None)
        report = check_files(files, clean, lambda done, total: bar.update(task, completed=done, total=total))
        expired = forget_expired(files) if clean and not report.unread else []
    for grave in expired:
        echo(f"removed {grave.sweep}: deleted on {datetime.fromtimestamp(grave.at, UTC):%d %B %Y}")
    for path, problem in report.bad.items():
        echo(f"bad    {path}: {problem}")
    for path, reason in report.unread.items():
        echo(f"unread {path}: {reason}")
    for path in report.stale:
        echo(f"{'removed' if path in report.removed else 'stale '} {path}: left by a process that is gone")
    typer.echo(
        f"{counted(report.n_files, 'file')}, {size_text(report.n_bytes)}: {len(report.bad)} bad, {len(report.stale)} stale"
    )
    if report.bad:
        typer.echo("Readers leave bad files out. Restore them, or delete them and run the sweep again: it trains their cells.")
    if report.unread:
        n = counted(len(report.unread), "file")
        stop(f"{n} could not be read, so nothing is known of the content: let this account read all files, or try again later")
    if report.stale and not clean:
        typer.echo("Stale files are harmless; check --clean removes them.")
    raise typer.Exit(1 if report.bad else 0)


@app.command(short_help="Merge many small files into a few large ones.")
def compact(
    results: Results = "results",
    now: Annotated[
        bool, typer.Option("--now", help="Delete merged files at once; running queries may have to start again.")
    ] = False,
) -> None:
    """Merge the files of many packs into a few large sorted files: queries become faster, the results stay the same."""
    with opened(results) as files:
        done = compact_files(files, now)
        forget_expired(files)
    for path, problem in done.bad.items():
        echo(f"left alone  {path}: {problem}")
    if done.written:
        echo(f"merged {counted(done.merged, 'file')} into {len(done.written)}: {', '.join(done.written)}")
    else:
        typer.echo("nothing to merge")
    if done.deleted:
        typer.echo(f"deleted {counted(len(done.deleted), 'file')} merged earlier")
    if done.waiting:
        stay = "stays" if len(done.waiting) == 1 else "stay"
        merged = f"{counted(len(done.waiting), 'merged file')} {stay} for readers"
        typer.echo(f"{merged} that hold {'it' if stay == 'stays' else 'them'}: compact again in 10 minutes, or --now")


@app.command(short_help="Copy what another results directory lacks into it.", context_settings={"allow_extra_args": True})
def copy(
    ctx: typer.Context,
    to: Annotated[
        str | None, typer.Option("--to", metavar="DIR_OR_URI", help="The results directory to copy into; made if need be.")
    ] = None,
    results: Results = "results",
    sweep: Annotated[
        list[str] | None, typer.Option("--sweep", metavar="NAME", help="Only this sweep's networks and plan; may be repeated.")
    ] = None,
) -> None:
    """Copy into another results directory what it lacks, as few large files. A second copy adds only what is new."""
    if ctx.args or to is None:
        source, target = [*(ctx.args or [results]), to or "DIR"][:2]
        stop(f"a copy needs a source and a target: {command('store', 'copy', '--results', source, '--to', target)}")
    try:
        with opened(results) as files:
            check_names(files, sweep or [])
            done = copy_rows(files, open_files(to), sweep or [])
    except KeyboardInterrupt:
        stop(f"interrupted: what was copied into {to} stays, and the same command goes on", 130)
    for path, problem in done.bad.items():
        echo(f"left behind  {path}: {problem}")
    parts = (counted(done.rows, "network"), counted(done.plans, "plan"), counted(done.weights, "weights file"))
    echo(f"copied {parts[0]}, {parts[1]} and {parts[2]} from {results} into {to}")
    if done.failed:
        typer.echo(f"left behind {counted(done.failed, 'row')} of networks that failed")


@app.command(short_help="Write DuckDB and CSV files, or runs of a tracker.")
def export(
    results: Results = "results",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Target folder. Default: export/ in the results; for a bucket, ./export."),
    ] = None,
    csv: Annotated[bool | None, typer.Option("--csv/--no-csv", help="Also write one CSV file per view. [default: csv]")] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="TRACKER", help=f"Share networks as runs of {', '.join(TRACKERS)} instead.")
    ] = None,
    sweep: Annotated[
        list[str] | None, typer.Option("--sweep", metavar="NAME", help="With --to: only this sweep; may be repeated.")
    ] = None,
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="With --to: only networks for which this is true of `cells`.")
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(
            "--per", metavar="WHAT", help="With --to: a run per network (default) or per configuration, over its seeds."
        ),
    ] = None,
    tracking_uri: Annotated[
        str | None,
        typer.Option(
            "--tracking-uri", metavar="URI", help="MLflow's server or database. Default: MLFLOW_TRACKING_URI, or its own."
        ),
    ] = None,
    project: Annotated[str | None, typer.Option("--project", help="W&B's project. Default: the sweep's name.")] = None,
    entity: Annotated[str | None, typer.Option("--entity", help="W&B's user or team.")] = None,
    offline: Annotated[
        bool | None, typer.Option("--offline", help="W&B: write runs into a folder (--out, or here), for `wandb sync`.")
    ] = None,
) -> None:
    """Write the views as one results.duckdb and as CSV files, or with --to share networks as runs of a tracker.

    A second time adds to a tracker what is new. Diverged and failed networks are shared too, with their status and reason.
    """
    of_files, of_trackers = {"csv": csv}, {"tracking_uri": tracking_uri, "project": project, "entity": entity, "offline": offline}
    with opened(results) as files:
        there = isinstance(files, LocalFiles)  # DuckDB cannot write a database file into a bucket
        folder = Path(files.root if there else ".", "export")
        if to is not None:
            place = folder / to if out is None and to == "tensorboard" else out
            return share_runs(files, to, sweep or [], where or "", per or PER[0], {**of_files, **of_trackers, "out": place})
        check_options({**of_trackers, "sweep": sweep or None, "where": where, "per": per})
        written = export_views(files, out or folder, csv is not False)
    for path, rows in written.items():
        echo(f"{path}  {counted(rows, 'row')}, {size_text(path.stat().st_size)}")


def echo(text: str) -> None:
    """Print the text without control characters: file names and error texts come from outside this program."""
    typer.echo(printable(text))


def _show(found: Summary, sweep: str | None) -> None:
    console = Console(highlight=False)
    cells = ", ".join(f"{n:,} {name}" for name, n in found.cells.items())
    of = "" if sweep is None else f", sweep {sweep}"
    console.print(Text(printable(f"{found.results}{of}: {counted(sum(found.cells.values()), 'cell')} ({cells})")), soft_wrap=True)
    bad = f", {len(found.bad_files)} of them bad: see check" if found.bad_files else ""
    console.print(Text(f"{counted(found.n_files, 'file')}, {size_text(found.n_bytes)}{bad}"), soft_wrap=True)
    for driver in found.drivers:
        console.print(
            Text(printable(f"running: {counted(driver['cells'], 'cell')} in flight, {driver['driver']}")), soft_wrap=True
        )
    for sweep_told in found.sweeps:
        if about := in_a_line(sweep_told.note, sweep_told.tags):
            console.print(Text(printable(f"{sweep_told.sweep}: {about}")), soft_wrap=True)
    if parts := [s.sweep for s in found.sweeps if s.in_part]:
        console.print(Text(printable(f"{listed(parts)}: {IN_PART}")), soft_wrap=True)
    states = ("planned", "done", "diverged", "failed", "running", "missing")
    show_table(console, ("sweep", *states), [(s.sweep, *(str(getattr(s, name)) for name in states)) for s in found.sweeps])
    why = [(f.status, str(f.cells), f.reason, f.example_cell_id, f.log_path or "") for f in found.failures]
    show_table(console, ("status", "cells", "reason", "for example", "log"), why)
    for failure in found.failures:
        if failure.in_common:
            told = f"{failure.cells:,} {failure.status} ({failure.reason}): {failure.in_common}"
            console.print(Text(printable(told)), soft_wrap=True)


def show_table(console: Console, names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table, on a terminal with columns, else as CSV."""
    if rows and not console.is_terminal:  # for programs, and for people: no column is padded or folded
        typer.echo()
        writer(sys.stdout, lineterminator="\n").writerows([names, *([printable(text) for text in row] for row in rows)])
    elif rows:
        table = Table(box=None, pad_edge=False)
        for i, name in enumerate(names):
            table.add_column(name, justify="right" if rows[0][i].replace(",", "").isdigit() else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(printable(text)) for text in row))
        console.print()
        console.print(table)


def size_text(n_bytes: float) -> str:
    """Bytes as a person reads them: `1.2 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"
