"""Merges many pack files into few large sorted ones, while sweeps write and readers read.

A compacted file lists in its footer the files that it replaces. Its rename therefore publishes rows and list in one step.
Before the rename readers see the packs, after it the merged file, and a crash in between costs nothing. The replaced files are
deleted later, when no reader can still hold an older listing, and only if the merged file then proves whole.
"""

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from sweepkit.declarations.columns import Key
from sweepkit.store.database import CHOSEN, rows_of
from sweepkit.store.files import Entry, Files, age_s, side_by_side
from sweepkit.store.files.base import COMPACTED, WRITTEN
from sweepkit.store.schema import parquet_bytes
from sweepkit.store.snapshot import COVERS, LiveFile, Snapshot, Turns, condemn, inspect, named, take, verify

TARGET_BYTES = 128 << 20
"""Compacted files from about this size on are left alone: small enough to merge in memory, large enough to scan fast."""

GRACE_S = 600.0
"""Seconds for which merged files stay, for readers that listed them before."""

SORT_KEYS = ("task", "gamma", "sigma2", "d", "width", "L", "P", "seed", "cell_id")


@dataclass
class Compaction:
    """The outcome of a compaction: how many files were merged, the new files, the deleted, those still to delete, and bad
    ones."""

    merged: int = 0
    written: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    bad: dict[str, str] = field(default_factory=dict)


def compact(files: Files, now: bool = False, target_bytes: int = TARGET_BYTES) -> Compaction:
    """Merge small files, then delete files that were merged long enough ago (`now`: all merged). A second call has nothing to
    merge. ResultsError if the directory cannot be written, or a merged file not be deleted: then what was merged stands."""
    done, turns = Compaction(), Turns(files)
    while batch := next(_to_merge(take(files), target_bytes), None):
        if not done.written:
            files.prepare(folders=WRITTEN)
        try:
            merge(files, batch, done)
        except FileNotFoundError as error:  # another compaction was faster
            turns.wait(error)
    snapshot = take(files)
    delete_merged(files, snapshot, 0.0 if now else GRACE_S, done)
    done.bad |= {entry.path: problem for entry, problem in snapshot.bad.items()}
    return done


def _to_merge(snapshot: Snapshot, target_bytes: int) -> Iterator[list[LiveFile]]:
    """Batches that are worth merging. No compacted file is rewritten alone."""
    small = (file for file in snapshot.rows if file.entry.size < target_bytes or not _is_compacted(file))
    for batch in batches(small, target_bytes):
        if len(batch) > 1 or not _is_compacted(batch[0]):
            yield batch


def batches(live: Iterable[LiveFile], target_bytes: int = TARGET_BYTES) -> Iterator[list[LiveFile]]:
    """Batches of files with equal columns and defaults, each about the target in size."""
    groups: dict[object, list[LiveFile]] = {}
    for file in live:
        groups.setdefault((file.columns, _defaults(file)), []).append(file)
    for group in groups.values():
        batch: list[LiveFile] = []
        n_bytes = 0
        for file in sorted(group, key=lambda file: (not _is_compacted(file), file.entry.path)):
            if batch and n_bytes + file.entry.size > target_bytes:
                yield batch
                batch, n_bytes = [], 0
            batch.append(file)
            n_bytes += file.entry.size
        yield batch


def _defaults(file: LiveFile) -> frozenset[object]:
    """The defaults that the file declares. Files that differ in them are not merged: if two networks gave a key different
    defaults, the merged file would keep only one of these."""
    keys = (column for column in file.further if isinstance(column, Key) and column.default is not None)
    return frozenset((key.name, key.part, key.default, key.of) for key in keys)


def _is_compacted(file: LiveFile) -> bool:
    return file.entry.path.startswith(f"{COMPACTED}/")


def merge(files: Files, batch: list[LiveFile], done: Compaction, without: pa.Array | None = None) -> None:
    """Merge the files of a batch that are whole, leaving out the rows of the cells `without`. FileNotFoundError if a file is
    gone."""
    good, table = laid_end_to_end(files, batch)
    if not good:
        return
    covers = dict.fromkeys(path for file in good for path in (file.entry.path, *inspect(files, file.entry).covers))
    path = write_compacted(files, table.take(_chosen(files, good, without)), covers)
    done.merged += len(good)
    done.written = [name for name in done.written if name not in covers] + [path]


def laid_end_to_end(files: Files, batch: list[LiveFile]) -> tuple[list[LiveFile], pa.Table]:
    """The files of a batch that are whole, and all their rows in one table. FileNotFoundError if a file is gone."""

    def read(entry: Entry) -> pa.Table | None:
        # Checksums are verified here: damage must not be copied into a file whose own checksums are right.
        if problem := verify(files, entry):
            condemn(files, entry, problem)
            return None
        with files.open(entry) as source:
            parquet = pq.ParquetFile(source, page_checksum_verification=True)  # pq.read_table would import pandas
            return parquet.read().replace_schema_metadata(None)

    read_tables = side_by_side(files, read, [file.entry for file in batch])
    whole = [(file, table) for file, table in zip(batch, read_tables, strict=True) if table is not None]
    if not whole:
        return [], pa.table({})
    good, tables = [file for file, _ in whole], [table for _, table in whole]
    merged = pa.concat_tables(tables)
    return good, pa.table(merged.columns, schema=_newest(files, good, tables))


def write_compacted(files: Files, table: pa.Table, covers: Iterable[str] = ()) -> str:
    """Write a file of rows that replaces the files `covers`. Returns its path."""
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"  # a name that was never there before
    data = parquet_bytes(table.replace_schema_metadata({COVERS: json.dumps(list(covers))}))
    path = named(COMPACTED, stamp, data)
    files.write(path, data)
    return path


def _newest(files: Files, batch: list[LiveFile], tables: list[pa.Table]) -> pa.Schema:
    """The schema of the newest of the files that hold declarations; files of older versions hold none."""
    told = [i for i, table in enumerate(tables) if table.schema.field(0).metadata]
    return tables[max(told, key=lambda i: (batch[i].declared_at, i), default=0)].schema


def _chosen(files: Files, batch: list[LiveFile], without: pa.Array | None) -> pa.Array:
    """Row numbers in the files laid end to end, sorted by SORT_KEYS: each cell's first row in each of ORDERS, as the views
    choose; none of the cells `without`."""
    with rows_of(files, Snapshot(rows=tuple(batch), plans=(), superseded={}, bad={})) as connection:
        connection.register("without", pa.table({"cell_id": pa.array([], pa.string()) if without is None else without}))
        rows = connection.execute(f"""
            SELECT _file, _row FROM internal.rows ANTI JOIN without USING (cell_id)
            QUALIFY {CHOSEN}
            ORDER BY {", ".join(SORT_KEYS)}""").fetchall()
    return numbers(files, batch, rows)


def numbers(files: Files, batch: list[LiveFile], rows: Iterable[tuple[str, int]]) -> pa.Array:
    """The numbers in the files laid end to end of those rows, told by file and row in it, that are in these files."""
    starts = accumulate((file.n_rows for file in batch), initial=0)
    start_of = {files.address(file.entry): start for file, start in zip(batch, starts, strict=False)}
    return pa.array([start_of[file] + row for file, row in rows if file in start_of], pa.int64())


def delete_merged(files: Files, snapshot: Snapshot, grace_s: float, done: Compaction) -> None:
    """Delete files that were merged at least so many seconds ago, once the file that replaces them proves whole."""
    whole: dict[Entry, bool] = {}
    merged: list[Entry] = []
    for entry, by in snapshot.superseded.items():
        if age_s(files, by) < grace_s:
            done.waiting.append(entry.path)
            continue
        if by not in whole:
            problem = verify(files, by)
            whole[by] = problem is None
            if problem:
                condemn(files, by, problem)
                done.bad[by.path] = problem
        if whole[by]:
            merged.append(entry)
    for entry, _ in zip(merged, side_by_side(files, lambda entry: files.delete(entry.path), merged), strict=True):
        done.deleted.append(entry.path)
