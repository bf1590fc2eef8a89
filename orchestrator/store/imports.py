"""`sweep store import`: old runs, from a table, as networks beside those that are trained here."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.grid.syntax.problems import Report
from orchestrator.grid.top import sweep_name
from orchestrator.store.files import Results, app, echo
from sweepkit.console.terminal import stop
from sweepkit.console.words import counted, show
from sweepkit.console.yaml_lines import Item
from sweepkit.declarations.columns import IMPORTED, Column
from sweepkit.store.files import ResultsError
from sweepkit.store.sharing.old_runs import MAPS, old_runs, read_map, read_table, resolved
from sweepkit.store.snapshot import Asked
from sweepkit.store.sql import literal
from sweepkit.store.store import Store
from sweepkit.store.views import declared, fetch

PER_FILE = 10_000
"""Networks of one file of rows."""


@app.command("import", short_help="Import old runs from a CSV, Parquet or pickle file.")
def import_runs(
    table: Annotated[
        Path, typer.Argument(metavar="RUNS", help="A CSV, Parquet or pickle file: a row per run, or per evaluation.")
    ],
    maps: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="MAP.yaml", help=f"What its columns are: a file, or {', '.join(MAPS)}; may be repeated."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The name of the sweep. Default: the map's.")] = None,
    results: Results = "results",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Import nothing; say what each column would become.")] = False,
) -> None:
    """Import old runs as networks of a sweep, for figures, theory, the app and exports. Doing it again adds only what is new.

    They are marked as imported: no sweep takes one for trained, and no verdict rests on one. Without a map, columns must have the
    names of keys and metrics; a draft of a map is printed for the others.
    """
    try:
        told, text = read_map(maps or [])
        rows = read_table(table)
        if not rows:
            stop(f"{table} holds no rows")
        report = Report()
        sweep = sweep_name(Item(given, "the sweep") if (given := name or told.sweep) else None, table, report)
        if report:
            stop(report.problems[0].message)
        store = Store(results)
        there = store.files.exists()
        known = _keys() | declared(store.results)
        told = resolved(told, list(dict.fromkeys(column for row in rows for column in row)), rows, known)
        found = old_runs(rows, told, known, str(table))
        if dry_run:
            for role, group in (("key", told.keys), ("metric", told.metrics), ("curve", told.curves)):
                for one, of in group.items():
                    echo(f"{role} {one}: {f'column {of.column}' if of.column else f'{show(of.value)} for all runs'}")
            return echo(f"{counted(len(found.rows), 'network')} for {sweep}; nothing was imported")
        trained = (
            f"SELECT 1 FROM plans JOIN cells USING (cell_id) WHERE sweep = {literal(sweep)} AND engine <> '{IMPORTED}' LIMIT 1"
        )
        if there and fetch(store.results, trained):
            stop(f"{show(sweep)} is the name of a sweep that was trained here: give this one another by --name")
        held = store.statuses() if there else {}
        new = [row for row in found.rows if row["cell_id"] not in held]
        store.prepare()
        for at in range(0, len(new), PER_FILE):
            store.commit(f"{IMPORTED}-{new[at]['cell_id']}", new[at : at + PER_FILE], found.declared)
        words = ["sweep", "store", "import", str(table), *(word for one in maps or () for word in ("--map", one))]
        asked = Asked(text or "# each column is named as a key or a metric\n", shlex.join([*words, "--name", sweep]))
        store.write_plan(sweep, [row["cell_id"] for row in found.rows], whole=True, grid=asked)
    except ResultsError as error:
        stop(str(error))
    except ValueError as error:  # of the commit: a name or a value that no column can have
        stop(f"{table}: {error}")
    left = f"; {counted(found.unfinished, 'row')} of runs that have not ended left out" if found.unfinished else ""
    echo(f"imported {counted(len(new), 'network')} as {sweep}, {len(found.rows) - len(new):,} were there{left}")


def _keys() -> dict[str, Column]:
    """The keys of all tasks, networks and trainings that the project has."""
    from trainables.networks import all_networks
    from trainables.parts import declared as keys_of
    from trainables.tasks import task_class, task_names
    from trainables.training import all_trainings

    kinds = [*(task_class(name) for name in task_names()), *all_networks(), *all_trainings()]
    return {name: key for kind in reversed(kinds) for name, key in keys_of(kind).items() if name not in kind.locations}
