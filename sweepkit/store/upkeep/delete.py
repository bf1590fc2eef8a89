"""Deletes sweeps: a sweep's plans, and the networks that no other sweep asks for. They lie in a grave for 30 days.

A grave is a results directory below the store, which readers of the store do not look into. It is complete before the first row
goes, so that a kill loses nothing; the same command goes on. The rows that stay in a file are written anew, as a compaction
writes them, and the old file goes once no reader can hold it.
"""

import json
import shutil
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

import duckdb
import pyarrow as pa

from sweepkit.console.words import counted, listed
from sweepkit.store.database import rows_of
from sweepkit.store.distinct import scan
from sweepkit.store.files import Files, LocalFiles, ResultsError, open_files, side_by_side
from sweepkit.store.files.base import LOGS, WRITTEN
from sweepkit.store.leases import drivers
from sweepkit.store.snapshot import LiveFile, Snapshot, Turns, take
from sweepkit.store.sql import literal
from sweepkit.store.store import in_path
from sweepkit.store.upkeep.compact import GRACE_S, Compaction, batches, delete_merged, merge
from sweepkit.store.upkeep.copy import carry_over
from sweepkit.store.views import run

GRAVES = "deleted"
"""The folder of graves."""
GRAVE_S = 30 * 24 * 3600.0
"""Seconds for which a grave stays."""


@dataclass(frozen=True)
class Grave:
    """A deleted sweep that can be brought back. `name`: of its directory; `at`: when it was deleted, in seconds since 1970."""

    name: str
    sweep: str
    at: float
    networks: int
    n_bytes: int

    def place(self, files: Files) -> Files:
        """The grave as a results directory."""
        return open_files(f"{files.root.rstrip('/')}/{GRAVES}/{self.name}")

    @property
    def until(self) -> datetime:
        """When the grave goes."""
        return datetime.fromtimestamp(self.at + GRAVE_S, UTC)


@dataclass(frozen=True)
class Leaving:
    """The extent of a deletion: plans, and networks with their weights files. `shared`: networks that stay for other sweeps."""

    sweep: str
    plans: tuple[str, ...]
    cells: tuple[str, ...]
    weights: tuple[str, ...]
    shared: int
    with_sweeps: tuple[str, ...]
    """The sweeps that ask for the shared networks."""


@dataclass
class Deleted:
    """The outcome of a deletion."""

    grave: Grave | None = None
    waiting: list[str] = field(default_factory=list)
    """Files that stay for readers that hold them."""


def leaving(files: Files, sweep: str) -> Leaving:
    """The extent of a sweep's deletion. ResultsError if a run of it is under way, or if no sweep wrote its plans."""
    refuse_running(files, sweep)
    plans = [file for file in take(files).plans if file.sweep == sweep]
    asking = [file for file in plans if file.n_rows]
    if not asking:
        raise ResultsError(f"{files.root} holds plans of {sweep} that no sweep has written: delete them by hand")
    here = " UNION ".join(f"SELECT cell_id FROM {scan(files, [file])}" for file in asking)
    others = f"SELECT DISTINCT cell_id FROM plans WHERE sweep <> {literal(sweep)}"

    def work(connection: duckdb.DuckDBPyConnection) -> tuple[list[tuple[str, bool]], list[str], list[str]]:
        stored = connection.execute(f"""
            SELECT cell_id, cell_id IN ({others}) FROM (SELECT DISTINCT cell_id FROM internal.rows)
            SEMI JOIN ({here}) USING (cell_id) ORDER BY cell_id""").fetchall()
        weights = connection.execute(f"""
            SELECT DISTINCT weights_file FROM internal.rows SEMI JOIN ({here}) USING (cell_id)
            ANTI JOIN ({others}) USING (cell_id) WHERE weights_file IS NOT NULL ORDER BY 1""").fetchall()
        sharing = connection.execute(f"""
            SELECT DISTINCT sweep FROM plans SEMI JOIN ({here}) USING (cell_id) WHERE sweep <> {literal(sweep)} ORDER BY 1""")
        return stored, [path for (path,) in weights], [name for (name,) in sharing.fetchall()]

    stored, weights, sharing = run(files, work)
    own = tuple(cell for cell, is_shared in stored if not is_shared)
    paths = tuple(file.entry.path for file in plans)
    return Leaving(sweep, paths, own, tuple(weights), len(stored) - len(own), tuple(sharing))


def refuse_running(files: Files, sweep: str) -> None:
    """ResultsError if a live driver runs the sweep."""
    if found := [driver.description for driver in drivers(files) if driver.alive and driver.sweep == sweep]:
        raise ResultsError(f"{sweep} is running ({listed(found)}): let it end, or stop it by Ctrl-C, and try again")


def delete(files: Files, going: Leaving, for_good: bool = False) -> Deleted:
    """Delete a sweep: what `leaving` found. `for_good`: without a grave, and files go at once, so that running queries may have
    to start again. What another sweep asks for by now stays. ResultsError if the directory cannot be written, where the same call
    goes on later, or if the sweep runs or was asked for anew since `leaving`: then nothing is deleted."""
    done = Deleted()
    # A grave that was not filled is that of a call that died: nothing had left the store then.
    forget(files, [grave for grave in _listed(files) if grave.sweep == going.sweep and not grave.n_bytes])
    if not for_good:
        done.grave = _buried(files, going, pa.array(going.cells, pa.string()))
    try:  # a question may have been open for hours, and to fill a grave takes a while
        now = leaving(files, going.sweep)
        if now.plans != going.plans:
            raise ResultsError(f"{going.sweep} was asked for anew meanwhile: nothing was deleted; try again")
    except ResultsError:
        forget(files, [done.grave] if done.grave else [])
        raise
    cells = [cell for cell in now.cells if cell in {*going.cells}]
    merged = Compaction()
    if cells:
        _drop(files, pa.array(cells, pa.string()), merged)
    weights = [path for path in now.weights if path in going.weights]
    gone = [*going.plans, *weights, *(f"{LOGS}/{cell}.txt" for cell in cells)]
    list(side_by_side(files, lambda entry: files.delete(entry.path), [e for path in gone if (e := files.entry(path))]))
    delete_merged(files, take(files), 0.0 if for_good else GRACE_S, merged)
    done.waiting = merged.waiting
    return done


def _buried(files: Files, going: Leaving, cells: pa.Array) -> Grave:
    """A grave with what leaves. It is listed before it is filled: if this process dies, what it holds is in the store, too."""
    at = time.time()
    slug = f"{datetime.fromtimestamp(at, UTC):%Y%m%dT%H%M%S}-{in_path(going.sweep)}"
    grave = Grave(slug, going.sweep, at, len(going.cells), 0)
    _list(files, grave)
    place = grave.place(files)
    carry_over(files, place, [going.sweep], cells)
    n_bytes = sum(entry.size for folder in WRITTEN for entry in place.entries(folder))
    grave = Grave(slug, going.sweep, at, len(going.cells), n_bytes)
    _list(files, grave)
    return grave


def _list(files: Files, grave: Grave) -> None:
    files.write(f"{GRAVES}/{grave.name}.json", json.dumps(asdict(grave)).encode())


def _drop(files: Files, cells: pa.Array, merged: Compaction) -> None:
    """Write the files that hold rows of these cells without them, until no live file does: a compaction may run beside this."""
    turns = Turns(files)
    while holding := _holding(files, take(files), cells):
        for batch in batches(holding):
            try:
                merge(files, batch, merged, without=cells)
            except FileNotFoundError as error:
                turns.wait(error)


def _holding(files: Files, snapshot: Snapshot, cells: pa.Array) -> list[LiveFile]:
    with rows_of(files, snapshot) as connection:
        connection.register("leaving", pa.table({"cell_id": cells}))
        found = connection.execute("SELECT DISTINCT _file FROM internal.rows SEMI JOIN leaving USING (cell_id)").fetchall()
    paths = {path for (path,) in found}
    return [file for file in snapshot.rows if files.address(file.entry) in paths]


def graves(files: Files) -> list[Grave]:
    """The graves that hold all that was to go into them, oldest first."""
    return [grave for grave in _listed(files) if grave.n_bytes]


def _listed(files: Files) -> list[Grave]:
    """All graves. Files that are no list entry of one are left out."""
    found = []
    for entry in files.entries(GRAVES):
        try:
            told = json.loads(files.read(entry.path))
            name = entry.path.removeprefix(f"{GRAVES}/").removesuffix(".json")  # never a path that the file itself names
            found.append(Grave(name, str(told["sweep"]), float(told["at"]), int(told["networks"]), int(told["n_bytes"])))
        except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
            continue  # gone meanwhile, or somebody else's
    return sorted(found, key=lambda grave: grave.at)


def undelete(files: Files, sweep: str) -> tuple[int, list[Grave]]:
    """Bring back a deleted sweep: the number of networks that came back, and the graves that held them. ResultsError if there is
    no grave of this name, or if another sweep has it now."""
    every = graves(files)
    found = [grave for grave in every if grave.sweep == sweep]
    if not found:
        there = listed(dict.fromkeys(grave.sweep for grave in every))
        days = counted(round(GRAVE_S / 86400), "day")
        raise ResultsError(f"no sweep {sweep} was deleted from {files.root} within {days}; there are: {there}")
    times = [{file.told_at for file in take(place).plans if file.request and file.sweep == sweep}
             for place in (files, *(grave.place(files) for grave in found))]  # fmt: skip
    if times[0].difference(*times[1:]):  # a deletion that was interrupted may have left plans that are in the grave, too
        raise ResultsError(f"there is a sweep {sweep} now, asked for since: give that another name, and try again")
    n = 0
    for grave in found:
        n += carry_over(grave.place(files), files).rows
        forget(files, [grave])
    return n, found


def forget(files: Files, old: Iterable[Grave]) -> None:
    """Remove these graves for good."""
    for grave in old:
        place = grave.place(files)
        for folder in WRITTEN:
            for entry in place.entries(folder, hidden=True):
                place.delete(entry.path)
        if isinstance(place, LocalFiles):
            shutil.rmtree(place.root, ignore_errors=True)  # empty folders at most
        files.delete(f"{GRAVES}/{grave.name}.json")


def forget_expired(files: Files) -> list[Grave]:
    """Remove the graves that are older than GRAVE_S, and return them."""
    old = [grave for grave in _listed(files) if files.now() - grave.at > GRAVE_S]
    forget(files, old)
    return old
