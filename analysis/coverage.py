"""How far each sweep is: its planned cells by status."""

from store.views import fetch, run

_QUERY = """
select plans.sweep, count(*), count(*) filter (status = 'ok'), count(*) filter (status = 'diverged'),
    count(*) filter (status = 'failed'), count(*) filter (status is null)
from plans left join cells using (cell_id) group by plans.sweep order by plans.sweep
"""


_FAILURES = """
select reason, count(*) as n, any_value(log_path) from plans join cells using (cell_id)
where plans.sweep = ? and status in ('failed', 'diverged') group by reason order by n desc
"""


def coverage(results: str) -> dict[str, dict[str, int]]:
    """Of each sweep: cells planned, ok, diverged, failed, missing."""
    names = ("planned", "ok", "diverged", "failed", "missing")
    return {sweep: dict(zip(names, counts, strict=True)) for sweep, *counts in fetch(results, _QUERY)}


def failures(results: str, sweep: str) -> list[tuple[str, int, str | None]]:
    """Why cells of a sweep failed or diverged: reason, number of cells, the log of one of them; the commonest first."""
    return run(results, lambda connection: connection.execute(_FAILURES, [sweep]).fetchall())
