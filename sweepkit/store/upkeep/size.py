"""The disk space of each sweep. Files of rows hold networks of several sweeps: each network counts for its share of them."""

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from sweepkit.store.files import Files
from sweepkit.store.files.base import WEIGHTS
from sweepkit.store.snapshot import Snapshot, take
from sweepkit.store.upkeep.delete import graves
from sweepkit.store.views import run


@dataclass(frozen=True)
class Size:
    """The stored networks of a sweep and their bytes, and those that no other sweep asks for, which its deletion frees."""

    sweep: str
    networks: int
    n_bytes: int
    alone: int
    bytes_alone: int


@dataclass(frozen=True)
class Sizes:
    """The sizes of all sweeps. `unasked`: networks that no sweep asks for, with their bytes. `waiting`: bytes of merged files for
    the next compaction to delete. `deleted`: bytes of deleted sweeps that can still be brought back."""

    sweeps: list[Size]
    unasked: tuple[int, int]
    waiting: int
    deleted: int


_SHARES = """
    WITH shares AS (
        SELECT cell_id, sum(share) + coalesce(sum(weighs), 0) AS n_bytes
        FROM internal.rows JOIN sizes USING (_file) LEFT JOIN weighed USING (weights_file) GROUP BY cell_id),
    asked AS (SELECT cell_id, count(*) AS n FROM plans GROUP BY cell_id)"""


def sizes(files: Files) -> Sizes:
    """The disk space of each sweep, the largest first."""
    snapshot = take(files)

    def work(connection: duckdb.DuckDBPyConnection) -> tuple[list[tuple[str, int, int, int, int]], list[tuple[int, int]]]:
        _register(connection, files, snapshot)
        of_sweeps = connection.execute(f"""{_SHARES}
            SELECT sweep, count(n_bytes), coalesce(sum(n_bytes), 0)::BIGINT, count(n_bytes) FILTER (n = 1),
                coalesce(sum(n_bytes) FILTER (n = 1), 0)::BIGINT
            FROM plans JOIN asked USING (cell_id) LEFT JOIN shares USING (cell_id)
            GROUP BY sweep ORDER BY 3 DESC, sweep""").fetchall()
        unasked = f"{_SHARES} SELECT count(*), coalesce(sum(n_bytes), 0)::BIGINT FROM shares ANTI JOIN asked USING (cell_id)"
        return of_sweeps, connection.execute(unasked).fetchall()

    of_sweeps, [unasked] = run(files, work)
    waiting = sum(entry.size for entry in snapshot.superseded)
    return Sizes([Size(*row) for row in of_sweeps], unasked, waiting, sum(grave.n_bytes for grave in graves(files)))


def _register(connection: duckdb.DuckDBPyConnection, files: Files, snapshot: Snapshot) -> None:
    """Tell the connection the bytes of a row of each file, and of each weights file."""
    rows = [file for file in snapshot.rows if file.n_rows]
    shares = pa.array([file.entry.size / file.n_rows for file in rows], pa.float64())
    addresses = pa.array([files.address(file.entry) for file in rows], pa.string())
    connection.register("sizes", pa.table({"_file": addresses, "share": shares}))
    weights = files.entries(WEIGHTS)
    paths, sizes = (
        pa.array(column, kind)
        for column, kind in (([entry.path for entry in weights], pa.string()), ([entry.size for entry in weights], pa.int64()))
    )
    connection.register("weighed", pa.table({"weights_file": paths, "weighs": sizes}))
