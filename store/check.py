"""Looking at every file of a results directory, down to the checksum of each page."""

from collections.abc import Callable
from dataclasses import dataclass, field

from store.files import Files, age_s
from store.leases import drivers
from store.snapshot import FOLDERS, LEASES, inspect, verify
from store.views import run
from store.weights import WEIGHTS, check_pictures

STALE_S = 3600.0
"""A temporary that old belongs to nobody: a commit takes milliseconds."""


@dataclass
class Report:
    """`bad`: path to what is wrong with it; readers leave these out. `stale`: leftovers, harmless."""

    n_files: int = 0
    n_bytes: int = 0
    bad: dict[str, str] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def check(files: Files, clean: bool = False, seen: Callable[[int, int], None] = lambda done, total: None) -> Report:
    """Verify all files, and with `clean` remove leftovers of dead processes; `seen` hears of the progress."""
    report = Report()
    entries = [entry for folder in FOLDERS for entry in files.entries(folder)]
    for i, entry in enumerate(entries):
        seen(i, len(entries))
        try:
            problem = inspect(files, entry).problem or verify(files, entry)
        except FileNotFoundError:
            continue  # a compaction deleted it meanwhile
        report.n_files += 1
        report.n_bytes += entry.size
        if problem:
            report.bad[entry.path] = problem

    _check_weights(files, report)
    known = drivers(files)
    leases = {driver.path for driver in known}
    report.bad |= {entry.path: "not a lease" for entry in files.entries(LEASES) if entry.path not in leases}
    report.stale += [driver.path for driver in known if not driver.alive]
    for folder in ("", *FOLDERS, WEIGHTS, LEASES):
        for entry in files.entries(folder, hidden=True):
            if entry.path.endswith(".inprogress") and age_s(entry) > STALE_S:
                report.stale.append(entry.path)
    if clean:
        for path in report.stale:
            files.delete(path)
            report.removed.append(path)
    return report


def _check_weights(files: Files, report: Report) -> None:
    """Files beside the packs: each whole, none missing; those that no row names are leftovers, unless their pack is to follow."""
    before = {entry.path for entry in files.entries(WEIGHTS)}  # their rows, if there are any, are there to be read now
    queries = ("SELECT weights_file FROM internal.weights", "SELECT weights_file FROM internal.rows")
    shown, named = run(files, lambda c: [{path for (path,) in c.execute(sql).fetchall()} for sql in queries])
    entries = files.entries(WEIGHTS)
    bad = check_pictures(files, entries, shown)
    orphans = [entry for entry in entries if entry.path in before - named - bad.keys()]
    report.bad |= bad
    report.n_files += len(entries)
    report.n_bytes += sum(entry.size for entry in entries)
    report.stale += [entry.path for entry in orphans if age_s(entry) > STALE_S]
