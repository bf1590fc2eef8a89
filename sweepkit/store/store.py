"""The store that sweeps share: it commits packs, tells which cells it holds, and remembers plans."""

import hashlib
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from sweepkit.declarations.columns import Column
from sweepkit.store import views
from sweepkit.store.files import open_files
from sweepkit.store.files.base import FAILED, LOGS, PACKS, PLANS, WRITTEN
from sweepkit.store.schema import OF_GRID, PLAN_SCHEMA, PLANNED_FIND, STATUSES, parquet_bytes, table_of
from sweepkit.store.searches import Question
from sweepkit.store.snapshot import NOT_SAID, Asked, latest_plan, named
from sweepkit.store.weights import write_pictures

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class Store:
    """One results directory. Cheap to make and to pickle: workers commit from other processes and hosts."""

    def __init__(self, results: str) -> None:
        self.files = open_files(results)
        self.given = self.results if "://" in results else results
        """The directory as the user named it, for commands to type next in the same place; a bucket has one name."""

    @property
    def results(self) -> str:
        """The root of the results: an absolute path, or a URI."""
        return self.files.root

    def prepare(self, need_bytes: int = 0) -> None:
        """Make the place ready before anything runs. ResultsError if it cannot be written or has less room than `need_bytes`."""
        self.files.prepare(need_bytes, WRITTEN)

    def commit(self, pack_id: str, rows: Sequence[dict[str, Any]], declared: Iterable[Column] = (), failed: bool = False) -> str:
        """Make a pack's rows visible, all at once and durably. A second call changes nothing. Returns the file's path.

        `declared`: the keys and metrics that the rows have beyond those of the package `declarations`.
        If the same pack comes with other content, it becomes a further file and overwrites nothing; views then choose row by row.
        ValueError for rows that the schema and these declarations cannot hold.
        """
        if not _NAME.fullmatch(pack_id):
            raise ValueError(f"pack id {pack_id!r} cannot name a file: letters, digits, '.', '_' and '-' only")
        if not rows:
            raise ValueError(f"pack {pack_id} has no rows")
        for row in rows:
            if not row.get("cell_id") or row.get("status") not in STATUSES:
                raise ValueError(f"pack {pack_id}: a row needs a cell_id and a status of {', '.join(STATUSES)}: {_brief(row)}")
        try:
            table = table_of([{"pack_id": pack_id, **row} for row in rows], declared)
        except (pa.ArrowException, TypeError) as error:
            raise ValueError(f"pack {pack_id}: {error}") from error
        data = parquet_bytes(table)
        path = named(FAILED if failed else PACKS, pack_id, data)
        self.files.write(path, data)
        return path

    def write_log(self, cell_id: str, text: str) -> str:
        """Write the traceback of a cell that failed, and return the file's path below the root. ResultsError if it cannot."""
        path = f"{LOGS}/{cell_id}.txt"
        self.files.write(path, text.encode())
        return path

    def write_weights(self, cell_id: str, pictures: Sequence[Mapping[str, Any]]) -> str:
        """Write a network's pictures before its row is committed. Returns the row's `weights_file`. ResultsError if it cannot."""
        return write_pictures(self.files, cell_id, pictures)

    def statuses(self) -> dict[str, views.Held]:
        """The status and the extras of every stored cell, by id. Extras are what a cell holds besides its summary."""
        return views.held(self.files)

    def last_finished(self, cell_ids: Sequence[str]) -> datetime | None:
        """The latest time, in UTC, at which one of these cells was finished; None if none is stored."""
        sql = "SELECT max(finished_at) FROM cells WHERE cell_id IN (SELECT unnest(?::VARCHAR[]))"
        ((last,),) = views.run(self.files, lambda connection: connection.execute(sql, [cell_ids]).fetchall())
        return last and last.replace(tzinfo=UTC)

    def write_plan(
        self,
        sweep: str,
        cell_ids: Iterable[str],
        whole: bool = False,
        asked: Mapping[str, Question] | None = None,
        grid: Asked = NOT_SAID,
    ) -> None:
        """Record which cells a sweep asks for. `whole`: this is its entire grid, and replaces what was planned before.

        Otherwise (a --limit, an override) the cells are added to the sweep's plan. `asked`: the questions of searches, by cell.
        `grid`: the text of the grid, and the command that asks for it. The last plan written is the latest, also if the clock of
        the machine that wrote an earlier one was fast.
        """
        cells = sorted(set(cell_ids))
        finds = [asked[cell].written() if cell in asked else None for cell in cells] if asked else []
        planned_at = max(time.time_ns() // 1000, latest_plan(self.files, sweep) + 1)
        columns = [[sweep] * len(cells), cells, [planned_at] * len(cells), [whole] * len(cells)]
        table = pa.table(columns, schema=PLAN_SCHEMA)
        if finds:
            table = table.append_column(PLANNED_FIND, [finds])
        table = table.replace_schema_metadata(dict(zip(OF_GRID, grid, strict=True)) if grid.grid else None)
        self.files.write(plan_path(sweep, whole, cells, finds), parquet_bytes(table))


def plan_path(sweep: str, whole: bool, cells: Sequence[str], finds: Collection[str | None]) -> str:
    """The path of a plan. A repeated request renews its file, so that planning A, then B, then A again leaves A."""
    told = [sweep, str(whole), *cells, *sorted({find for find in finds if find})]
    digest = hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]
    return f"{PLANS}/{in_path(sweep)}.{digest}.parquet"


def in_path(sweep: str) -> str:
    """The name of a sweep as part of a path."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", sweep)[:64]


def _brief(row: dict[str, Any]) -> str:
    return f"cell_id={row.get('cell_id')!r} status={row.get('status')!r}"
