"""`python -m benchmarks.views`: seconds and memory of the app's queries over synthetic stores of 100,000 and 1,000,000 cells.

The table shows wall time and the processor time of all cores together, which other work on the machine disturbs less.
"""

import hashlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psutil
import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from analysis.data.progress.coverage import progress
from sweepkit.declarations.keys import KEYS
from sweepkit.store.files import open_files
from sweepkit.store.files.base import COMPACTED, PACKS
from sweepkit.store.schema import SCHEMA, parquet_bytes
from sweepkit.store.snapshot import named
from sweepkit.store.store import Store
from sweepkit.store.upkeep.compact import SORT_KEYS, TARGET_BYTES, compact
from sweepkit.store.views import connect, fetch, run
from trainables.limits import cores

LS, DS = np.arange(2, 15), 2 ** np.arange(5, 12)
GAMMAS = np.array([*np.logspace(0, -4.5, 10), 0.0])  # the last one stands for lazy
LABELS = np.array([*(f"{gamma:.3g}" for gamma in GAMMAS[:-1]), "lazy"])
N_GROUPS = len(LS) * len(DS) * len(GAMMAS)
PACK, CURVE, HELD_BACK = 50, 25, 0.02
"""Cells per pack, entries per curve, and the share of cells that are planned but not there."""
REPEATS = 3

SETTINGS = "task, L, d, width, gamma, gamma_label, sigma2, prefactor, steps, batch, eval_every, test_size, base_lr, dtype"
CURVES_QUERY = f"""
SELECT {SETTINGS}, count(*), avg(best_test_acc), median(best_test_acc), stddev_samp(best_test_acc)
FROM cells JOIN plans USING (cell_id) WHERE sweep = ? AND status = 'ok' {{}} GROUP BY ALL"""
ONE_CURVE = "SELECT * FROM curves WHERE cell_id = ? ORDER BY step"
MEAN_CURVES = """
SELECT step, avg(test_acc) FROM curves WHERE cell_id IN
(SELECT cell_id FROM cells WHERE d = 128 AND gamma_label = '1' AND L < 12 ORDER BY seed, L LIMIT 100) GROUP BY ALL ORDER BY ALL"""
DISTINCT = "SELECT " + ", ".join(f"list(DISTINCT {key})" for key in KEYS if key not in ("seed", "P")) + " FROM cells"


def table_of_cells(first: int, n: int, curves: bool, pack: str) -> pa.Table:
    """Rows as a sweep would leave them, seed after seed: cells number `first` to `first + n - 1`."""
    number = np.arange(first, first + n)
    group, seed = number % N_GROUPS, number // N_GROUPS
    gamma, d, width = group % len(GAMMAS), DS[group // len(GAMMAS) % len(DS)], 1024
    rng = np.random.default_rng(first)
    status = np.where(rng.random(n) < 0.01, "diverged", "ok")
    columns: dict[str, Any] = {
        "cell_id": [hashlib.sha256(b"%d" % i).hexdigest()[:20] for i in number],
        "task": ["same_different"] * n, "L": LS[group // len(GAMMAS) // len(DS)], "d": d, "width": np.full(n, width),
        "gamma": np.where(gamma < 10, GAMMAS[gamma], 1e-5 / np.sqrt(d)), "gamma_label": LABELS[gamma],
        "sigma2": np.where(d == DS[0], 1.0, 0.0), "prefactor": ["sqrt_d"] * n, "seed": seed, "steps": np.full(n, 25000),
        "batch": np.full(n, 128),
        "eval_every": np.full(n, 1000), "test_size": np.full(n, 1024), "base_lr": np.full(n, 0.1), "dtype": ["float32"] * n,
        "status": status, "reason": [None if one == "ok" else "loss is nan at step 3000" for one in status],
        **{name: rng.random(n) for name in SCHEMA.names if name.startswith(("best", "final", "readout_", "align", "activ"))},
        "engine": ["gram"] * n, "device": ["cpu"] * n, "seconds": rng.random(n), "pack_id": [pack] * n,
        "finished_at": [datetime(2026, 1, 1, tzinfo=UTC)] * n, "git_sha": ["0" * 40] * n, "science_version": ["1"] * n,
        "host": ["here"] * n, "holds_curves": np.full(n, curves), "holds_neurons": np.zeros(n, bool),
    }  # fmt: skip
    if curves:
        starts = pa.array(np.arange(0, (n + 1) * CURVE, CURVE), pa.int32())
        columns["curve_step"] = pa.ListArray.from_arrays(starts, pa.array(np.tile(1000 * np.arange(1, CURVE + 1), n)))
        for name in ("train_loss", "train_acc", "test_acc"):
            columns[f"curve_{name}"] = pa.ListArray.from_arrays(starts, pa.array(rng.random(n * CURVE)))
    arrays = [pa.array(columns.get(field.name, [None] * n), field.type, from_pandas=False) for field in SCHEMA]
    return pa.table(arrays, schema=SCHEMA)


def fill(results: str, n_cells: int, packs: bool, curves: bool, n_plans: int) -> None:
    """Make a store of so many cells: in packs, or sorted in files of the size that compaction leaves."""
    store = Store(results)
    ids: list[str] = []
    large = 100_000 if curves else 250_000
    for first in range(0, n_cells, PACK if packs else large):
        n = min(PACK if packs else large, n_cells - first)
        table = table_of_cells(first, n, curves, f"pack{first // PACK:06d}")
        ids += table["cell_id"].to_pylist()
        data = parquet_bytes(table if packs else table.sort_by([(key, "ascending") for key in SORT_KEYS]))
        assert len(data) < 2 * TARGET_BYTES
        _write(store, named(PACKS if packs else COMPACTED, f"pack{first:07d}", data), data)
    planned = ids + [f"{i:020x}" for i in range(int(HELD_BACK * n_cells))]
    for i in range(n_plans):
        store.write_plan(f"plan{i}", planned[i::n_plans], whole=True)


def plan(results: str, n_plans: int) -> None:
    """Divide the stored cells among so many sweeps."""
    ids = [cell for (cell,) in fetch(results, "SELECT cell_id FROM cells")]
    for i in range(n_plans):
        Store(results).write_plan(f"plan{i}", ids[i::n_plans], whole=True)


def _write(store: Store, path: str, data: bytes) -> None:
    final = Path(store.results, path)  # without the syncs of a commit, which are not measured here
    final.parent.mkdir(parents=True, exist_ok=True)
    final.write_bytes(data)


A_CELL = hashlib.sha256(b"777").hexdigest()[:20]


def questions(results: str, sweep: str, cell: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """The questions that are timed, by name. Each is timed from the listing of the files to the last row."""

    def asked(sql: str, *values: object) -> Callable[[], object]:
        return lambda: run(results, lambda connection: connection.execute(sql, list(values)).fetchall())

    yield "connect again", lambda: connect(results).close()
    yield "ask again", asked("SELECT 1")
    yield "Curves", asked(CURVES_QUERY.format(""), sweep)
    yield "Curves, d = 256", asked(CURVES_QUERY.format("AND d = ?"), sweep, 256)
    yield "progress", lambda: progress(results)
    yield "one curve", asked(ONE_CURVE, cell)
    yield "100 curves", asked(MEAN_CURVES)
    yield "distinct keys", asked(DISTINCT)


def measure(results: str, sweep: str = "plan0", cell: str = A_CELL) -> dict[str, float]:
    """Seconds of every question, and the memory of this process. The first look at the directory comes first."""
    started = time.perf_counter()
    before = psutil.Process().memory_info().rss
    connect(results).close()
    found = {"first connect": time.perf_counter() - started}
    for name, question in questions(results, sweep, cell):
        times, busy = [], []
        for _ in range(REPEATS):
            started, worked = time.perf_counter(), time.process_time()
            question()
            times.append(time.perf_counter() - started)
            busy.append(time.process_time() - worked)
        found[name] = statistics.median(times)
        found[f"{name}, of CPU"] = statistics.median(busy)
    return found | {"peak MB": _peak_mb(), "of which imports": before / 2**20}


def _peak_mb() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def alone(work: Callable[..., Any], *values: object) -> Any:
    """The result of the work, done in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *values).result()


def _compact(results: str) -> None:
    compact(open_files(results), now=True)


def main(n_small: int = 100 * N_GROUPS, n_large: int = 1000 * N_GROUPS) -> None:
    """Print the table."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        small, large, several = (os.path.join(folder, name) for name in ("small", "large", "several"))
        alone(fill, small, n_small, True, True, 1)
        found[f"{n_small:,} in packs"] = alone(measure, small)
        alone(_compact, small)
        found[f"{n_small:,} compacted"] = alone(measure, small)
        alone(fill, large, n_large, False, False, 1)
        found[f"{n_large:,} compacted, no curves"] = alone(measure, large)
        os.makedirs(several)
        os.rename(os.path.join(large, COMPACTED), os.path.join(several, COMPACTED))
        alone(plan, several, 8)
        found[f"{n_large:,}, 8 plans"] = alone(measure, several)
    title = f"seconds, median of {REPEATS}; load {os.getloadavg()[0]:.1f} on {cores()} cores; DuckDB {duckdb.__version__}"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("")
    for name in found:
        table.add_column(name, justify="right")
    for question in next(iter(found.values())):
        digits = 0 if "MB" in question or "imports" in question else 3
        table.add_row(question, *(f"{times[question]:.{digits}f}" for times in found.values()))
    Console(width=140).print(table)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
