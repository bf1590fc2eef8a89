"""Metrics that the store has of a network stay with it when it is trained again for something else."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import duckdb

from orchestrator.grid.load import Grid
from orchestrator.grid.planned import Carried
from orchestrator.plan.missing import missing_cells
from orchestrator.saved import of_extras
from sweepkit.declarations.columns import Metric
from sweepkit.store.columns import column_of
from sweepkit.store.sql import in_quotes
from sweepkit.store.views import Statuses, declared_in, run
from trainables.metrics import requested_metric, requested_names


def keeping_measured(grid: Grid, results: str, statuses: Statuses, *, force: bool = False) -> Grid:
    """The grid, in which each cell that is trained again keeps the metrics on request that the store has of it.

    A metric that this grid's files define is measured again. The value of another one is carried over from the stored row.
    """
    digests = {"", *(file.digest for file in grid.user_files)}
    metrics = [found.metric for name in requested_names() if (found := requested_metric(name)).metric.digest in digests]
    names = {metric.request: metric.name for metric in metrics}

    @cache
    def taken() -> frozenset[str]:
        """Names of the grid's own columns. A metric of another grid cannot be carried over under one of these names."""
        kinds = {(type(one.cell.task), type(one.cell.network), type(one.cell.training)): one.cell for one in grid.cells}
        return frozenset(key.lower() for cell in kinds.values() for key in cell.declared())

    @cache  # a million cells share a few such values
    def kept(save: frozenset[str], extras: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        """All that is to be saved, and the requests of the metrics to carry over."""
        save |= {names[extra] for extra in extras if extra in names}
        others = {extra: _name(extra).lower() for extra in extras - names.keys() if "@" in extra}
        if not others:
            return save, frozenset()
        used = taken() | {extra.lower() for extra in save}
        return save, frozenset(extra for extra, name in others.items() if name not in used)

    cells, carried = list(grid.cells), dict[int, frozenset[str]]()
    for i, planned in enumerate(cells):
        if planned.cell_id in statuses:
            save, requests = kept(planned.save, statuses[planned.cell_id].extras)
            if save != planned.save:
                cells[i] = replace(planned, save=save)
            if requests:
                carried[i] = requests
    if again := missing_cells(cells, statuses, list(carried), force=force):
        values = _stored(results, {cells[i].cell_id: carried[i] for i in again})
        for i in again:
            cells[i] = replace(cells[i], carried=values.get(cells[i].cell_id, ()))
    return replace(grid, cells=tuple(cells))


def _stored(results: str, requests: Mapping[str, frozenset[str]]) -> dict[str, tuple[Carried, ...]]:
    """The metrics to carry over, by cell id, with their stored values. `requests`: the requests of these metrics, by cell id."""
    names = {_name(request).lower() for row in requests.values() for request in row}  # DuckDB ignores case

    def work(connection: duckdb.DuckDBPyConnection) -> tuple[dict[str, Metric], dict[str, dict[str, Any]]]:
        every = {name.lower(): column for name, column in declared_in(connection).items()}
        there = {name: column for name, column in every.items() if name in names and isinstance(column, Metric)}
        columns = ", ".join(["cell_id", "reason", *(in_quotes(column_of(one)) for one in there.values())])
        found = connection.execute(f"SELECT {columns} FROM internal.best WHERE cell_id IN (SELECT unnest(?))", [list(requests)])
        return there, {row[0]: dict(zip(["reason", *there], row[1:], strict=True)) for row in found.fetchall()}

    declared, rows = run(results, work)

    def carried(row: dict[str, Any], request: str) -> Carried:
        name, _, digest = request.partition("@")
        metric = declared.get(name.lower())  # of the newest file that defines it, which may be another one
        here = replace(metric, name=name, digest=digest) if metric else None
        return Carried(request, here, row.get(name.lower()), "".join(of_extras(row["reason"], [name])))

    return {cell_id: tuple(carried(row, request) for request in sorted(requests[cell_id])) for cell_id, row in rows.items()}


def _name(request: str) -> str:
    return request.partition("@")[0]
