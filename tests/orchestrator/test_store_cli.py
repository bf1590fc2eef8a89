"""`python -m orchestrator.store`: what it prints and how it exits."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from orchestrator.store import app
from sweepkit.console.words import IN_PART
from sweepkit.store.leases import Lease
from sweepkit.store.store import Store
from tests.store_rows import names, row, rows


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "results"))


def call(store: Store, *words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--results", store.results])


def fill(store: Store) -> Lease:
    """Of twelve planned cells: 5 done, 2 diverged, 2 failed of which 1 is tried again, 1 in flight, 2 missing."""
    store.commit("p", [*rows(0, 5), row(5, "diverged"), row(6, "diverged")])
    store.commit("q", [row(7, "failed", reason="RuntimeError: boom 1\n  at line", log_path="/tmp/log")], failed=True)
    store.commit("r", [row(8, "failed", reason="RuntimeError: boom 2")], failed=True)
    store.write_plan("eq3", [f"{i:020x}" for i in range(12)])
    lease = Lease(store)
    lease.update([f"{i:020x}" for i in (8, 9)])
    return lease


@pytest.mark.parametrize("command", ["status", "check", "compact", "export", "copy --to there"])
def test_missing_directory(store: Store, command: str) -> None:
    found = call(store, *command.split())
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"no results directory at {store.results}: name it with --results, or run a sweep first\n"
    assert not os.path.exists(store.results)


@pytest.mark.parametrize("command", ["status", "check", "compact", "export", "copy --to there"])
def test_a_folder_of_something_else(store: Store, command: str) -> None:
    os.makedirs(store.results)
    assert call(store, *["status", "--json"]).exit_code == 0  # an empty one has no results yet
    Path(store.results, ".gitkeep").touch()
    assert call(store, *["status", "--json"]).exit_code == 0
    Path(store.results, "thesis.tex").touch()
    found = call(store, *command.split())
    assert (found.exit_code, found.stdout) == (2, "")
    assert f"{store.results} holds files, and none that a sweep has written; name it with --results" in found.stderr
    assert sorted(os.listdir(store.results)) == [".gitkeep", "thesis.tex"]


def test_unsupported_uri() -> None:
    found = CliRunner().invoke(app, ["status", "--results", "gs://bucket/results"])
    assert found.exit_code == 2
    assert "gs:// is not supported; give a local path, or s3://" in found.stderr


def test_status_counts(store: Store) -> None:
    fill(store)
    found = call(store, "status", "--json")
    assert found.exit_code == 0
    answer = json.loads(found.stdout)
    assert answer["cells"] == {"ok": 5, "diverged": 2, "failed": 2}
    counts = {"planned": 12, "done": 5, "diverged": 2, "failed": 1, "running": 2, "missing": 2, "in_part": True}
    assert answer["sweeps"] == [{"sweep": "eq3", **counts, "note": "", "tags": []}]
    groups = [(group["status"], group["reason"], group["cells"]) for group in answer["failures"]]
    assert groups == [("failed", "RuntimeError: boom 1", 2), ("diverged", "diverged at steps 5 to 6", 2)]
    assert answer["failures"][0]["log_path"] == "/tmp/log"
    assert [driver["cells"] for driver in answer["drivers"]] == [2]
    assert answer["n_files"] == 4
    assert answer["n_bytes"] > 1000


def test_a_grid_that_was_once_asked_for_as_a_whole_is_not_said_to_be_in_part(store: Store) -> None:
    cells = [f"{i:020x}" for i in range(4)]
    store.commit("p", rows(0, 4))
    store.write_plan("eq3", cells, whole=True)
    store.write_plan("eq3", cells[:2])
    store.write_plan("chosen", cells[:1])
    assert {one["sweep"]: one["in_part"] for one in json.loads(call(store, "status", "--json").stdout)["sweeps"]} == {
        "chosen": True, "eq3": False
    }  # fmt: skip


def test_status_in_words(store: Store) -> None:
    fill(store)
    lines = call(store, "status").stdout.splitlines()
    assert lines[0] == f"{store.results}: 9 cells (5 ok, 2 diverged, 2 failed)"
    assert lines[2].startswith("running: 2 cells in flight, process ")
    assert "eq3,12,5,2,1,2,2" in lines  # a pipe gets CSV
    assert f"eq3: {IN_PART}" in lines
    assert any("RuntimeError: boom 1" in line and "/tmp/log" in line for line in lines)


def test_status_of_one_sweep(store: Store) -> None:
    fill(store)
    other = rows(20, 3)
    store.commit("s", [*other, row(23, "diverged")])
    store.write_plan("other", [f"{i:020x}" for i in range(20, 24)])
    lines = call(store, "status", "--sweep", "other").stdout.splitlines()
    assert lines[0] == f"{store.results}, sweep other: 4 cells (3 ok, 1 diverged, 0 failed)"
    assert "other,4,3,1,0,0,0" in lines and not any("eq3" in line or "boom" in line or "in flight" in line for line in lines)
    found = call(store, "status", "--sweep", "othr")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"no sweep 'othr' in {store.results}; did you mean 'other'? there are eq3, other\n"


def test_status_says_what_the_failed_networks_share(store: Store) -> None:
    fine = [row(i, base_lr=rate, width=width) for i, (rate, width) in enumerate([(0.1, 64), (0.1, 512), (10.0, 64)])]
    lost = [row(10 + i, "failed", L=2, base_lr=10.0, width=512, reason=f"RuntimeError: boom {i}") for i in range(2)]
    wild = [row(20 + i, "diverged", L=2, base_lr=rate, width=64, seed=0) for i, rate in enumerate((30.0, 100.0))]
    store.commit("p", [*fine, *wild])
    store.commit("q", lost, failed=True)
    store.write_plan("eq3", [one["cell_id"] for one in (*fine, *lost, *wild)])
    lines = call(store, "status", "--sweep", "eq3").stdout.splitlines()
    both = "all 2 have width = 512 and base_lr = 10; no finished network has all of these"
    assert f"2 failed (RuntimeError: boom 0): {both}" in lines
    assert "2 diverged (diverged at steps 20 to 21): all 2 have base_lr = 30 to 100; no finished network has" in lines


def test_status_of_an_empty_directory(store: Store) -> None:
    store.prepare()
    assert call(store, "status").stdout.splitlines() == [
        f"{store.results}: 0 cells (0 ok, 0 diverged, 0 failed)",
        "0 files, 0 B",
    ]


def test_status_of_the_folder_around_results_names_them(store: Store) -> None:
    fill(store)
    around = Path(store.results).parent
    found = CliRunner().invoke(app, ["status", "--results", str(around)])
    told = (
        f"{around} holds files, and none that a sweep has written; there are results in {store.results}: name it with --results"
    )
    assert (found.exit_code, found.stdout, found.stderr) == (2, "", f"{told}\n")


def test_check(store: Store) -> None:
    store.commit("p", rows(0, 3))
    found = call(store, "check")
    assert (found.exit_code, found.stdout.splitlines()[-1][:7]) == (0, "1 file,")
    Path(store.results, "packs", "bad.parquet").write_bytes(b"PAR1")
    found = call(store, "check")
    assert found.exit_code == 1
    assert found.stdout.startswith("bad    packs/bad.parquet: torn")
    assert "1 bad file" not in call(store, "status").stdout
    assert "1 of them bad" in call(store, "status").stdout


def test_check_clean(store: Store) -> None:
    store.commit("p", rows(0, 3))
    left = Path(store.results, "packs", ".x.inprogress")
    left.touch()
    os.utime(left, (0, 0))
    found = call(store, "check")
    assert (found.exit_code, left.exists()) == (0, True)
    assert "stale  packs/.x.inprogress" in found.stdout
    found = call(store, "check", "--clean")
    assert (found.exit_code, left.exists()) == (0, False)
    assert "removed packs/.x.inprogress" in found.stdout


def test_compact(store: Store) -> None:
    store.prepare()
    assert call(store, "compact").stdout == "nothing to merge\n"
    store.commit("p", rows(0, 3))
    store.commit("q", rows(10, 3))
    found = call(store, "compact")
    assert found.exit_code == 0
    assert found.stdout.startswith("merged 2 files into 1: compacted/")
    assert "2 merged files stay" in found.stdout
    found = call(store, "compact", "--now")
    assert found.stdout == "nothing to merge\ndeleted 2 files merged earlier\n"
    assert len(names(store.results)) == 1


def test_copy(store: Store, tmp_path: Path) -> None:
    fill(store)
    to = tmp_path / "kept"
    found = call(store, "copy", "--to", str(to))
    assert (found.exit_code, found.stdout) == (
        0, f"copied 7 networks, 1 plan and 0 weights files from {store.results} into {to}\n"
        "left behind 2 rows of networks that failed\n"
    )  # fmt: skip
    assert call(store, "copy", "--to", str(to)).stdout.startswith("copied 0 networks, 0 plans")
    (tmp_path / "file").touch()
    found = call(store, "copy", "--to", str(tmp_path / "file"))
    assert found.exit_code == 2 and found.stderr
    found = call(store, "copy", "--sweep", "eq3", "--to", str(tmp_path / "one"))
    assert found.stdout.startswith("copied 7 networks, 1 plan")
    found = call(store, "copy", "--sweep", "eq4", "--to", str(tmp_path / "none"))
    told = f"no sweep 'eq4' in {store.results}; did you mean 'eq3'? there are eq3\n"
    assert (found.exit_code, found.stderr, (tmp_path / "none").exists()) == (2, told, False)
    assert call(store, "copy", "--to", store.results).stderr == f"{store.results} cannot be copied into itself\n"


@pytest.mark.parametrize(("words", "shown"), [([], "DIR"), (["a", "b"], "b")])
def test_copy_without_a_target_shows_the_command(store: Store, words: list[str], shown: str) -> None:
    found = call(store, "copy", *words)
    assert found.exit_code == 2 and found.stderr.endswith(f"--to {shown}\n")


def test_export(store: Store, tmp_path: Path) -> None:
    store.commit("p", rows(0, 3))
    found = call(store, "export")
    assert found.exit_code == 0
    assert f"{store.results}/export/cells.csv  3 rows" in found.stdout
    assert call(store, "check").exit_code == 0  # an export in the results is not foreign
    assert call(store, "export", "--out", str(tmp_path / "there"), "--no-csv").exit_code == 0
    assert os.listdir(tmp_path / "there") == ["results.duckdb"]
    (tmp_path / "file").touch()
    found = call(store, "export", "--out", str(tmp_path / "file"))
    assert (found.exit_code, found.stderr[:16]) == (2, "cannot export to")


def test_help_and_unknown_command() -> None:
    text = CliRunner().invoke(app, ["--help"]).stdout
    assert all(command in text for command in ("status", "check", "compact", "copy", "export"))
    assert CliRunner().invoke(app, ["frobnicate"]).exit_code == 2


def test_sharing_with_a_tracker(store: Store, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    fill(store)
    words = ["export", "--to", "tensorboard", "--sweep", "eq3", "--out", str(tmp_path / "there")]
    assert call(store, *words).stdout.splitlines()[0] == "eq3: 9 runs added, 0 replaced, 0 there already"
    found = call(store, *words, "--where", "status = 'ok'")
    assert (found.exit_code, found.stdout.splitlines()[0]) == (0, "eq3: 0 runs added, 0 replaced, 5 there already")
    assert f"to look: tensorboard --logdir {tmp_path}/there" in found.stdout
    assert len(os.listdir(tmp_path / "there" / "eq3")) == 9


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--to mlfow", "unknown destination 'mlfow'; did you mean 'mlflow'? legal: mlflow, wandb, tensorboard"),
        ("--to tensorboard --sweep eq4", "no finished networks of sweep 'eq4'; did you mean 'eq3'? sweeps here: eq3"),
        ("--to tensorboard --project x", "--project goes with --to wandb"),
        ("--to tensorboard --no-csv", "--csv goes with an export to files, without --to"),
        ("--to tensorboard --per seed", "unknown --per 'seed'; legal: network, configuration"),
        ("--sweep eq3", "--sweep goes with --to mlflow or --to wandb or --to tensorboard"),
        ("--to mlflow --where L<<", "--where 'L<<': Parser Error: syntax error at or near"),
    ],
)
def test_sharing_with_bad_input(store: Store, words: str, said: str) -> None:
    fill(store)
    found = call(store, "export", *words.split())
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(said)
    assert not os.path.exists(os.path.join(store.results, "export"))
