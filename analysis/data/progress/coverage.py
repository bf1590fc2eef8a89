"""How far each sweep is: its planned cells by status, what is being trained, and why cells failed."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from sweepkit.store.files import open_files
from sweepkit.store.leases import drivers
from sweepkit.store.upkeep.failures import ALIKE, FIRST_LINES, ONE_REASON, in_common
from sweepkit.store.upkeep.notes import in_a_line
from sweepkit.store.views import fetch, never_whole, run

__all__ = ["Live", "Progress", "Reason", "in_common", "live", "progress", "reasons", "sweeps", "sweeps_with"]

RECENT = "10 minutes"
"""Span before a sweep's last commit over which its rate is taken."""

_PROGRESS = f"""
WITH planned AS (
    SELECT sweep, status, finished_at, plans.cell_id IN (SELECT unnest(?::VARCHAR[])) AS leased,
        max(finished_at) OVER (PARTITION BY sweep) AS last
    FROM plans LEFT JOIN cells USING (cell_id))
SELECT sweep, count(*), count(*) FILTER (status = 'ok'), count(*) FILTER (status = 'diverged'),
    count(*) FILTER (status = 'failed' AND NOT leased), count(*) FILTER (leased AND coalesce(status, 'failed') = 'failed'),
    count(*) FILTER (status IS NULL AND NOT leased), any_value(last),
    count(*) FILTER (finished_at >= last - INTERVAL {RECENT}),
    extract(epoch FROM any_value(last) - min(finished_at) FILTER (finished_at >= last - INTERVAL {RECENT}))
FROM planned GROUP BY sweep ORDER BY any_value(last) DESC NULLS LAST, sweep
"""

_SAID = "SELECT sweep, coalesce(note, ''), tags, coalesce(grid, ''), coalesce(command, '') FROM sweeps"

# Reasons that differ in numbers alone count as one, which names the range of steps as `store status` does.
_REASONS = rf"""
SELECT sweep, status, {ONE_REASON}, count(*), min(cell_id), arg_min(log_path, cell_id)
FROM ({FIRST_LINES.format(source="cells JOIN plans USING (cell_id)")})
GROUP BY sweep, status, {ALIKE} ORDER BY sweep, count(*) DESC, 3
"""


class Progress(NamedTuple):
    """Numbers of the cells in a sweep's plan: `ok` to `missing` add up to `planned`. Times are UTC, without a zone."""

    sweep: str
    planned: int
    ok: int
    diverged: int
    failed: int
    running: int
    """Cells in packs that a live sweep has in flight, among them failed cells that are tried again."""
    missing: int
    last: datetime | None
    """When the last of its cells finished."""
    per_minute: float | None
    """Cells finished per minute over the span RECENT before `last`."""
    in_part: bool
    """True if its grid was never asked for as a whole."""
    note: str = ""
    tags: tuple[str, ...] = ()
    grid: str = ""
    """The text of its grid; empty if an older version planned it."""
    command: str = ""
    """The command that asked for it."""

    @property
    def done(self) -> int:
        """Cells that need no more training."""
        return self.ok + self.diverged

    def about(self) -> str:
        """Its tags and its note in a line: `#tag #other the note`."""
        return in_a_line(self.note, self.tags)

    def has(self, words: str) -> bool:
        """True if its name, tags, note and grid together have each of these words, whatever their case."""
        text = " ".join((self.sweep, self.about(), self.grid)).lower()
        return all(word in text for word in words.lower().split())


class Reason(NamedTuple):
    """The number of a sweep's cells that ended for one reason, apart from numbers in it, and one cell as the example."""

    sweep: str
    status: str
    reason: str
    n: int
    cell_id: str
    log_path: str | None


def sweeps(results: str) -> list[str]:
    """Names of all sweeps with a plan; much quicker than `progress`."""
    return [sweep for (sweep,) in fetch(results, "SELECT DISTINCT sweep FROM plans ORDER BY sweep")]


def sweeps_with(results: str, cell_ids: Collection[str]) -> tuple[str, ...]:
    """Names of the sweeps that asked for some of these cells."""
    if not cell_ids:
        return ()
    sql = "SELECT DISTINCT sweep FROM plans WHERE cell_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY sweep"
    return tuple(sweep for (sweep,) in run(results, lambda connection: connection.execute(sql, [list(cell_ids)]).fetchall()))


class Live(NamedTuple):
    """A sweep's process that is alive: words for it, the number of cells that it trains, and seconds since it last reported."""

    description: str
    n_cells: int
    age_s: float


def live(results: str) -> list[Live]:
    """The processes that train into the store now. A sweep that waits for its first worker trains no cell yet."""
    return [Live(one.description, len(one.cell_ids), one.age_s) for one in drivers(open_files(results)) if one.alive]


def progress(results: str) -> list[Progress]:
    """The progress of all sweeps with a plan; the sweep whose last cell finished latest comes first."""
    leased = [cell for driver in drivers(open_files(results)) if driver.alive for cell in driver.cell_ids]
    rows, parts = run(results, lambda connection: connection.execute(_PROGRESS, [leased]).fetchall()), never_whole(results)
    said = {sweep: (note, tuple(tags or ()), *asked) for sweep, note, tags, *asked in fetch(results, _SAID)}
    return [
        Progress(
            sweep, planned, ok, diverged, failed, running, missing, last, _rate(n, seconds), sweep in parts,
            *said.get(sweep, ()),
        )
        for sweep, planned, ok, diverged, failed, running, missing, last, n, seconds in rows
    ]  # fmt: skip


def reasons(results: str) -> dict[str, list[Reason]]:
    """By sweep, why cells failed or diverged, the commonest reason first."""
    found: dict[str, list[Reason]] = {}
    for row in fetch(results, _REASONS):
        found.setdefault(row[0], []).append(Reason(*row))
    return found


def _rate(n: int, seconds: float | None) -> float | None:
    return 60 * n / float(seconds) if seconds else None
