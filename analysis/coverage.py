"""How far each sweep is: its planned cells by status."""

import duckdb

_QUERY = """
select sweep, count(*), count(*) filter (status = 'ok'), count(*) filter (status = 'diverged'),
    count(*) filter (status = 'failed'), count(*) filter (status is null)
from plans left join cells using (cell_id) group by sweep order by sweep
"""


def coverage(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, int]]:
    """Of each sweep: cells planned, ok, diverged, failed, missing."""
    names = ("planned", "ok", "diverged", "failed", "missing")
    return {sweep: dict(zip(names, counts, strict=True)) for sweep, *counts in connection.execute(_QUERY).fetchall()}
