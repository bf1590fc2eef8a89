"""`python -m analysis.query "SELECT ..."`: SQL over the results, also while sweeps run."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.data.source import existing
from analysis.sql.statements import EXAMPLES, bound, checked, in_own_words
from sweepkit.console.commands import command
from sweepkit.console.escaping import printable
from sweepkit.console.streams import answers, run_and_leave
from sweepkit.console.terminal import stop
from sweepkit.console.words import counted
from sweepkit.store.database import locked
from sweepkit.store.files import Files, ResultsError, open_files
from sweepkit.store.sql import literal
from sweepkit.store.views import VIEWS, connect, run

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
FORMATS = {
    "table": "",
    "csv": "FORMAT csv, HEADER",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "json": "FORMAT json, ARRAY true",
}
"""Forms of the output, with DuckDB's options for those that it writes."""
MOST_CHARS = 4000
"""Most characters of a text in a table."""


@app.command(epilog="Without a query, the command lists the views, their columns and some examples.")
def main(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="SQL", help="One query, in DuckDB's SQL, in quotation marks.", show_default=False),
    ] = None,
    results: Annotated[str, typer.Option("--results", metavar="DIR_OR_URI", help="Where the results are.")] = "results",
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="|".join(FORMATS), help="The form of the answer. Default: a table on a terminal, else csv."
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", min=0, help="Show at most this many rows of a table; 0 shows all. Default: 1000.")
    ] = None,
) -> None:
    """Query the results in SQL. A wrong query ends with DuckDB's message and exit status 2."""
    answers()
    try:
        chosen = form is not None
        form = form or ("table" if sys.stdout.isatty() or rows is not None else "csv")
        rows = 1000 if rows is None else rows
        sql = _one_query(words or [])
        if form not in FORMATS:
            raise ResultsError(f"--format {form!r} is none of {', '.join(FORMATS)}")
        if sql is None:
            _show_views(open_files(results))
            return
        files = existing(results)
        if form == "table":
            _show(*run(files, lambda connection: _fetch(connection, sql, rows), opener=locked), limit=rows)
        else:
            _stream(files, sql, form, as_it_is=chosen and not sys.stdout.isatty())
    except (ResultsError, duckdb.Error) as error:
        stop(str(error))


def _one_query(words: list[str]) -> str | None:
    """The query; ResultsError says what to type where there are several words, or a results directory in its place."""
    folders = [word for word in words if word.strip() and " " not in word and Path(word).is_dir()]
    queries = [word for word in words if word not in folders]
    if len(folders) == 1 and len(words) <= 2:
        raise ResultsError(f"results are named by an option: {command('query', *queries, '--results', folders[0])}")
    if len(words) > 1:
        raise ResultsError(f"the query must be one word for the shell, in quotation marks: {command('query', ' '.join(words))}")
    return words[0] if words else None


def _fetch(connection: duckdb.DuckDBPyConnection, sql: str, limit: int) -> tuple[list[str], list[str], list[tuple[Any, ...]]]:
    """Names and types of the columns, and up to one row more than the limit."""
    found = bound(connection, sql, limit + 1 if limit else 0)
    try:
        return found.columns, found.types, connection.execute(found.sql).fetchall()
    except duckdb.Error as error:
        raise in_own_words(error) from None


def _stream(files: Files, sql: str, form: str, as_it_is: bool) -> None:
    """Write the answer to standard output. Control characters are shown as `\\x1b` where it may end on a terminal: there, and in
    a form that nobody chose, as by `| head`."""
    if form == "parquet" and sys.stdout.isatty():
        raise ResultsError("parquet is binary: send it to a file with > result.parquet")
    with tempfile.TemporaryDirectory() as folder:
        aside = Path(folder, "result")

        def copy(connection: duckdb.DuckDBPyConnection) -> None:
            query = checked(connection, sql)
            found = connection.sql(query)  # the user's own text, so that an error points into it
            source = _json_source(query, found) if form == "json" else f"FROM ({query}\n)"
            try:
                connection.execute(f"COPY ({source}) TO {literal(str(aside))} ({FORMATS[form]})")
            except duckdb.ConversionException as error:  # without the quoted line, which the user did not type
                raise duckdb.ConversionException(str(error).split("\n\nLINE ")[0]) from None

        # Written aside first: standard output gets the whole answer or nothing.
        run(files, copy, opener=locked)
        with aside.open("rb") as source:
            if as_it_is:
                shutil.copyfileobj(source, sys.stdout.buffer)
            else:
                for line in source:
                    sys.stdout.buffer.write(printable(line.decode()).encode())
        sys.stdout.buffer.flush()


def _json_source(query: str, found: duckdb.DuckDBPyRelation) -> str:
    """The query with null for NaN and infinity, which JSON lacks and DuckDB writes all the same."""
    names = [f"c{i}" for i in range(len(found.columns))]
    columns = [_finite(name, kind) for name, kind in zip(names, found.types, strict=True)]
    if columns == names:
        return f"FROM ({query}\n)"
    quoted = ['"' + name.replace('"', '""') + '"' for name in found.columns]
    chosen = ", ".join(f"{column} AS {name}" for column, name in zip(columns, quoted, strict=True))
    return f"SELECT {chosen} FROM ({query}\n) AS q({', '.join(names)})"


def _finite(value: str, kind: Any, depth: int = 0) -> str:
    """SQL for the value in which numbers that are not finite are NULL, in lists and structs too."""
    if kind.id in ("double", "float"):
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if kind.id in ("list", "array"):
        inner = _finite(f"x{depth}", kind.children[0][1], depth + 1)
        return value if inner == f"x{depth}" else f"list_transform({value}, lambda x{depth}: {inner})"
    if kind.id == "struct":
        fields = {'"' + name.replace('"', '""') + '"': member for name, member in kind.children if name}
        members = {name: _finite(f"{value}.{name}", member, depth) for name, member in fields.items()}
        if any(text != f"{value}.{name}" for name, text in members.items()):
            return f"CASE WHEN {value} IS NOT NULL THEN {{{', '.join(f'{n}: {t}' for n, t in members.items())}}} END"
    return value


def _show(names: list[str], types: list[str], rows: list[tuple[Any, ...]], limit: int) -> None:
    console, notes, names = Console(highlight=False), [], list(map(printable, names))
    if limit and len(rows) > limit:
        rows = rows[:limit]
        notes.append(f"the first {limit:,} rows; --rows 0 shows all")
    shown = [[_text(value) for value in row] for row in rows]
    if any(len(text) > MOST_CHARS for row in shown for text in row):  # Rich took two hours for one of 300,000 lines
        shown = [[text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}..." for text in row] for row in shown]
        notes.append(f"texts end after {MOST_CHARS:,} characters; --format csv has all")
    widths = [
        max(len(line) for text in (name, *(row[i] for row in shown)) for line in (text.split("\n") or [""])) + 3
        for i, name in enumerate(names)
    ]
    n_columns = len(names)
    if console.is_terminal:
        while n_columns > 1 and sum(widths[:n_columns]) > console.width:
            n_columns -= 1
        if n_columns < len(names):
            notes.append(f"{n_columns} of {len(names)} columns fit; name fewer, or --format csv")
    else:
        console = Console(highlight=False, width=max(80, sum(widths) + 2))  # a pipe has no width to fold to
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, kind in list(zip(names, types, strict=True))[:n_columns]:
        numeric = kind.startswith(("DECIMAL", "DOUBLE", "FLOAT", "HUGEINT", "UHUGEINT")) or kind.endswith("INT")
        table.add_column(Text(name), justify="right" if numeric or kind in ("INTEGER", "UINTEGER") else "left", overflow="fold")
    for row in shown:
        table.add_row(*map(Text, row[:n_columns]))
    console.print(table)
    notes = [counted(len(rows), "row"), *notes] if sys.stdout.isatty() or notes else notes
    if notes:
        typer.echo("; ".join(notes), err=True)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "NULL" if value is None else printable(str(value))


def _show_views(files: Files) -> None:
    console = Console(highlight=False)
    with connect(files) as connection:
        for view, meaning in VIEWS.items():
            described = connection.execute(f"DESCRIBE {view}").fetchall()
            console.print(Text.assemble((view, "bold"), f": {meaning}"))
            console.print(Text(printable(", ".join(f"{name} {kind.lower()}" for name, kind, *_ in described))), style="dim")
    console.print("\nExamples")
    for title, sql in EXAMPLES:
        console.print(Text(f"  {title}:\n    {command('query', sql)}"), soft_wrap=True)
    console.print("\n--results names the directory, --format the output (table, csv, parquet, json); --help says more.")


if __name__ == "__main__":
    run_and_leave(lambda: app(prog_name="python -m analysis.query"), quiet_pipe=True)
