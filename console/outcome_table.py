"""The table at the end of a sweep: rich networks beside the theory. The records are those of `python -m analysis.outcome`."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from console.fitting import print_fitting
from console.printable import printable

MOST_ROWS = 30

Record = Mapping[str, Any]
"""One row: the keys of a point, then n, mean, low, high, last, theory, expected and difference; None for no number."""


def print_outcome(records: Sequence[Record], out: Console) -> None:
    """Print the records, at least one, as a table. A narrow terminal gets no intervals, last accuracies or names of theories."""
    print_fitting([_table(records, brief=False), _table(records, brief=True)], out)


def _table(records: Sequence[Record], brief: bool) -> Table:
    theories = list(dict.fromkeys(record["theory"] for record in records))
    title = f"Best test accuracy of rich networks, mean over n seeds, beside {' and '.join(theories)} [Tong25]"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    names = list(records[0])
    keys = [name for name in names[: names.index("n")] if any(record[name] is not None for record in records)]
    several = len(theories) > 1
    for name in keys:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("n", "best", *(() if brief else ("95% interval", "last"))):
        table.add_column(name, justify="right", no_wrap=True)
    if several and not brief:
        table.add_column("theory", no_wrap=True)
    for name in ("expected" if several else theories[0], "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in records[:MOST_ROWS]:
        interval = f"{_accuracy(row['low'])} to {_accuracy(row['high'])}" if row["n"] > 1 else "one seed"
        more = [] if brief else [interval, _accuracy(row["last"]), *([row["theory"]] if several else [])]
        beside_it = [_accuracy(row["expected"]), _accuracy(row["difference"], "+")]
        table.add_row(
            *(Text(printable(_key(row[key]))) for key in keys), str(row["n"]), _accuracy(row["mean"]), *more, *beside_it
        )
    if len(records) > MOST_ROWS:
        more_points = len(records) - MOST_ROWS
        table.caption, table.caption_justify = f"and {more_points} more points: see the app or the query below", "left"
    return table


def _accuracy(value: float | None, sign: str = "") -> str:
    return "nan" if value is None else f"{value:{sign}.3f}"


def _key(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
