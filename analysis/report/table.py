"""The table of a sweep: one row per configuration, with its mean, interval, theory and further metrics."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from analysis.data.comparing import PARTS, differing, named
from analysis.data.keys import captioned, spoken
from analysis.data.measures import last_of, measures
from analysis.data.parts import with_losses
from analysis.data.points import Points, groups, sorting
from analysis.data.selection import VERSION, Selection
from analysis.overlays.overlays import beside
from analysis.report.pictures import csv
from sweepkit.console.words import shown, three_digits
from sweepkit.declarations.metrics import METRICS

MOST_ROWS = 40
"""Rows on the page; all of them are in the CSV."""
MOST_IN_CSV = 3000
"""Rows in the CSV of a page, which must stay small; a query gives all of them."""
MOST_FURTHER = 3


class Cell(NamedTuple):
    """A text of a table, and the number to sort it by, if it is one."""

    text: str
    number: float | None = None


class Table(NamedTuple):
    """Heads and rows of a table as a page shows them, with all rows as CSV."""

    title: str
    heads: list[str]
    n_keys: int
    rows: list[list[Cell]]
    n: int
    csv: str
    cut: bool
    """True if the CSV lacks rows too."""


def table(results: str, selection: Selection, found: Points, held: Sequence[str]) -> Table:
    """The configurations of a sweep. held: the metrics that its networks have, the main one first."""
    known = measures(results)
    own = [name for name in held[1:] if name not in METRICS]
    last = last_of(held[0], held)
    at_the_end = [last, last.replace("_test_", "_train_")] if last else []  # a best metric says little about memorising
    further = list(dict.fromkeys([*own, *(name for name in at_the_end if name in held)]))[:MOST_FURTHER]
    said = beside(found.frame, held[0], wait=False).values
    found = found.with_lost()
    keys = told_apart(found)
    theories = list(dict.fromkeys(said["theory"]))
    frame = found.frame
    if len(said):
        frame = frame.join(said.pivot(index="point", columns="theory", values="value"))
    for name in further:
        others = named(groups(results, selection, name))
        shared = [key for key in found.keys if key in others.keys]
        values = others.frame[[*shared, "mean"]].drop_duplicates(shared).rename(columns={"mean": name})
        frame = frame.merge(values, on=shared, how="left") if shared else frame.assign(**{name: values[name].iloc[0]})
    frame = with_losses(frame)
    order = [key for key in sorting(keys) if key != "gamma_label"]
    order = [*order, *(["gamma"] if "gamma_label" in keys and "gamma" in frame else [])]
    frame = frame.sort_values(order, kind="stable") if order else frame
    n_diverged = ["diverged"] if frame["diverged"].any() else []
    heads = [
        *(spoken(key) for key in keys), "n", known[held[0]].title, "95% interval", *theories,
        *(known[name].title for name in further), *n_diverged,
    ]  # fmt: skip
    columns = [*theories, *further]
    rows = [
        [
            *(_key(row[key]) for key in keys),
            Cell(str(row["n"]), row["n"]),
            _number(row["mean"]),
            _interval(row["low"], row["high"], row["n"]),
            *(_number(row[name]) for name in columns),
            *(Cell(str(row[name]), row[name]) for name in n_diverged),
        ]
        for row in frame.head(MOST_ROWS).to_dict("records")
    ]
    whole = frame[[*keys, "n", "mean", "median", "sd", "low", "high", *columns, "diverged"]]
    return Table(known[held[0]].title, heads, len(keys), rows, len(frame), csv(whole.head(MOST_IN_CSV)), len(whole) > MOST_IN_CSV)


def told_apart(found: Points) -> list[str]:
    """The keys that tell the configurations apart, in the order of captions; the version of the code only if parts share one."""
    keys = captioned(differing(found.frame, found.keys, found.declared), found.declared)
    parts = [key for key in keys if key in PARTS]
    if VERSION in keys and parts and found.frame.groupby(parts, dropna=False)[VERSION].nunique().max() == 1:
        keys.remove(VERSION)
    return keys


def _key(value: object) -> Cell:
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return Cell("not set")
    return Cell(shown(value), float(value)) if isinstance(value, int | float) else Cell(str(value))


def _number(value: float) -> Cell:
    return Cell("") if pd.isna(value) else Cell(three_digits(value, 3 if abs(value) <= 1 else 0), float(value))


def _interval(low: float, high: float, n: int) -> Cell:
    if pd.isna(low) or pd.isna(high):
        return Cell("one seed" if n == 1 else "")
    return Cell(f"{_number(low).text} to {_number(high).text}", float(low))
