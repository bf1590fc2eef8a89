"""The commands as a user runs them, with results in a bucket."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from sweepkit.store.files import open_files
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.views import fetch
from tests.orchestrator.conftest import ROOT, sweep_command
from tests.sweeps import counts, wait_for


@pytest.fixture
def results(bucket: str) -> str:
    return f"s3://{bucket}/of/small"


def command(*words: object, **kwargs) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, **kwargs)


@pytest.mark.parametrize("how", [["--debug"], pytest.param([], marks=[pytest.mark.ray])], ids=["debug", "ray"])
def test_killed_and_run_again_every_cell_is_there_once(tmp_path, sweep, start, results, how):
    grid = tmp_path / "long.yaml"
    grid.write_text(
        "sweep: long\n"
        "defaults: {steps: 1000, eval_every: 500, width: 256}\n"
        "grids:\n"
        "  - {task: same_different, L: 16, d: 64, sigma2: [0, 1], gamma: [1, 0.1], seed: {range: 4}, save: [curves, weights]}\n"
        "resources: {pack_seconds: 1}\n"
    )
    process = start(grid, *how)
    wait_for(lambda: len(open_files(results).entries("packs")) > 0, process)
    process.kill()
    process.wait()
    first, distinct = counts(results)
    assert 0 < first == distinct < 16
    done = sweep(grid, *how)
    assert done.returncode == 0, done.stderr
    assert counts(results) == (16, 16)
    assert fetch(results, "SELECT status, count(*) FROM cells GROUP BY ALL") == [("ok", 16)]
    again = sweep(grid, *how)
    assert (again.returncode, "0 to train" in again.stderr) == (0, True)

    asked = command(
        "analysis.query", "SELECT count(*) AS n, count(DISTINCT cell_id) AS m FROM cells", "--format", "csv", "--results", results
    )
    assert asked.stdout.split() == ["n,m", "16,16"], asked.stderr
    told = json.loads(command("orchestrator.store", "status", "--json", "--results", results).stdout)
    assert [(s["planned"], s["done"]) for s in told["sweeps"]] == [(16, 16)]
    checked = command("orchestrator.store", "check", "--results", results)
    assert (checked.returncode, " 0 bad" in checked.stdout) == (0, True), checked.stdout
    merged = command("orchestrator.store", "compact", "--now", "--results", results)
    assert (merged.returncode, counts(results)) == (0, (16, 16)), merged.stderr
    out = command("orchestrator.store", "export", "--results", results, cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    with duckdb.connect(str(tmp_path / "export" / "results.duckdb"), read_only=True) as exported:
        assert exported.execute("SELECT count(*) FROM cells").fetchall() == [(16,)]


def test_two_drivers_on_one_grid(small_grid, results):
    line = [*sweep_command(small_grid, "--debug", "-q", "--results", results)]
    drivers = [subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for driver in drivers:
        _, told = driver.communicate()
        assert driver.returncode == 0, told
    assert counts(results) == (12, 12)
    compact(open_files(results), now=True)
    assert counts(results) == (12, 12)
    assert open_files(results).entries("leases") == []


@pytest.mark.parametrize(
    "module, words",
    [
        ("orchestrator.sweep", ["{grid}", "--debug"]),
        ("orchestrator.sweep", ["{grid}", "--dry-run"]),
        ("orchestrator.store", ["status"]),
        ("analysis.query", ["FROM cells"]),
        ("analysis.report", []),
    ],
)
@pytest.mark.parametrize(
    "where, told",
    [
        ("s3://", "no bucket; write s3://BUCKET/PREFIX"),
        ("s3://not-there/x", "there is no bucket 'not-there'"),
    ],
)
def test_what_cannot_work_is_told_at_once(small_grid, s3, tmp_path, monkeypatch, module, words, where, told):
    monkeypatch.setenv("SWEEP_S3_RETRY_S", "3600")  # whoever tries again does not end
    words = [word.format(grid=small_grid) for word in words]
    done = command(module, *words, "--results", where, cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert told in done.stderr
    assert not [path for path in Path(tmp_path).iterdir() if path != small_grid]


def test_scratch_of_several_nodes_lies_in_the_bucket_and_is_gone_afterwards(results, bucket, s3):
    import socket

    from pyarrow import fs

    from orchestrator.ray.scratch import remove_left, scratch_directory

    old = f"of/small/.scratch/sweep-{socket.gethostname()}-999999999-0123abcd/state.json"  # of a driver that was killed
    s3.put_many(bucket, [old])
    remove_left(results)
    with scratch_directory(results, several_nodes=True) as uri:
        assert uri.startswith(f"{results}/.scratch/sweep-")
        storage, path = fs.FileSystem.from_uri(uri)  # as Tune opens it
        with storage.open_output_stream(f"{path}/trial/checkpoint") as sink:
            sink.write(b"x")
        keys = s3.keys(bucket)
        assert old not in keys
        assert any(key.endswith("/trial/checkpoint") for key in keys)
    assert not [key for key in s3.keys(bucket) if "sweep-" in key]


def test_a_bucket_that_fails_at_the_end_is_no_bad_input(small_grid, sweep_here, bucket, monkeypatch):
    """What was trained is in the store: exit 1, and why."""
    from sweepkit.store.files import ResultsError

    def silent(*args: object) -> bool:
        raise ResultsError("http://store does not answer")

    monkeypatch.setattr("orchestrator.session.report", silent)
    done = sweep_here(small_grid, "--debug")
    assert (done.returncode, "the sweep could not go on: http://store does not answer" in done.stderr) == (1, True), done.stderr
    assert counts(f"s3://{bucket}/of/small") == (12, 12)


def test_a_bucket_that_fails_when_another_sweep_is_looked_up_ends_this_one(small_grid, sweep_here, bucket, monkeypatch):
    from orchestrator.grid.load import load_grid
    from sweepkit.store.files import ResultsError
    from sweepkit.store.leases import Driver
    from sweepkit.store.store import Store

    asked = []
    planned = load_grid(str(small_grid)).cells

    def once(store: Store) -> object:
        asked.append(store)
        if len(asked) == 3:  # planned, queued, and then
            raise ResultsError("http://store does not answer")
        return statuses(store)

    statuses = Store.statuses
    monkeypatch.setattr(Store, "statuses", once)
    other = Driver("leases/other.json", "another", (planned[0].cell_id,), 0.0, alive=True)
    monkeypatch.setattr("orchestrator.running.feed.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("orchestrator.running.feed.LOOKING", float("inf"))
    monkeypatch.setattr("orchestrator.running.feed.others_in_flight", lambda store, own: dict.fromkeys(other.cell_ids, other))
    done = sweep_here(small_grid, "--debug")
    assert (done.returncode, "the sweep could not go on: http://store does not answer" in done.stderr) == (1, True), done.stderr
    held, distinct = counts(f"s3://{bucket}/of/small")
    assert held == distinct < 12
