"""The oracle of the campaign: the rules that hold when a disturbed sweep has been run again to its end. Knows files, not sweeps.

It reads the Parquet files itself where it can, so that a fault of the views does not hide another.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sweepkit.declarations.columns import FACTS
from sweepkit.store.schema import CURVES, NEURONS
from sweepkit.store.views import connect

KINDS = ("lost", "duplicated", "differing", "again", "leftover", "alive", "unreadable")
"""Columns of the table, all of which must be zero. `again`: trained by a resumed sweep though it was in the store; `alive`:
processes that outlive their sweep, and sweeps that do not end; `unreadable`: tracebacks, wrong exit codes, failures without a
reason."""

ORIGIN = (*FACTS.keys() - {"status", "science_version"}, "seconds")
"""Columns that say where a row comes from: they may differ. All others, keys and measures, must not."""
TOLERANCE = {"gram": 0.0, "reference": 0.0, "batched": 1e-9, "stacked": 1e-9, "resident": 0.0}
"""`gram` and `resident` compute each cell by itself, so packs make no difference to a single bit. `batched` and `stacked`
multiply matrices of all cells of a pack at once and may sum in another order: the campaign's cells are float64, of which 1000
steps keep more than 9 digits."""


class Violation(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True)
class Content:
    """The contents of a results directory, as the views show them."""

    cells: dict[str, dict[str, Any]]
    arrays: dict[str, dict[str, list[Any]]]
    """The curve and the neurons of each cell."""
    rows: Counter[str]
    planned: frozenset[str]


def content(results: Path) -> Content:
    with connect(str(results)) as connection:
        table = connection.sql("SELECT * FROM cells").to_arrow_table().to_pylist()
        planned = connection.execute("SELECT cell_id FROM plans").fetchall()
        arrays: dict[str, dict[str, list[Any]]] = {row["cell_id"]: {} for row in table}
        for view, order in (("curves", "step"), ("neurons", "neuron")):
            for cell_id, *values in connection.execute(f"SELECT * FROM {view} ORDER BY cell_id, {order}").fetchall():
                arrays[cell_id].setdefault(view, []).append(values)
    by_id = {row["cell_id"]: row for row in table}
    return Content(by_id, arrays, Counter(row["cell_id"] for row in table), frozenset(cell for (cell,) in planned))


def compare(found: Content, wanted: Content) -> list[Violation]:
    """Each cell once, as in the undisturbed run, and planned."""
    wrong = [Violation("lost", f"cell {c} is not in `cells`") for c in wanted.cells.keys() - found.cells.keys()]
    wrong += [Violation("lost", f"cell {c} is not in `plans`") for c in wanted.planned - found.planned]
    wrong += [Violation("duplicated", f"cell {c} has {n} rows in `cells`") for c, n in found.rows.items() if n > 1]
    wrong += [Violation("duplicated", f"cell {c} is none of the grid") for c in found.cells.keys() - wanted.cells.keys()]
    for cell_id in wanted.cells.keys() & found.cells.keys():
        ours, theirs = found.cells[cell_id], wanted.cells[cell_id]
        tolerance = TOLERANCE[theirs["engine"]]
        columns = [name for name in ours.keys() | theirs.keys() if name not in ORIGIN]
        names = [name for name in columns if not _equal(ours.get(name), theirs.get(name), tolerance)]
        views = found.arrays[cell_id].keys() | wanted.arrays[cell_id].keys()
        names += [v for v in views if not _equal(found.arrays[cell_id].get(v), wanted.arrays[cell_id].get(v), tolerance)]
        if names:
            wrong.append(Violation("differing", f"cell {cell_id} ({theirs['engine']}, now {ours['engine']}): {', '.join(names)}"))
    return wrong


def _equal(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_equal(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance
    return a == b


def committed(results: Path) -> dict[str, bytes]:
    """The files of rows, by their path below the results: what nothing may take away again."""
    found = {}
    for folder in ("packs", "failed", "compacted"):
        for path in sorted(results.glob(f"{folder}/[!.]*.parquet")):
            found[f"{folder}/{path.name}"] = path.read_bytes()
    return found


def vanished(before: dict[str, bytes], now: dict[str, bytes], destroyed: set[str]) -> list[Violation]:
    """Committed files that are gone or changed, other than those that the fault itself destroyed."""
    gone = [path for path, data in before.items() if now.get(path) != data and path not in destroyed]
    return [Violation("lost", f"{path} was committed, and is {'changed' if path in now else 'gone'}") for path in gone]


def cells_in(data: bytes) -> dict[str, str]:
    """Cells of a file of rows and their status; none where it cannot be read or belies its checksums."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        table = file.read(columns=["cell_id", "status", *CURVES, *NEURONS])
    except (pa.ArrowException, OSError, ValueError, KeyError):
        return {}
    return dict(zip(table["cell_id"].to_pylist(), table["status"].to_pylist(), strict=True))


def trained_again(before: dict[str, bytes], now: dict[str, bytes]) -> list[Violation]:
    """Cells in the files that came since `before` which were ok there already."""
    held = {cell for data in before.values() for cell, status in cells_in(data).items() if status == "ok"}
    new = {path: cells_in(data) for path, data in now.items() if path not in before}
    return [
        Violation("again", f"cell {c} was in the store, and {path} has it again") for path in new for c in held & new[path].keys()
    ]


def leftovers(results: Path, temporary: Path) -> list[Violation]:
    """Files that are neither results nor logs. Call it when `check --clean` has had its way with temporaries of the past."""
    ours = re.compile(r"((packs|failed|compacted|plans)/[A-Za-z0-9][^/]*\.parquet|logs/[0-9a-f]+\.txt)")
    files = [str(path.relative_to(results)) for path in results.rglob("*") if not path.is_dir()]
    left = [f"{results.name}/{name}" for name in files if not ours.fullmatch(name)]
    left += [path.name for path in temporary.iterdir() if path.name != "ray"]  # Ray keeps the logs of every session
    return [Violation("leftover", name) for name in sorted(left)]


_RAY_LOG = r"^.*\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ [IWECF] .*|^.*\[state-dump\].*|^\(raylet\).*|^\*\*\* SIG\w+ received.*"
_WARNING = r"^.*(?:\tWARNING |\tERROR |FutureWarning|DeprecationWarning|Exception ignored in).*"
_NOT_FOR_USERS = {
    "a traceback": re.compile(r"^\s*Traceback \(most recent call last\)(?:.*\n)*?\S*(?:Error|Exception|Interrupt).*", re.M),
    "Ray's own log": re.compile(_RAY_LOG, re.M),
    "a warning for developers": re.compile(_WARNING, re.M),
}


def words(said: str, code: int, allowed: set[int]) -> list[Violation]:
    """Text that a person must not be shown, and exit codes that are not documented."""
    wrong = [] if code in allowed else [Violation("unreadable", f"exit code {code}, not one of {sorted(allowed)}")]
    for what, pattern in _NOT_FOR_USERS.items():
        if hit := pattern.search(said):
            wrong.append(Violation("unreadable", f"{what} is shown: {hit[0].strip()[-160:]}"))
    return wrong


def explained(said: str) -> bool:
    """Whether a sweep that ended with 1 says why: cells that are missing or failed in its summary, or what stopped it."""
    reasons = r"cells: .*\b(missing|failed)\b|the sweep could not go on: |the sweep ended unexpectedly|Ray does not start here"
    return bool(re.search(reasons, said))


def unexplained(results: Path, *names: str) -> list[Violation]:
    """Failed cells whose reason cannot be read, or whose log is not there; `names` are what commands call the results."""

    def is_there(log: str) -> bool:
        inside = [log.removeprefix(f"{name}/") for name in (str(results), *names) if name and log.startswith(f"{name}/")]
        return any((results / path).is_file() for path in inside)

    with connect(str(results)) as connection:
        rows = connection.execute("SELECT cell_id, reason, log_path FROM cells WHERE status = 'failed'").fetchall()
    bad = [c for c, reason, log in rows if not (reason or "").strip() or "\n" in reason or not log or not is_there(log)]
    return [Violation("unreadable", f"cell {c} failed without a reason or log") for c in bad]
