"""How far each sweep is: its planned cells by status."""

from store.views import fetch

_QUERY = """
select plans.sweep, count(*), count(*) filter (status = 'ok'), count(*) filter (status = 'diverged'),
    count(*) filter (status = 'failed'), count(*) filter (status is null)
from plans left join cells using (cell_id) group by plans.sweep order by plans.sweep
"""


def coverage(results: str) -> dict[str, dict[str, int]]:
    """Of each sweep: cells planned, ok, diverged, failed, missing."""
    names = ("planned", "ok", "diverged", "failed", "missing")
    return {sweep: dict(zip(names, counts, strict=True)) for sweep, *counts in fetch(results, _QUERY)}
