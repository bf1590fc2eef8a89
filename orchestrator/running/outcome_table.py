"""The tables at the end of a sweep: networks beside the theory that they should attain, and the means of all others. The
records are those of `python -m analysis.outcome`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sweepkit.console.escaping import printable
from sweepkit.console.tables import print_fitting
from sweepkit.console.words import capital, three_digits

MOST_ROWS = 30
"""Rows of a table, at most; the query that a sweep prints shows all."""

Record = Mapping[str, Any]
"""One row: the keys of a point, then n, mean, low, high and last; None for no number. Beside the theory, also theory, expected,
difference, networks and source; elsewhere the numbers that diverged and that failed."""


def print_outcome(answer: Mapping[str, Any], out: Console) -> None:
    """Print the tables of an answer. A narrow terminal gets no intervals, last values or names of theories."""
    theory, tables = answer["theory"], answer["tables"]
    if theory:
        print_fitting([_beside_theory(theory, brief) for brief in (False, True)], out)
    for one in tables:
        are_others = bool(theory) and one["measure"] == "best_test_acc"
        print_fitting([_means(one, are_others, brief) for brief in (False, True)], out)


def _beside_theory(records: Sequence[Record], brief: bool) -> Table:
    theories, networks = (list(dict.fromkeys(record[name] for record in records)) for name in ("theory", "networks"))
    papers = dict.fromkeys(tag for record in records for tag in re.findall(r"\[(\w+)", record["source"]))
    beside = " and ".join(theories) + "".join(f" [{tag}]" for tag in papers)
    table = _empty(f"Best test accuracy of {' and '.join(networks)}, mean over n seeds, beside {beside}")
    keys = _keys(records)
    several = len(theories) > 1
    for name in (*keys, "n", "best", *(() if brief else ("95% interval", "last"))):
        table.add_column(name, justify="right", no_wrap=True)
    if several and not brief:
        table.add_column("theory", no_wrap=True)
    for name in ("expected" if several else theories[0], "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in records[:MOST_ROWS]:
        more = [] if brief else [_interval(row, True), _number(row["last"]), *([row["theory"]] if several else [])]
        beside_it = [_number(row["expected"]), _difference(row["difference"])]
        table.add_row(*_told(row, keys), str(row["n"]), _number(row["mean"]), *more, *beside_it)
    return _shortened(table, len(records))


def _means(one: Mapping[str, Any], are_others: bool, brief: bool) -> Table:
    """The means of one metric."""
    records, is_accuracy, title = one["rows"], one["is_accuracy"], one["title"]
    table = _empty(f"{capital(title)}{' of the other networks' * are_others}, mean over n seeds")
    keys = _keys(records)
    has_last = not brief and any(row["last"] is not None for row in records)
    counted = [name for name in ("diverged", "failed") if any(row[name] for row in records)]
    for name in (*keys, "n", "mean"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, is_shown in (("95% interval", not brief), ("last", has_last), *((name, True) for name in counted)):
        if is_shown:
            table.add_column(name, justify="right", no_wrap=True)
    for row in records[:MOST_ROWS]:
        more = [] if brief else [_interval(row, is_accuracy)]
        more += [_number(row["last"], is_accuracy)] * has_last + [str(row[name] or "") for name in counted]
        mean = _number(row["mean"], is_accuracy) if row["n"] else "none"
        table.add_row(*_told(row, keys), str(row["n"]), mean, *more)
    return _shortened(table, one["n_rows"])


def _difference(value: float | None) -> str:
    """A difference of two accuracies, with the digits of these: more would be none of theirs."""
    return "none" if value is None else f"{value:+.3f}"


def _empty(title: str) -> Table:
    return Table(box=SIMPLE_HEAD, title=title)


def _shortened(table: Table, n_records: int) -> Table:
    """The table, with a line below it if it does not show all of the records."""
    if n_records > MOST_ROWS:
        table.caption = f"the first {MOST_ROWS} of {n_records:,} configurations; the query below shows all"
    return table


def _keys(records: Sequence[Record]) -> list[str]:
    names = list(records[0])
    return [name for name in names[: names.index("n")] if any(record[name] is not None for record in records)]


def _told(row: Record, keys: Iterable[str]) -> list[Text]:
    return [Text(printable(_key(row[key]))) for key in keys]


def _interval(row: Record, is_accuracy: bool) -> str:
    if row["low"] is None:
        return "one seed" if row["n"] == 1 else ""
    return f"{_number(row['low'], is_accuracy)} to {_number(row['high'], is_accuracy)}"


def _number(value: float | None, is_accuracy: bool = True) -> str:
    return "none" if value is None else three_digits(value, 3 if is_accuracy else 0)


def _key(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
