"""The runs of a store: its sweeps, the networks of each, and batches of them with their curves, through the views."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import duckdb

from sweepkit.declarations.columns import FACTS, Key, Metric
from sweepkit.store.files import Files, ResultsError
from sweepkit.store.sharing.runs import SEED, VERSION, Curve, Named, Network, Per, Run, of_network
from sweepkit.store.sql import quoted
from sweepkit.store.views import declared_in, run

NO_SWEEP = "no-sweep"
"""The sweep of networks that no sweep's present grid asks for."""

AT_ONCE = 1000
"""Networks whose curves are held in memory at the same time."""


def sweeps(files: Files, where: str = "") -> dict[str, int]:
    """The number of finished networks of each sweep that `where`, SQL over `cells`, leaves. ResultsError for bad SQL."""
    rest = f"SELECT '{NO_SWEEP}' AS sweep, cell_id FROM cells ANTI JOIN plans USING (cell_id)"
    every = f"(SELECT sweep, cell_id FROM plans SEMI JOIN cells USING (cell_id) UNION ALL {rest})"
    sql = f"SELECT sweep, count(fits.cell_id) FROM {every} LEFT JOIN ({_fitting(where)}) AS fits USING (cell_id) GROUP BY ALL"
    try:
        found: list[tuple[str, int]] = run(files, lambda connection: _checked(connection, where).execute(sql).fetchall())
    except duckdb.Error as error:
        raise ResultsError(f"--where {where!r}: {str(error).splitlines()[0]}") from None
    return dict(sorted(found))


def runs(files: Files, sweep: str, per: Per = "network", where: str = "") -> Iterator[Run]:
    """The runs of a sweep in the order of their keys. Networks that finish meanwhile may be missing."""
    named, groups = run(files, lambda connection: _groups(connection, sweep, per, where))
    for batch in _batches(groups):
        ids = [cell_id for group in batch for cell_id in group]
        found = run(files, lambda connection, ids=ids: _networks(connection, named, ids))  # type: ignore[misc]
        for group in batch:
            networks = [found[cell_id] for cell_id in group if cell_id in found]
            if not networks:
                continue
            if per == "network":
                yield of_network(networks[0], named, sweep)
            else:
                from sweepkit.store.sharing.averages import of_configuration  # SciPy only where it is used

                yield of_configuration(networks, named, sweep)


def _fitting(where: str) -> str:
    return f"SELECT * FROM cells WHERE (\n{where or 'true'}\n)"


def _checked(connection: duckdb.DuckDBPyConnection, where: str) -> duckdb.DuckDBPyConnection:
    """The connection. ResultsError if `where` closes its bracket and goes on with another statement."""
    if [statement.type.name for statement in connection.extract_statements(_fitting(where))] != ["SELECT"]:
        raise ResultsError(f"--where {where!r} is more than a condition over the columns of cells")
    return connection


def _groups(connection: duckdb.DuckDBPyConnection, sweep: str, per: Per, where: str) -> tuple[Named, list[list[str]]]:
    """The columns, and the ids of each run's networks."""
    declared = declared_in(connection)
    there = {name for name, *_ in connection.execute("DESCRIBE cells").fetchall()}
    keys = {name: one for name, one in declared.items() if isinstance(one, Key) and name in there}
    measured = {name: one for name, one in declared.items() if isinstance(one, Metric) and one.kind != "text"}
    single = {name: one for name, one in measured.items() if one.per == "network" and (one.expression or name in there)}
    per_step = {name: one for name, one in measured.items() if one.per == "evaluation" and name != "step"}
    order = ", ".join(quoted(name) for name in keys if name != SEED)
    members = "SEMI JOIN (SELECT cell_id FROM plans WHERE sweep = $sweep)"
    if sweep == NO_SWEEP:
        members = "ANTI JOIN plans"
    group = f"GROUP BY {order}, {VERSION}" if per == "configuration" else f"GROUP BY {order}, {VERSION}, {SEED}, cell_id"
    sql = f"""SELECT list(cell_id ORDER BY {SEED}, cell_id) FROM ({_fitting(where)}) {members} USING (cell_id)
        {group} ORDER BY {order}, {VERSION}, min({SEED}), min(cell_id)"""
    found = connection.execute(sql, {} if sweep == NO_SWEEP else {"sweep": sweep}).fetchall()
    return Named(keys, single, per_step, tuple(name for name in FACTS if name in there)), [ids for (ids,) in found]


def _batches(groups: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    batch: list[list[str]] = []
    for group in groups:
        if batch and sum(map(len, batch)) + len(group) > AT_ONCE:
            yield batch
            batch = []
        batch.append(group)
    if batch:
        yield batch


def _networks(connection: duckdb.DuckDBPyConnection, named: Named, ids: Sequence[str]) -> dict[str, Network]:
    """The networks with these ids that are still there, by id."""
    wanted = "SEMI JOIN (SELECT unnest($ids::VARCHAR[]) AS cell_id) USING (cell_id)"
    values = {name: quoted(name) for name in (*named.keys, *named.facts)} | {name: one.sql for name, one in named.metrics.items()}
    shown = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in values.items())
    rows = connection.execute(f"SELECT cell_id, {shown} FROM cells {wanted}", {"ids": ids}).fetchall()
    lists = "".join(f", list({quoted(name)} ORDER BY step)" for name in named.curves)
    sql = f"SELECT cell_id, list(step ORDER BY step){lists} FROM curves {wanted} GROUP BY cell_id"
    curves = {cell_id: lists for cell_id, *lists in connection.execute(sql, {"ids": ids}).fetchall()}
    names = ("cell_id", *values)
    return {row[0]: Network(dict(zip(names, row, strict=True)), _curves(list(named.curves), curves.get(row[0]))) for row in rows}


def _curves(names: list[str], lists: Sequence[Sequence[Any]] | None) -> dict[str, Curve]:
    """Curves by metric, without evaluations and without metrics that have no value."""
    if lists is None:
        return {}
    steps, *columns = lists
    found = {
        name: {step: float(value) for step, value in zip(steps, column, strict=True) if value is not None}
        for name, column in zip(names, columns, strict=True)
    }
    return {name: curve for name, curve in found.items() if curve}
