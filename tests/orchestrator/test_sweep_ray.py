"""The command as a user runs it, on a local Ray: to the end, killed, interrupted, and on what cannot work."""

import json
import re
import signal
import tempfile
from pathlib import Path

import psutil
import pytest

from sweepkit.store.views import connect
from tests.sweeps import counts, wait_for

pytestmark = pytest.mark.ray


@pytest.fixture
def long_grid(tmp_path: Path) -> Path:
    """24 cells of about a second each, in small packs, so that there is a middle to kill in."""
    path = tmp_path / "long.yaml"
    path.write_text(
        "sweep: long\n"
        "defaults: {steps: 2000, eval_every: 1000, width: 256}\n"
        "grids:\n"
        "  - {task: same_different, L: 16, d: 64, sigma2: [0, 1], gamma: [1, 0.1], seed: {range: 6}}\n"
        "resources: {pack_seconds: 3}\n"
    )
    return path


def workers(driver: int) -> list[psutil.Process]:
    """Actors of this driver's Ray that hold a pack."""

    def is_worker(process: psutil.Process) -> bool:
        try:
            return process.status() != psutil.STATUS_ZOMBIE and "Trainable" in " ".join(process.cmdline())
        except psutil.NoSuchProcess:  # it has ended since it was listed
            return False

    return list(filter(is_worker, psutil.Process(driver).children(recursive=True)))


@pytest.mark.guard
def test_runs_then_finds_nothing_to_do(small_grid, sweep, sweep_here, results):
    done = sweep(small_grid)
    assert done.returncode == 0, done.stderr
    assert "12 ok" in done.stdout
    assert "Eq. 3" in done.stdout and "analysis.query" in done.stdout
    assert counts(results) == (12, 12)
    files = sorted(p.name for p in Path(results, "packs").iterdir())

    again = sweep(small_grid)
    assert again.returncode == 0
    assert "0 to train" in again.stderr
    assert sorted(p.name for p in Path(results, "packs").iterdir()) == files

    larger = sweep_here(small_grid, "seed=range(4)", "--json", "--debug")
    assert larger.returncode == 0
    assert "4 to train" in larger.stderr
    assert json.loads(larger.stdout)["ok"] == 16
    assert counts(results) == (16, 16)


def test_kill_9_of_a_worker_loses_nothing(long_grid, start, results):
    process = start(long_grid)
    wait_for(lambda: bool(workers(process.pid)) and counts(results)[0] > 0, process)
    for worker in workers(process.pid)[:1]:
        worker.kill()
    out, _ = process.communicate()
    assert process.returncode == 0, out
    assert counts(results) == (24, 24)
    assert connect(results).execute("select distinct status from cells").fetchall() == [("ok",)]


@pytest.mark.guard
def test_kill_9_of_the_driver_then_the_same_command(long_grid, start, sweep, results):
    process = start(long_grid)
    wait_for(lambda: counts(results)[0] > 0, process)
    process.kill()
    process.wait()
    before = counts(results)[0]
    assert before < 24
    done = sweep(long_grid)
    assert done.returncode == 0, done.stderr
    planned = int(re.search(r"(\d+) to train", done.stderr).group(1))
    # A worker that outlives its driver by some seconds may still commit its pack.
    assert planned <= 24 - before
    assert counts(results) == (24, 24)


def test_a_closed_terminal_drains_too(long_grid, start, results):
    process = start(long_grid, "steps=10000", "--max-concurrent", 1)
    wait_for(lambda: counts(results)[0] > 0, process)
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate()
    assert process.returncode == 130, out
    landed = counts(results)
    assert 0 < landed[0] < 24 and landed[0] == landed[1]


@pytest.mark.guard
def test_ctrl_c_drains(long_grid, start, results):
    process = start(long_grid, "steps=10000", "--max-concurrent", 1)  # so that much is left when it drains
    wait_for(lambda: counts(results)[0] > 0, process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 130, out
    assert "draining" in out
    assert "go on:" in out
    landed = counts(results)
    assert 0 < landed[0] < 24


def test_a_second_ctrl_c_ends_at_once(long_grid, start, results):
    process = start(long_grid, "steps=1000000000")  # no pack ends
    wait_for(lambda: bool(workers(process.pid)), process)
    process.send_signal(signal.SIGINT)
    assert any("draining" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 130 and counts(results) == (0, 0), out


def test_two_drivers_on_one_directory_count_each_cell_once(long_grid, start, results):
    processes = [start(long_grid), start(long_grid)]
    for process in processes:
        out, _ = process.communicate()
        assert process.returncode == 0, out
    assert counts(results) == (24, 24)


def test_what_the_cluster_can_never_do_is_said_at_once(small_grid, sweep, results):
    small_grid.write_text(small_grid.read_text() + "resources: {cpus_per_pack: 512}\n")
    done = sweep(small_grid)
    assert done.returncode == 2
    assert "cpus_per_pack is 512" in done.stderr and "Traceback" not in done.stderr
    assert counts(results) == (0, 0)


def test_no_cluster_at_the_address(small_grid, sweep):
    done = sweep(small_grid, "--address", "127.0.0.1:1")
    assert done.returncode == 2
    assert "no Ray cluster answers at '127.0.0.1:1'" in done.stderr
    assert "Traceback" not in done.stderr


def test_runs_a_users_own_task_and_leaves_no_scratch_behind(sweep, results, monkeypatch):
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="s") as scratch:  # Ray's socket names must stay short
        monkeypatch.setenv("TMPDIR", scratch)
        done = sweep("examples/parity_grid.yaml", "seed=0", "steps=400", "eval_every=200")
        assert done.returncode == 0, done.stderr
        assert not [p for p in Path(scratch).iterdir() if p.name.startswith("sweep-")]
    found = connect(results).execute("select distinct task, status, engine from cells").fetchall()
    assert found == [("parity", "ok", "batched")]
