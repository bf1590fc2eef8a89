"""`python -m tests.fuzz --count 10000 --seed 0`: bad input of every kind, and what became of it."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tests.fuzz.cases import peak_gb
from tests.fuzz.command_lines import strategies
from tests.fuzz.tally import run
from tests.fuzz.world import make_world

MOST_GB = 3.0
"""The most memory after all cases: growth by a little with each would end a server that answers for days."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    count: Annotated[int, typer.Option(min=10, help="Cases in all.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same cases.")] = 0,
    only: Annotated[str | None, typer.Option(help="One kind: words of its name.")] = None,
) -> None:
    """Fuzz grids, command lines and SQL in this process. Exit 1, with the smallest case, where a property does not hold."""
    table = Table("kind", *("cases", "valid", "refused", "slowest, s of processor", "wall, s"), box=None)
    failed = False
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        kinds = {name: share for name, (_, share) in strategies(make_world(Path(folder, "names"))).items()}
        for i, (kind, share) in enumerate(kinds.items()):
            if only and only not in kind:
                continue
            try:
                done = run(kind, round(count * (1 if only else share)), seed, Path(folder, f"world-{i}"))
            except Exception as error:  # noqa: BLE001 - whatever was found is told, and the other kinds go on
                failed = True
                typer.echo(f"FAILED {kind}: {type(error).__name__}: {error}\n" + "\n".join(getattr(error, "__notes__", [])))
                continue
            refused = done.codes[2] + done.codes[1]
            table.add_row(
                kind, *map(str, (done.codes.total(), done.codes[0], refused)), f"{done.slowest_s:.2f}", f"{done.wall_s:.0f}"
            )
    Console().print(table)
    memory = peak_gb()
    typer.echo(f"memory at most: {memory:.2f} GB, and {MOST_GB} GB are the most")
    raise typer.Exit(int(failed or memory > MOST_GB))


if __name__ == "__main__":
    try:
        app()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))  # in order it would end with a screen of what DuckDB's bindings take for leaks
