"""Selections of networks: of one sweep or of the whole store, with some values of some grid keys, as SQL that users can run
too."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

import duckdb
import numpy as np
import pandas as pd

from sweepkit.declarations.columns import IMPORTED, Key, Metric
from sweepkit.store.sql import literal, quoted
from sweepkit.store.views import declared, once, run

Value = str | int | float | bool | None
T = TypeVar("T")
U = TypeVar("U")

SEED = "seed"

VERSION = "science_version"
"""The column that names the version of what computed a network: of the code, of a user's own file, or of the images and weights
of CIFAR-100."""


ENGINE_IS_OURS = f"engine IS DISTINCT FROM {literal(IMPORTED)}"
"""SQL that is true of networks that were trained here."""
_JUDGED: ContextVar[bool] = ContextVar("_JUDGED", default=False)


@contextmanager
def trained_here() -> Iterator[None]:
    """Inside, selections leave out networks that were imported: a verdict rests on none of them."""
    token = _JUDGED.set(True)
    try:
        yield
    finally:
        _JUDGED.reset(token)


@dataclass(frozen=True)
class Selection:
    """Cells of `sweep` (None: of the whole store) whose keys have one of the values in `where`; hashable."""

    sweep: str | None = None
    where: tuple[tuple[str, tuple[Value, ...]], ...] = field(default=())
    limits: str = ""
    """A further condition as SQL; it comes from this project's code only."""

    @classmethod
    def of(cls, sweep: str | None = None, **where: Value | Iterable[Value]) -> "Selection":
        """A selection by values of keys: `Selection.of("eq3", task="same_different", gamma_label=["1", "lazy"])`."""
        return cls(sweep).only(where)

    def only(self, where: Mapping[str, Value | Iterable[Value]]) -> "Selection":
        """The selection with these keys limited to these values, in place of their earlier limits."""
        several = {key: values_of(one) for key, one in where.items()}
        return replace(self, where=tuple(sorted((dict(self.where) | several).items())))

    @property
    def source(self) -> str:
        """The SQL after FROM."""
        return "cells" if self.sweep is None else "cells JOIN plans USING (cell_id)"

    @property
    def condition(self) -> str:
        """The SQL after WHERE; `true` if nothing limits the selection."""
        limits = [] if self.sweep is None else [f"sweep = {literal(self.sweep)}"]
        limits += [ENGINE_IS_OURS] if _JUDGED.get() else []
        for key, values in self.where:
            limits.append(one_of(quoted(key), values))
        return " AND ".join([*limits, *([self.limits] if self.limits else [])]) or "true"


def one_of(column: str, values: Sequence[Value]) -> str:
    """SQL: whether a column has one of these values; None stands for no value."""
    known = [v for v in values if v is not None]
    among = [f"{column} IN ({', '.join(map(literal, known))})"] if known else []
    null = [f"{column} IS NULL"] if len(known) < len(values) else []
    return " OR ".join([*among, *null]).join("()" if among and null else ("", "")) or "false"


def values_of(one: Value | Iterable[Value]) -> tuple[Value, ...]:
    """One value or several as a tuple; numbers of NumPy and pandas, which a user takes from a table, as Python's own."""
    several = (one,) if one is None or isinstance(one, str | int | float | np.generic) else one
    return tuple(value.item() if isinstance(value, np.generic) else value for value in several)


def grid_keys(results: str) -> list[str]:
    """All grid keys, except the seed, that the store has columns for, users' own among them; in the order of declaration.

    If networks of one task and the same parts have several versions, VERSION is a key too: they are not seeds of one another.
    """
    columns, several = once(results, _columns_and_versions)
    keys = [name for name, column in declared(results).items() if isinstance(column, Key) and name in columns and name != SEED]
    return [*keys, *([VERSION] if several else [])]


def _columns_and_versions(connection: duckdb.DuckDBPyConnection) -> tuple[frozenset[str], bool]:
    columns, several = connection.execute("DESCRIBE cells").fetchall(), connection.execute(_SEVERAL).fetchone()
    return frozenset(name for name, *_ in columns), several is not None


# A cell's id contains its version, so that all rows of a cell agree. To pick one row per cell would take longer.
# A version names the parts that have one of their own, as `langevin 3, text-small+1f0a, 3` does: with other parts it is another
# one by itself.
_SEVERAL = f"""SELECT task FROM internal.rows WHERE status <> 'failed'
GROUP BY task, regexp_extract_all(coalesce({VERSION}, ''), '(?:^|, )([^ ,+]*[^ ,+0-9][^ ,+]*)[ +][^,]+', 1)
HAVING count(DISTINCT coalesce({VERSION}, '')) > 1 LIMIT 1"""


@dataclass(frozen=True)
class Aggregates(Generic[T]):
    """Aggregates over selected networks, as SQL, and what their values say."""

    sql: Sequence[str]
    read: Callable[[Sequence[Any]], T]

    def over(self, results: str, selection: Selection) -> T:
        """The answer over the selected networks."""
        row = run(results, lambda connection: connection.execute(self._query(selection)).fetchone())
        return self.read(row or ())

    def and_(self, other: "Aggregates[U]") -> "Aggregates[tuple[T, U]]":
        """Both, in one pass over the networks."""
        n = len(self.sql)
        return Aggregates([*self.sql, *other.sql], lambda row: (self.read(row[:n]), other.read(row[n:])))

    def _query(self, selection: Selection) -> str:
        return f"SELECT {', '.join(self.sql)} FROM {selection.source} WHERE {selection.condition}"


def axes(results: str, selection: Selection) -> dict[str, list[Value]]:
    """The sorted values of each key among the selected cells (`gamma_label` by gamma). None comes last, and only beside other
    values."""
    return values_of_keys(results).over(results, selection)


def values_of_keys(results: str) -> Aggregates[dict[str, list[Value]]]:
    """The question of `axes`."""
    keys = grid_keys(results)
    values = {key: quoted(key) for key in keys} | {"gamma_label": "{'gamma': gamma, 'label': gamma_label}"}

    def read(row: Sequence[Any]) -> dict[str, list[Value]]:
        found: dict[str, list[Value]] = {}
        for key, distinct in zip(keys, row, strict=True):
            held = list(distinct or [])
            if key == "gamma_label":
                by_gamma = sorted((pair["gamma"], pair["label"]) for pair in held if pair["label"] is not None)
                known = list(dict.fromkeys(label for _, label in by_gamma))
                some_lack_it = any(pair["label"] is None for pair in held)
            else:
                known = sorted(value for value in held if value is not None)
                some_lack_it = None in held
            if known:
                found[key] = [*known, *([None] if some_lack_it else [])]
        return found

    return Aggregates([f"list(DISTINCT {values[key]})" for key in keys], read)


def tasks_of(results: str, selection: Selection) -> list[str]:
    """The tasks of the selected cells, in order."""
    sql = f"SELECT DISTINCT task FROM {selection.source} WHERE {selection.condition} AND task IS NOT NULL ORDER BY task"
    return [task for (task,) in run(results, lambda connection: connection.execute(sql).fetchall())]


def seeds_of(results: str, selection: Selection) -> list[Value]:
    """The seeds of the selected cells, in order."""
    sql = f"SELECT DISTINCT {SEED} FROM {selection.source} WHERE {selection.condition} ORDER BY {SEED}"
    return [seed for (seed,) in run(results, lambda connection: connection.execute(sql).fetchall())]


class Without(NamedTuple):
    """Selected networks that are in no point of a measure, beside those that diverged."""

    failed: int
    """Could not be trained."""
    not_finite: int
    """Finished, and have no finite value."""


def without(results: str, selection: Selection, measure: Metric, but: Collection[str] = ()) -> Without:
    """How many of the selected networks have no finite value of a measure, `but` those of these tasks."""
    others = f" AND NOT coalesce({one_of('task', list(but))}, false)" if but else ""
    sql = f"""SELECT count(*) FILTER (status = 'failed'), {_NOT_FINITE.format(measure.sql)}
FROM {selection.source} WHERE {selection.condition}{others}"""
    return Without(*run(results, lambda connection: connection.execute(sql).fetchone() or (0, 0)))


def tasks_without(results: str, selection: Selection, measure: Metric) -> dict[str, int]:
    """By task, the number of selected networks that finished, of tasks none of whose networks has a finite value of a measure."""
    sql = f"""SELECT task, {_NOT_FINITE.format(measure.sql)} AS n FROM {selection.source}
WHERE {selection.condition} AND status = 'ok' AND task IS NOT NULL GROUP BY task HAVING n = count(*) ORDER BY task"""
    return dict(run(results, lambda connection: connection.execute(sql).fetchall()))


_NOT_FINITE = "count(*) FILTER (status = 'ok' AND NOT coalesce(isfinite({}), false))"


def finite(aggregate: str, sql: str, ok: bool = True) -> str:
    """SQL of an aggregate, such as `avg`, over the finite values of `sql`: those of networks that finished if `ok`, else of all
    rows."""
    finished = "status = 'ok' AND " if ok else ""
    return f"{aggregate}({sql}) FILTER ({finished}isfinite({sql}))"


def statistics_sql(sql: str, ok: bool = True) -> str:
    """SQL of the columns n, mean and sd over the values that `finite` takes, and of `diverged`, a number of networks, which is 0
    if not `ok`: evaluations are taken from networks that finished."""
    diverged = "count(*) FILTER (status = 'diverged')" if ok else "0"
    return (
        f"{finite('count', sql, ok)} AS n, {finite('avg', sql, ok)} AS mean, {finite('stddev_samp', sql, ok)} AS sd,\n"
        f"    {diverged} AS diverged"
    )


def points_sql(selection: Selection, measure: Metric, keys: Iterable[str], few: int) -> str:
    """SQL with one row per group of cells that differ in their seed only; a group of `few` values or more lists them, for a
    bootstrap.

    `n` is the number of cells with a value; diverged cells are counted apart, never averaged. Groups with no cell that is ok
    and some that diverged are rows with n = 0.
    """
    names, value = ", ".join(map(quoted, keys)), measure.sql
    n = finite("count", value)
    return f"""SELECT {names},
    {statistics_sql(value)}, {finite("median", value)} AS median,
    CASE WHEN {n} >= {few} THEN {finite("list", value)} END AS seeds
FROM {selection.source}
WHERE {selection.condition}
GROUP BY {names}
HAVING {n} > 0 OR bool_and(status <> 'ok') AND bool_or(status = 'diverged')
ORDER BY {names}"""


def fits(column: "pd.Series[Any]", wanted: Any) -> "pd.Series[bool]":
    """True where a value is as asked: the value, one of a list, or within a range {at_least, at_most}."""
    if isinstance(wanted, Mapping):
        return column.between(wanted.get("at_least", -float("inf")), wanted.get("at_most", float("inf")))
    return column.isin(wanted if isinstance(wanted, list | tuple) else [wanted])
