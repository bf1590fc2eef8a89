"""`sweep store {size,grid,tag,rename,delete,undelete}`: the sweeps of a results directory, one by one."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.grid.syntax.problems import Report
from orchestrator.grid.top import sweep_name
from orchestrator.store.files import Results, app, check_names, echo, opened, show_table, size_text
from sweepkit.console.commands import command, where
from sweepkit.console.streams import answers
from sweepkit.console.terminal import stop
from sweepkit.console.words import counted, listed
from sweepkit.console.yaml_lines import Item
from sweepkit.store.sql import literal
from sweepkit.store.upkeep import delete as deleting
from sweepkit.store.upkeep.notes import in_a_line, tell
from sweepkit.store.upkeep.rename import rename as rename_sweep
from sweepkit.store.upkeep.size import sizes
from sweepkit.store.views import fetch

Sweep = Annotated[str, typer.Argument(metavar="SWEEP", help="The name of the sweep, as `sweep store status` lists it.")]


@app.command(short_help="The disk space of each sweep, and what deleting it frees.")
def size(
    results: Results = "results",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show for each sweep its stored networks and their bytes, and those that no other sweep asks for.

    A file of rows holds networks of several sweeps: each counts for its share of the file.
    """
    answers()
    with opened(results) as files:
        found = sizes(files)
    if as_json:
        return typer.echo(json.dumps(asdict(found), indent=2))
    named = ("sweep", "networks", "size", "of it alone", "size alone")
    rows = [(s.sweep, f"{s.networks}", size_text(s.n_bytes), f"{s.alone}", size_text(s.bytes_alone)) for s in found.sweeps]
    show_table(Console(highlight=False), named, rows)
    n, n_bytes = found.unasked
    if n:
        echo(f"asked for by no sweep: {counted(n, 'network')}, {size_text(n_bytes)}")
    if found.waiting:
        echo(f"merged files: {size_text(found.waiting)}, which {command('store', 'compact', *where(results))} frees")
    if found.deleted:
        echo(f"deleted sweeps: {size_text(found.deleted)}, for {counted(round(deleting.GRAVE_S / 86400), 'day')} each")


@app.command(short_help="The grid of a sweep, as it was asked for.")
def grid(sweep: Sweep, results: Results = "results") -> None:
    """Print the text of a sweep's grid, below the command that asked for it.

    Of a grid from Python it is the command for the same as a file.
    """
    answers()
    with opened(results) as files:
        check_names(files, [sweep])
        [(text, asked)] = fetch(files, f"SELECT grid, command FROM sweeps WHERE sweep = {literal(sweep)}")
    if not text:
        stop(f"{sweep} was planned by an older version, which kept no grid: run it again, and its grid is kept", 1)
    typer.echo(f"# {asked}\n{text}", nl=not text.endswith("\n"))


@app.command(short_help="Tags and a note of a sweep.")
def tag(
    sweep: Sweep,
    tags: Annotated[list[str] | None, typer.Argument(metavar="[TAG]...", help="Tags to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="TAG", help="A tag to remove; may be repeated.")] = None,
    note: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", help='The note, in place of the last; "" for none.')
    ] = None,
    results: Results = "results",
) -> None:
    """Add tags to a sweep, remove some, set its note; without any of these, show them.

    They stand in `sweep store status`, in the app, and in the view `sweeps` of `sweep query`.
    """
    with opened(results) as files:
        check_names(files, [sweep])
        said = tell(files, sweep, note, tags or (), remove or ()) if tags or remove or note is not None else None
        if said is None:
            [(known, words)] = fetch(files, f"SELECT note, tags FROM sweeps WHERE sweep = {literal(sweep)}")
        else:
            known, words = said.note, said.tags
    echo(f"{sweep}: {in_a_line(known or '', words) or 'no tags and no note'}")


@app.command(short_help="Give a sweep another name.")
def rename(
    sweep: Sweep,
    new: Annotated[str, typer.Argument(metavar="NEW_NAME", help="Its new name.")],
    results: Results = "results",
) -> None:
    """Give a sweep another name; its networks stay as they are."""
    report = Report()
    name = sweep_name(Item(new, "NEW_NAME"), Path(), report)
    if report:
        stop(report.problems[0].message)
    with opened(results) as files:
        if sweep == new:
            stop(f"{sweep} has this name")
        check_names(files, [sweep])
        n = rename_sweep(files, sweep, name)
    echo(f"renamed {sweep} to {name}: {counted(n, 'plan')}; its grid, run again, needs --name {name} or `sweep: {name}`")


@app.command(short_help="Delete a sweep and the networks that it alone has.")
def delete(
    sweeps: Annotated[list[str], typer.Argument(metavar="SWEEP...", help="Names of sweeps.")],
    results: Results = "results",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    for_good: Annotated[bool, typer.Option("--for-good", help="At once and without a way back.")] = False,
) -> None:
    """Delete sweeps: their plans, and the networks that no other sweep asks for. What goes is listed before.

    For 30 days `sweep store undelete` brings them back. Sweeps of other names may run meanwhile.
    """
    with opened(results) as files:
        check_names(files, sweeps)
        for name in sweeps:
            deleting.refuse_running(files, name)
        for name in dict.fromkeys(sweeps):
            going = deleting.leaving(files, name)
            stay = f"; {counted(going.shared, 'network')} stay for {listed(going.with_sweeps)}" if going.shared else ""
            echo(f"{name}: {counted(len(going.cells), 'network')} that no other sweep has go{stay}")
            if not yes and not sys.stdin.isatty():
                stop(f"nothing was deleted; this deletes it: {command('store', 'delete', name, *where(results), '--yes')}")
            if not yes and not typer.confirm("Delete it for good?" if for_good else "Delete it?"):
                typer.echo("kept")
                continue
            done = deleting.delete(files, going, for_good)
            until = f"; until {done.grave.until:%d %B %Y}, this brings it back:" if done.grave else ""
            echo(f"deleted {name}{until}")
            if done.grave:
                echo(f"  {command('store', 'undelete', name, *where(results))}")
        deleting.forget_expired(files)


@app.command(short_help="Bring back a deleted sweep.")
def undelete(
    sweeps: Annotated[
        list[str] | None, typer.Argument(metavar="[SWEEP]...", help="Names; without one, those that can come back.")
    ] = None,
    results: Results = "results",
) -> None:
    """Bring back a sweep that was deleted within 30 days, or list those that can come back."""
    with opened(results) as files:
        if not sweeps:
            found = deleting.graves(files)
            rows = [(g.sweep, f"{g.networks}", size_text(g.n_bytes), f"{g.until:%Y-%m-%d %H:%M} UTC") for g in found]
            if not found:
                typer.echo("no sweep was deleted here within 30 days")
            return show_table(Console(highlight=False), ("sweep", "networks", "size", "until"), rows)
        for sweep in sweeps:
            deleting.undelete(files, sweep)
            of_it = f"FROM plans LEFT JOIN cells USING (cell_id) WHERE sweep = {literal(sweep)}"
            [(n, missing)] = fetch(files, f"SELECT count(*), count(*) FILTER (status IS NULL) {of_it}")
            lacks = "; what another deleted sweep had as well is with that one" if missing else ""
            echo(f"{sweep} is back, with {n - missing:,} of {counted(n, 'network')}{lacks}")
