"""`sweep store import`: old runs of other programs as networks of a store, with an origin of their own."""

import csv
import pickle
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from analysis import Results
from analysis.data.selection import Selection, trained_here
from orchestrator.grid.load import load_grid
from orchestrator.store import app
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.views import fetch
from tests.store_rows import row

MAP = """\
sweep: old
keys:
  task: {value: same_different}
  L: n_symbols
  gamma: richness
  optim: optim
metrics:
  final_test_acc: {column: acc, scale: 0.01}
  gap: {column: gap, title: generalisation gap, low: 0}
ignore: ["note*"]
"""


ROOT = Path(__file__).parents[2]


@pytest.fixture
def results(tmp_path: Path) -> str:
    return str(tmp_path / "results")


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def runs(n: int = 3) -> list[dict[str, Any]]:
    return [
        {
            "seed": seed,
            "n_symbols": L,
            "d": 64,
            "richness": gamma,
            "acc": 50 + L + seed,
            "gap": 0.25,
            "optim": "SGD",
            "note_1": "x",
        }
        for seed in range(n)
        for L in (3, 5)
        for gamma in ("1", "lazy")
    ]


def call(results: str, *words: str | Path) -> Result:
    return CliRunner().invoke(app, ["import", *map(str, words), "--results", results])


@pytest.fixture
def mapped(tmp_path: Path) -> Path:
    (path := tmp_path / "map.yaml").write_text(MAP)
    return path


def test_runs_become_networks_of_a_sweep(tmp_path: Path, results: str, mapped: Path) -> None:
    found = call(results, table(tmp_path / "runs.csv", runs()), "--map", mapped)
    assert (found.exit_code, found.stdout) == (0, "imported 12 networks as old, 0 were there\n"), found.stderr
    columns = "task, L, d, gamma_label, gamma, seed, round(final_test_acc, 6), gap, optim, engine, status"
    assert fetch(results, f"SELECT {columns} FROM cells ORDER BY ALL LIMIT 2") == [
        ("same_different", 3, 64, "1", 1.0, 0, 0.53, 0.25, "SGD", "imported", "ok"),
        ("same_different", 3, 64, "1", 1.0, 1, 0.54, 0.25, "SGD", "imported", "ok"),
    ]
    assert fetch(results, "SELECT DISTINCT gamma FROM cells WHERE gamma_label = 'lazy'") == [(1e-5 / 8,)]
    assert fetch(results, "SELECT networks, contains(grid, 'n_symbols') FROM sweeps") == [(12, True)]
    assert check(Store(results).files).bad == {}
    points = Results(results).points(x="L", by="gamma", y="gap", sweep="old")
    assert points["n"].to_list() == [3, 3, 3, 3] and set(points["mean"]) == {0.25}


def test_again_adds_only_what_is_new(tmp_path: Path, results: str, mapped: Path) -> None:
    call(results, table(tmp_path / "runs.csv", runs(2)), "--map", mapped)
    found = call(results, table(tmp_path / "more.csv", runs(3)), "--map", mapped)
    assert found.stdout == "imported 4 networks as old, 8 were there\n"
    twice = [*runs(1), *runs(1)]  # equal parameters and seeds are two runs
    assert (
        call(results, table(tmp_path / "twice.csv", twice), "--map", mapped).stdout
        == "imported 4 networks as old, 4 were there\n"
    )


def test_no_sweep_takes_one_for_trained_and_no_verdict_rests_on_one(tmp_path: Path, results: str) -> None:
    """They have all the parameters of a grid's networks."""
    block = "{task: same_different, L: 3, d: 8, width: 16, gamma: 1, steps: 20, eval_every: 10, seed: {range: 2}}"
    (path := tmp_path / "grid.yaml").write_text(f"sweep: mine\ngrids: [{block}]\n")
    cells = [one.cell for one in load_grid(path).cells]
    called = [{**cell.columns(), "gamma": 1, "final_test_acc": 0.9} for cell in cells]
    found = call(results, table(tmp_path / "runs.csv", called), "--name", "theirs")
    assert found.exit_code == 0, found.stderr
    store = Store(results)
    assert not {one.cell_id for one in load_grid(path).cells} & store.statuses().keys()
    selection = Selection.of(task="same_different", L=3)
    count = f"SELECT count(*) FROM {selection.source} WHERE {{}}"
    assert fetch(results, count.format(selection.condition)) == [(2,)]
    with trained_here():
        assert fetch(results, count.format(selection.condition)) == [(0,)]
        store.commit("a", [row(1, L=3)])
        assert fetch(results, count.format(selection.condition)) == [(1,)]
    store.write_plan("ours", [f"{1:020x}"], whole=True)
    found = call(results, tmp_path / "runs.csv", "--name", "ours")
    assert found.exit_code == 2 and "'ours' is the name of a sweep that was trained here" in found.stderr


def test_rows_of_a_run_are_its_curve(tmp_path: Path, results: str) -> None:
    accuracy = {0: 0.5, 10: 0.6, 20: 0.68}
    steps = [{"id": f"r{i}", "seed": i, "L": 4, "step": step, "test_acc": accuracy[step], "loss_": 1 / (1 + step)}
             for step in (20, 0, 10) for i in range(2)]  # fmt: skip
    (path := tmp_path / "map.yaml").write_text("run: id\nkeys: {task: {value: step}}\ncurves: {train_loss: loss_}\n")
    assert call(results, table(tmp_path / "steps.csv", steps), "--map", path).stdout.startswith("imported 2 networks as steps")
    curve = "SELECT step, round(test_acc, 2) FROM curves JOIN cells USING (cell_id) WHERE seed = 1 ORDER BY step"
    assert fetch(results, curve) == [*accuracy.items()]
    measured = fetch(results, "SELECT round(final_test_acc, 2), round(best_test_acc, 2) FROM cells")
    assert measured == [(0.68, 0.68)] * 2


def test_lists_and_columns_of_parquet(tmp_path: Path, results: str) -> None:
    source = "SELECT 1 AS seed, 3 AS L, [0, 10] AS step, [0.5, 0.75] AS test_acc"
    duckdb.sql(f"COPY ({source}) TO '{tmp_path}/runs.parquet'")
    assert call(results, tmp_path / "runs.parquet").exit_code == 0
    assert fetch(results, "SELECT step, test_acc FROM curves") == [(0, 0.5), (10, 0.75)]


@pytest.mark.parametrize("records", [
    [{"seed": np.int64(i), "L": 3, "final_test_acc": np.float32(0.5)} for i in range(3)],
    {"seed": np.arange(3), "L": [3, 3, 3], "final_test_acc": np.full(3, 0.5)},
])  # fmt: skip
def test_pickles_of_plain_records(tmp_path: Path, results: str, records: Any) -> None:
    (path := tmp_path / "runs.pkl").write_bytes(pickle.dumps(records))
    assert call(results, path).stdout == "imported 3 networks as runs, 0 were there\n"


def test_the_map_on_the_page_is_one(tmp_path: Path, results: str) -> None:
    [block] = re.findall(r"```yaml\n(keys:.*?)```", (ROOT / "docs/howto/sharing.md").read_text(), re.DOTALL)
    (path := tmp_path / "map.yaml").write_text(block)
    rows = [{"run_id": "a", "n_symbols": 3, "dim": 9, "state": "finished", "richness": "kernel", "optim": "SGD",
             "acc": 90, "gap": 0.1, "epoch": epoch,
             "val_acc": 0.8, "comment": "x", "sys_gpu": 1} for epoch in range(2)]  # fmt: skip
    assert call(results, table(tmp_path / "runs.csv", rows), "--map", path).stdout.startswith("imported 1 network as old")
    found = fetch(results, "SELECT task, gamma_label, optimiser, round(final_test_acc, 6), best_test_acc, gap FROM cells")
    assert found == [("same_different", "lazy", "SGD", 0.9, 0.8, 0.1)]


class Runs:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("was_run"),)


def test_a_pickle_runs_nothing(tmp_path: Path, results: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (path := tmp_path / "runs.pkl").write_bytes(pickle.dumps([Runs()]))
    found = call(results, path)
    assert found.exit_code == 2 and "is no pickle of plain records: it holds pathlib.Path" in found.stderr
    assert not Path("was_run").exists() and not Path(results).exists()


MLFLOW = [{"run_id": "a", "status": "FINISHED", "start_time": 1, "params.L": 3, "params.lr": 0.1, "params.mine": "x",
           "metrics.final_test_acc": 0.9, "metrics.own": 0.5, "tags.mlflow.user": "me"},
          {"run_id": "b", "status": "RUNNING", "start_time": 1, "params.L": 4, "params.lr": 0.1, "params.mine": "y",
           "metrics.final_test_acc": "", "metrics.own": "", "tags.mlflow.user": "me"},
          {"run_id": "c", "status": "FAILED", "start_time": 1, "params.L": 5, "params.lr": 0.1, "params.mine": "y",
           "metrics.final_test_acc": "", "metrics.own": "", "tags.mlflow.user": "me"}]  # fmt: skip
WANDB = [{"Name": "vague-sun-1", "State": "finished", "Created": "2025", "Runtime": 12, "L": 3, "seed": 0, "final_test_acc": 0.8,
          "config.mine": "x", "summary.own": 0.25, "summary._step": 9},
         {"Name": "vague-sun-2", "State": "crashed", "Created": "2025", "Runtime": 12, "L": 3, "seed": 1, "final_test_acc": "",
          "config.mine": "x", "summary.own": "", "summary._step": 9}]  # fmt: skip


def test_tables_of_trackers(tmp_path: Path, results: str) -> None:
    found = call(results, table(tmp_path / "m.csv", MLFLOW), "--map", "mlflow")
    assert found.stdout == "imported 2 networks as m, 0 were there; 1 row of runs that have not ended left out\n", found.stderr
    assert fetch(results, "SELECT L, base_lr, mine, final_test_acc, own, status, reason FROM cells ORDER BY L") == [
        (3, 0.1, "x", 0.9, 0.5, "ok", None), (5, 0.1, "y", None, None, "failed", "failed when it was imported")]  # fmt: skip
    assert call(results, table(tmp_path / "w.csv", WANDB), "--map", "wandb").exit_code == 0
    assert fetch(results, "SELECT mine, own, status FROM cells JOIN plans USING (cell_id) WHERE sweep = 'w' ORDER BY seed") == [
        ("x", 0.25, "ok"), ("x", None, "failed")]  # fmt: skip


WRONG = {
    "a number": ({"L": "three"}, "", "row 1: L = 'three' is not a whole number"),
    "a whole number": ({"L": 2.5}, "", "row 1: L = 2.5 is not a whole number"),
    "unknown": ({"L": 3, "foo": 0.5}, "", "nothing says what 'foo' is; a draft of a map"),
    "no column": ({"L": 3}, "keys: {d: dimm}", "map: keys: d: the table has no column 'dimm'"),
    "map": ({"L": 3}, "kees: {}", "a map has the keys sweep, run, prefixes, keys, metrics, curves, status, ignore"),
    "no YAML": ({"L": 3}, "keys: [", "map.yaml"),
    "lazy": ({"gamma": "lazy"}, "", "there is no d: give gamma as a number"),
    "one step": ({"L": 3, "step": 100}, "", "step = 100 is a value of one evaluation: name by `run` the column"),
    "reserved": (
        {"L": 3, "x": 1.5},
        "metrics: {cell_id: x}",
        "map: 'cell_id' is a column of the store: give it another name, such as their_cell_id",
    ),
    "status as a key": ({"L": 3, "status": "done"}, "keys: {status: status}", "map: 'status' is a column of the store"),
    "its draft": ({"L": 3, "status": "done", "reichtum": "ü"}, "", "their_status: status\n  reichtum: reichtum"),
    "by another name": (
        {"layers": "[64, 64]"},
        "",
        "depth = '[64, 64]', from column 'layers', is not a whole number",
    ),
    "huge": ({"L": 10**25}, "", "row 1: L = 10000000000000000000000000 is not a whole number of at most 64 bits"),
    "none ended": ({"L": 3, "s": "running"}, "status: {column: s}", "holds no run that has ended: 1 row"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_mistake_imports_nothing(tmp_path: Path, results: str, kind: str) -> None:
    one, told, why = WRONG[kind]
    (path := tmp_path / "map.yaml").write_text(told)
    found = call(results, table(tmp_path / "runs.csv", [one]), *(["--map", str(path)] if told else []))
    assert (found.exit_code, found.stdout) == (2, "") and why in found.stderr, found.output
    assert "Traceback" not in found.output and not Store(results).statuses()


def test_columns_that_differ_in_case_keep_their_names(tmp_path: Path, results: str) -> None:
    (tmp_path / "runs.csv").write_text("\ufeffl;L;seed\n0.5;3;0\n0.75;5;1\n", encoding="utf-8")
    (path := tmp_path / "map.yaml").write_text("metrics: {ell: l}")
    assert call(results, tmp_path / "runs.csv", "--map", path).exit_code == 0
    assert fetch(results, "SELECT L, ell, seed FROM cells ORDER BY L") == [(3, 0.5, 0), (5, 0.75, 1)]


def test_times_percentages_and_one_number_a_run(tmp_path: Path, results: str) -> None:
    """A tracker has times with a zone, and says test_acc of the accuracy at the end."""
    one = {**MLFLOW[0], "start_time": "2024-01-01 10:00:00+00:00", "metrics.test_acc": "83.5%", "params.day": "2024-01-02"}
    del one["metrics.final_test_acc"]
    found = call(results, table(tmp_path / "runs.csv", [one]), "--map", "mlflow")
    assert found.exit_code == 0, found.stderr
    assert fetch(results, "SELECT final_test_acc, day FROM cells") == [(0.835, "2024-01-02")]


def test_a_dry_run_says_what_each_column_would_become(tmp_path: Path, results: str, mapped: Path) -> None:
    found = call(results, table(tmp_path / "runs.csv", runs()), "--map", mapped, "--dry-run")
    assert found.stdout.splitlines()[0] == "key task: 'same_different' for all runs"
    assert "metric final_test_acc: column acc" in found.stdout and found.stdout.endswith(
        "12 networks for old; nothing was imported\n"
    )
    assert not Path(results).exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("no.csv", None),
        ("gen.py", b"import random"),
        ("x.txt", "seed".encode("utf-16")),
        ("x.parquet", b"PAR1"),
        ("x.pkl", b"\x80"),
        ("x.csv", b""),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, results: str, name: str, data: bytes | None) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    found = call(results, tmp_path / name)
    assert found.exit_code == 2 and name in found.stderr and "Traceback" not in found.output
