"""Copies into another results directory the rows, plans and weights that it lacks.

The rows come in a few sorted files, as compaction writes them. A copy touches no file of rows that is there, so a directory under
version control grows by what is new. A second copy finds nothing to do. Only files with rows that the target lacks are read whole
and verified.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from sweepkit.store.database import CHOSEN, connect_to, rows_of
from sweepkit.store.files import Entry, Files, ResultsError
from sweepkit.store.files.base import PLANS, WRITTEN
from sweepkit.store.schema import SCHEMA
from sweepkit.store.snapshot import FileDamaged, LiveFile, Snapshot, inspect, take
from sweepkit.store.sql import literal
from sweepkit.store.upkeep.compact import SORT_KEYS, batches, laid_end_to_end, numbers, write_compacted
from sweepkit.store.views import again_while_files_change, run

_TOLD = ("cell_id", "status", "measured", "holds_curves", "holds_neurons", "weights_file", "pack_id")
_RANKED = f"{', '.join(_TOLD)}, epoch_us(finished_at) AS finished_at"
"""The columns by which the views choose among the rows of a cell."""


@dataclass
class Copied:
    """The outcome of a copy: rows, plans and weights files that were copied, the new files of rows, failed cells that were left
    behind, and files of the source that cannot be read."""

    rows: int = 0
    plans: int = 0
    weights: int = 0
    written: list[str] = field(default_factory=list)
    failed: int = 0
    bad: dict[str, str] = field(default_factory=dict)


def copy(source: Files, target: Files, sweeps: Collection[str] = ()) -> Copied:
    """Copy the rows that readers of both directories together would see and that the target lacks; the source stays as it is.

    With `sweeps`, only the plans of these sweeps and the rows of the cells that they ask for.

    Rows of failed cells stay behind, as their tracebacks do: a sweep would train them again anyway.
    """
    roots = [f"{files.root.rstrip('/')}/" for files in (source, target)]
    if roots[1].startswith(roots[0]) or roots[0].startswith(roots[1]):
        within = "itself" if roots[0] == roots[1] else f"{target.root}: one holds the other"
        raise ResultsError(f"{source.root} cannot be copied into {within}")
    return carry_over(source, target, sweeps)


def carry_over(source: Files, target: Files, sweeps: Collection[str] = (), cells: pa.Array | None = None) -> Copied:
    """Copy as `copy` does, also where one directory lies in the other. `cells`: only these cells, whatever the sweeps ask for."""
    target.prepare(folders=WRITTEN)
    done = Copied()
    again_while_files_change(
        source, lambda files, snapshot: snapshot, lambda snapshot: _copy(source, snapshot, target, done, sweeps, cells)
    )
    done.bad = {entry.path: problem for entry, problem in take(source).bad.items()}
    return done


def _copy(
    source: Files, snapshot: Snapshot, target: Files, done: Copied, sweeps: Collection[str], cells: pa.Array | None
) -> None:
    there = run(target, lambda connection: connection.execute(f"SELECT {_RANKED} FROM internal.rows").fetchall())
    asked = f"cell_id IN (SELECT cell_id FROM plans WHERE sweep IN ({', '.join(map(literal, sweeps))}))" if sweeps else "true"
    with (connect_to if sweeps else rows_of)(source, snapshot) as connection:
        if cells is not None:
            connection.register("chosen", pa.table({"cell_id": cells}))
            asked = "cell_id IN (SELECT cell_id FROM chosen)"
        lacking = _lacking(connection, there, asked)
        failed = f"SELECT count(*) FROM internal.rows WHERE status = 'failed' AND {asked}"
        ((done.failed,),) = connection.execute(failed).fetchall()
    for path in dict.fromkeys(weights for *_, weights in lacking if weights is not None):
        # Before the rows that name it, as in a sweep. One that is gone from the source is missing there too.
        if target.entry(path) is None and source.entry(path) is not None:
            target.write(path, source.read(path))
            done.weights += 1
    holding = {file for file, *_ in lacking}
    for batch in batches(file for file in snapshot.rows if source.address(file.entry) in holding):
        good, table = laid_end_to_end(source, batch)
        if len(good) < len(batch):
            raise FileDamaged("another file may hold its cells, so the choice is made again")
        wanted = numbers(source, good, ((file, row) for file, row, _ in lacking))
        done.written.append(write_compacted(target, table.take(wanted)))
        done.rows += len(wanted)
    plans = {entry.path: entry for entry in target.entries(PLANS)}
    for file in snapshot.plans:
        if (not sweeps or file.sweep in sweeps) and _is_newer(file, target, plans.get(file.entry.path)):
            target.write(file.entry.path, source.read(file.entry.path))
            done.plans += file.notes is None


def _lacking(
    connection: duckdb.DuckDBPyConnection, there: list[tuple[object, ...]], asked: str
) -> list[tuple[str, int, str | None]]:
    """File, row and weights file of each row to copy, sorted by SORT_KEYS. `there`: the target's rows in the columns _RANKED.
    `asked`: SQL that is true of the rows that may be copied.

    The views' choice is made among the rows of both directories. Of equal rows the target's comes first, by its empty _file.
    """
    kinds = [*(SCHEMA.field(name).type for name in _TOLD), pa.int64()]
    columns = zip(*there, strict=True) if there else [()] * len(kinds)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    connection.register("there", pa.table(arrays, names=[*_TOLD, "finished_at"]))
    return connection.execute(f"""
        WITH ranked AS (
            SELECT {_RANKED}, _file, _row FROM internal.rows WHERE status <> 'failed' AND {asked}
            UNION ALL BY NAME SELECT *, '' AS _file, 0 AS _row FROM there),
        wanted AS (SELECT _file, _row FROM ranked QUALIFY ({CHOSEN}) AND _file <> '')
        SELECT _file, _row, weights_file FROM internal.rows SEMI JOIN wanted USING (_file, _row)
        ORDER BY {", ".join(SORT_KEYS)}""").fetchall()


def _is_newer(plan: LiveFile, target: Files, there: Entry | None) -> bool:
    """True if a plan was asked for later, or notes were made later, than `there`, the target's file of this path, or if there is
    none."""
    if there is None:
        return True
    known = inspect(target, there)
    before = known.request.planned_at if known.request else known.notes.told_at if known.notes else None
    return before is not None and plan.told_at > before
