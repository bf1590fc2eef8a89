"""Tables of single networks and of configurations, a page at a time: sorted, filtered and grouped by DuckDB."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from analysis.data.choosing import counts_of_measures
from analysis.data.keys import captioned, gamma_once, spoken, value_of, with_gamma
from analysis.data.measures import LAST, MAIN, MEANINGS, measures
from analysis.data.points import with_intervals
from analysis.data.selection import SEED, Aggregates, Selection, Value, finite, grid_keys, statistics_sql, values_of_keys
from sweepkit.declarations.columns import FACTS, Column, Metric
from sweepkit.stats import FEW
from sweepkit.store.sql import literal, quoted
from sweepkit.store.views import declared, run

PAGE = 100
"""Rows of a page."""
STATES = {
    "any": "", "ok": "status = 'ok'", "not ok": "status <> 'ok'", "diverged": "status = 'diverged'",
    "failed": "status = 'failed'",
}  # fmt: skip
"""Limits that a table may have on the status, by name, as SQL."""
MOST_OF_GROUP = 30
"""Most networks of a configuration whose ids a table keeps."""
MOST_RESAMPLED = 200
"""Most values of a configuration that are resampled for the interval of their mean: a hundred rows of more would take seconds."""
MOST_ASKED = 3
"""Most metrics asked for by `save:` that a table shows at first."""
NUMBERS = ("n", "mean", "low", "high", "diverged", "failed")
SORTED_NUMBERS = ("n", "mean", "diverged", "failed")
"""Columns of a configuration beside its parameters, and those of them that give an order."""


class Offered(NamedTuple):
    """The columns that a table of some networks can have: parameters, those that vary first, then metrics and facts."""

    varying: dict[str, list[Value]]
    """The parameters that vary, with their values."""
    fixed: dict[str, list[Value]]
    """The parameters with a single value."""
    metrics: list[str]
    """The metrics that some network has, the main one first."""
    facts: list[str]
    declared: Mapping[str, Column]
    """The columns of the store."""
    n: int
    """The number of networks."""

    @property
    def columns(self) -> list[str]:
        """All of them, in the order of the table."""
        return [*self.varying, SEED, *self.facts[:1], *self.metrics, *self.facts[1:], *self.fixed]

    def first(self, some_bad: bool) -> list[str]:
        """The columns to show first: results, MAIN, the first of MEANINGS, a few that the grid asked for, then what varies.

        some_bad: whether some networks failed or diverged.
        """
        bad = ["status", "reason"] if some_bad else []
        main, on_request = [name for name in self.metrics if name != LAST][:1], [*MEANINGS][:1]
        others = [name for name in self.metrics if name not in (*main, LAST, *on_request)]
        beside = [name for name in MAIN if name in others] or others[:1]
        asked = [name for name in others if isinstance(one := self.declared.get(name), Metric) and one.on_request]
        few = asked if len(asked) <= MOST_ASKED else []
        wanted = [*bad, *main, *beside, *on_request, *few, LAST, *captioned(self.varying, self.declared), SEED, "finished_at"]
        return [name for name in dict.fromkeys(wanted) if name in self.columns]


def offered(results: str, selection: Selection) -> Offered:
    """The columns of a table of the selected networks."""
    asked = values_of_keys(results).and_(counts_of_measures(results)).and_(Aggregates(["count(*)"], lambda row: int(row[0])))
    (found, metrics), n = asked.over(results, selection)
    keys = {key: found[key] for key in gamma_once(found, found)}
    several = {key: values for key, values in keys.items() if len(values) > 1}
    facts = ["status", *(name for name in FACTS if name not in ("status", "weights_file") and not name.startswith("holds_"))]
    there = columns_of(results)
    return Offered(
        several, {key: values for key, values in keys.items() if key not in several}, metrics,
        [name for name in dict.fromkeys(facts) if name in there], declared(results), n,
    )  # fmt: skip


def columns_of(results: str) -> list[str]:
    """The columns of the view `cells`."""
    return run(results, lambda connection: [name for name, *_ in connection.execute("DESCRIBE cells").fetchall()])


@dataclass(frozen=True)
class AskedTable:
    """The networks that a table shows, and their order; hashable."""

    selection: Selection
    state: str = "any"
    """One of STATES."""
    text: str = ""
    """Words that the reason, the id or a parameter that is text must contain."""
    order: str = "finished_at"
    descending: bool = True

    def takes_all(self, selection: Selection) -> bool:
        """True if the table shows all networks of a selection."""
        return self == replace(self, selection=selection, state="any", text="")

    def limited(self, texts: Iterable[str]) -> Selection:
        """The selection with all limits. `texts`: the columns that are searched for the words."""
        limits = [STATES[self.state]]
        if words := self.text.strip():
            found = (f"contains(lower({quoted(name)}), lower({literal(words)}))" for name in texts)
            limits.append(f"({' OR '.join(found)})")
        return replace(self.selection, limits=" AND ".join(filter(None, limits)))


class Table(NamedTuple):
    """A page of rows, the number of all rows, and the SQL of all of them."""

    frame: pd.DataFrame
    n: int
    sql: str


def listed(results: str, asked: AskedTable, columns: tuple[str, ...], page: int = 1, n: int | None = None) -> Table:
    """A page of networks: `cell_id` and the given columns. Ties in the order are broken by the id.

    n: the number of networks if it is known; counting a million takes a third of the time.
    """
    selection = asked.limited(searched(results))
    where = f"FROM {selection.source} WHERE {selection.condition}"
    known = measures(results)
    names = ", ".join(f"{known[name].sql} AS {quoted(name)}" if name in known else quoted(name) for name in columns)
    order = "gamma" if asked.order == "gamma_label" else asked.order
    order = known[order].sql if order in known else quoted(order)
    sql = f"SELECT cell_id, {names} {where}\nORDER BY {order} {_way(asked)}, cell_id"
    return _page(results, sql, f"SELECT count(*) {where}" if n is None else f"SELECT {n}", page)


def grouped(results: str, asked: AskedTable, measure: str, keys: tuple[str, ...], page: int = 1) -> Table:
    """A page of configurations: the parameters `keys` that vary, NUMBERS of the metric, and the ids `cells` of up to
    MOST_OF_GROUP networks of each. `asked.order` may be a parameter or one of NUMBERS."""
    selection, what = asked.limited(searched(results)), measures(results)[measure]
    names = ", ".join(map(quoted, with_gamma(keys))) or "true AS everything"
    n = finite("count", what.sql)
    source = f"FROM {selection.source} WHERE {selection.condition} GROUP BY ALL"
    order = "gamma" if asked.order == "gamma_label" else asked.order
    order = quoted(order) if order in with_gamma(keys) or order in SORTED_NUMBERS else "n"
    ties = ", ".join(map(quoted, with_gamma(keys))) or "everything"
    sql = f"""SELECT {names}, {statistics_sql(what.sql)}, count(*) FILTER (status = 'failed') AS failed,
    CASE WHEN {n} BETWEEN {FEW} AND {MOST_RESAMPLED} THEN {finite("list", what.sql)} END AS seeds,
    min_by(cell_id, seed, {MOST_OF_GROUP}) AS cells
{source}
ORDER BY {order} {_way(asked)}, {ties}"""
    found = _page(results, sql, f"SELECT count(*) FROM (SELECT {names} {source})", page)
    # A configuration of which no network finished has no mean, and no interval.
    finished = with_intervals(found.frame[found.frame["n"] > 0], what, resampled=MOST_RESAMPLED)
    frame = found.frame.drop(columns="seeds").join(finished[["low", "high"]])
    return found._replace(frame=frame[[*keys, *NUMBERS, "cells"]])


def searched(results: str) -> list[str]:
    """The columns in which words are looked for: the id, the reason, and the parameters that are text."""
    known = declared(results)
    texts = [key for key in grid_keys(results) if key in known and known[key].kind == "text"]
    return ["cell_id", "reason", *texts]


def _way(asked: AskedTable) -> str:
    return "DESC NULLS LAST" if asked.descending else "ASC NULLS LAST"


def _page(results: str, sql: str, count: str, page: int) -> Table:
    def work(connection: Any) -> tuple[pd.DataFrame, int]:
        (n,) = connection.execute(count).fetchone()
        first = PAGE * (min(page, pages(n)) - 1)
        return connection.execute(f"{sql}\nLIMIT {PAGE} OFFSET {first}").df(), n

    frame, n = run(results, work)
    return Table(frame, int(n), sql)


def pages(n: int) -> int:
    """The number of pages of so many rows; at least 1."""
    return max(1, -(-n // PAGE))


def rows_of(results: str, cell_ids: tuple[str, ...]) -> list[dict[str, Any]]:
    """The rows of these networks in `cells`, in this order, by column. Networks that are not there are left out."""
    sql = f"SELECT * FROM cells WHERE cell_id IN ({', '.join('?' * len(cell_ids))})"

    def work(connection: Any) -> list[dict[str, Any]]:
        answer = connection.execute(sql, list(cell_ids))
        names = [name for name, *_ in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    by_id = {row["cell_id"]: row for row in run(results, work)} if cell_ids else {}
    return [by_id[cell_id] for cell_id in cell_ids if cell_id in by_id]


def network(results: str, cell_id: str) -> dict[str, Any] | None:
    """The row of a network in `cells`; None if no network has this id."""
    return next(iter(rows_of(results, (cell_id,))), None)


def differences(rows: list[dict[str, Any]], results: str) -> dict[str, list[tuple[str, list[Any]]]]:
    """Differences among networks, by kind: `parameters`, `metrics`, and `origin` (status, code, machine, time). Each is a list
    of a column and its values in the order of the networks."""
    keys, known = [*grid_keys(results), SEED], measures(results)
    found: dict[str, list[tuple[str, list[Any]]]] = {"parameters": [], "metrics": [], "origin": []}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name == "cell_id" or all(_same(value, values[0]) for value in values):
            continue
        kind = "parameters" if name in keys else "metrics" if name in known and name != "seconds" else "origin"
        found[kind].append((name, values))
    return found


def told_apart(rows: list[dict[str, Any]], results: str) -> list[str]:
    """A label for each network: the values of the parameters that differ among them, else its id."""
    apart: Mapping[str, list[Any]] = dict(differences(rows, results)["parameters"])
    names = gamma_once(apart, apart)
    if not names:
        return [row["cell_id"][:8] for row in rows]
    labels = [", ".join(f"{spoken(name)} {value_of(name, row.get(name))}" for name in names) for row in rows]
    return [
        f"{label} ({row['cell_id'][:6]})" if labels.count(label) > 1 else label for label, row in zip(labels, rows, strict=True)
    ]


def _same(value: Any, other: Any) -> bool:
    return bool(value == other) or (value != value and other != other)
