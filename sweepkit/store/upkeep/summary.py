"""The contents of a results directory, per sweep: the numbers behind `status`."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from sweepkit.store.files import Files
from sweepkit.store.files.base import WEIGHTS
from sweepkit.store.leases import drivers
from sweepkit.store.snapshot import take
from sweepkit.store.sql import literal
from sweepkit.store.upkeep.failures import ALIKE, FIRST_LINES, ONE_REASON, in_common
from sweepkit.store.views import fetch, never_whole


@dataclass(frozen=True)
class SweepCounts:
    """Counts of the cells of one sweep's plan. The five states add up to `planned`; `done` counts status ok."""

    sweep: str
    planned: int
    done: int
    diverged: int
    failed: int
    running: int
    missing: int
    in_part: bool
    """True if its grid was never asked for as a whole."""
    note: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class FailureGroup:
    """Cells that ended with the same status and reason, apart from numbers in the reason, and one of them as the example."""

    status: str
    reason: str
    cells: int
    example_cell_id: str
    log_path: str | None
    in_common: str
    """The parameters that they share and no finished network has, in words; empty if there are none."""


@dataclass(frozen=True)
class Summary:
    """Everything that `status` shows."""

    results: str
    cells: dict[str, int]
    sweeps: list[SweepCounts]
    failures: list[FailureGroup]
    drivers: list[dict[str, Any]]
    n_files: int
    n_bytes: int
    bad_files: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """The summary as plain values."""
        return asdict(self)


def failed_alike(files: Files, sweep: str | None = None) -> list[FailureGroup]:
    """The groups of cells of one sweep, or of all, that did not end well, the largest first, without what they have in common."""
    sql = rf"""SELECT status, {ONE_REASON},
            count(*), first(cell_id ORDER BY log_path IS NULL, cell_id),
            first(log_path ORDER BY log_path IS NULL, cell_id)
        FROM ({FIRST_LINES.format(source=_source(sweep))})
        GROUP BY status, {ALIKE} ORDER BY count(*) DESC, 2"""
    return [
        FailureGroup(status, reason, cells, example, log, in_common="")
        for status, reason, cells, example, log in fetch(files, sql)
    ]


def _source(sweep: str | None) -> str:
    """SQL for the rows of `cells`, all or those of one sweep."""
    if sweep is None:
        return "cells"
    return f"(SELECT cells.* FROM cells JOIN plans USING (cell_id) WHERE sweep = {literal(sweep)})"


def summarise(files: Files, sweep: str | None = None) -> Summary:
    """The summary of a results directory, or of the cells of one sweep in it; the files are always all of them. It is quick,
    because no curves and no neurons are read."""
    planned = "true" if sweep is None else f"sweep = {literal(sweep)}"
    alive = [driver for driver in drivers(files) if driver.alive]
    running = {cell for driver in alive for cell in driver.cell_ids}
    status_of: dict[str, str] = dict(fetch(files, f"SELECT cell_id, status FROM {_source(sweep)}"))
    sql = f"SELECT sweep, list(cell_id) FROM plans WHERE {planned} GROUP BY sweep ORDER BY sweep"
    said = {
        name: (note, tags)
        for name, note, tags in fetch(
            files, "SELECT sweep, coalesce(note, ''), tags FROM sweeps WHERE note IS NOT NULL OR len(tags) > 0"
        )
    }
    plans: dict[str, list[str]] = dict(fetch(files, sql))
    if sweep is not None:
        alive = [driver for driver in alive if not set(driver.cell_ids).isdisjoint(plans.get(sweep, ()))]
    failures = failed_alike(files, sweep)
    common = in_common(files, sweep) if failures else {}
    snapshot = take(files)
    entries = {file.entry for file in (*snapshot.rows, *snapshot.plans)} | set(snapshot.superseded) | set(snapshot.bad)
    entries |= set(files.entries(WEIGHTS))
    statuses, parts = list(status_of.values()), never_whole(files)
    return Summary(
        results=files.root,
        cells={name: statuses.count(name) for name in ("ok", "diverged", "failed")},
        sweeps=[
            replace(_counts(sweep, cells, status_of, running, sweep in parts), note=note, tags=tuple(tags))
            for sweep, cells in plans.items()
            for note, tags in [said.get(sweep, ("", ()))]
        ],
        failures=[replace(one, in_common=common.get((one.status, one.reason), "")) for one in failures],
        drivers=[{"driver": driver.description, "cells": len(driver.cell_ids)} for driver in alive],
        n_files=len(entries),
        n_bytes=sum(entry.size for entry in entries),
        bad_files={entry.path: problem for entry, problem in snapshot.bad.items()},
    )


def _counts(sweep: str, cells: list[str], status_of: dict[str, str], running: set[str], in_part: bool) -> SweepCounts:
    states = [status_of.get(cell, "missing") for cell in cells]
    # A failed cell that is being tried again counts as running; a done or diverged one does not.
    states = ["running" if s in ("missing", "failed") and c in running else s for c, s in zip(cells, states, strict=True)]
    n = {name: states.count(name) for name in ("ok", "diverged", "failed", "running", "missing")}
    return SweepCounts(sweep, len(cells), n["ok"], n["diverged"], n["failed"], n["running"], n["missing"], in_part)
