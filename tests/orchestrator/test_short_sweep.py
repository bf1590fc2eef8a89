"""A sweep that takes less time than Ray's start trains in its own process: the same rows, and no Ray."""

import json
import signal
import subprocess
import sys

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

import orchestrator.foresight
import orchestrator.session
from orchestrator.cost.calibration import Rates
from orchestrator.grid.load import load_grid
from orchestrator.python.calls import run
from sweepkit.store.views import connect
from tests.orchestrator.conftest import ROOT, sweep_command
from tests.sweeps import wait_for

SAID = "training in this process, as Ray would take longer to start"
OF_THE_RUN = ("seconds", "finished_at", "pack_id", "git_sha")
"""Columns that may differ between two runs of one sweep."""


@pytest.fixture
def nowhere(monkeypatch):
    """A person's machine: no cluster is named."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.fixture
def started(monkeypatch):
    """The places where sweeps began to train, `in_process` or not; none does."""
    places = []

    class Begun(Exception):
        pass

    def begin(grid, options, lease, in_process):
        places.append(in_process)
        raise Begun

    monkeypatch.setattr(orchestrator.session, "_runner", begin)

    def start(sweep_here, *words):
        with pytest.raises(AssertionError):  # what `sweep_here` makes of Begun
            sweep_here(*words)
        return places.pop()

    return start


OWN = """sweep: own
tasks: [{folder}/parity.py]
defaults: {{steps: 100, eval_every: 100, batch: 16, test_size: 16}}
grids: [{{task: parity, d: 8, k: 2, gamma: 1, width: 16, seed: 0}}]
"""


def rows(results):
    columns = f"* EXCLUDE ({', '.join(OF_THE_RUN)})"
    return connect(results).execute(f"SELECT {columns} FROM cells ORDER BY cell_id").fetchall()


@pytest.mark.ray
def test_its_rows_are_those_of_ray(nowhere, small_grid, tmp_path, monkeypatch):
    def said(where):
        command = sweep_command(small_grid, "--results", tmp_path / where)
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stderr

    assert SAID in said("here")
    monkeypatch.setenv("RAY_ADDRESS", "local")
    assert "starting Ray" in said("ray")
    assert rows(str(tmp_path / "here")) == rows(str(tmp_path / "ray")) != []


def test_it_loads_no_ray(nowhere, small_grid, results):
    code = "import sys; from orchestrator.sweep import app; app(sys.argv[1:], standalone_mode=False); print('ray' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(small_grid), "--results", results], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert SAID in done.stderr and done.stdout.splitlines()[-1] == "False"


def test_what_trains_on_ray_all_the_same(nowhere, started, sweep_here, small_grid, tmp_path, monkeypatch):
    """Long sweeps, searches, a person's own parts, and whatever is told where to train."""
    assert started(sweep_here, small_grid)
    assert not started(sweep_here, small_grid, "steps=2000000")
    assert not started(sweep_here, small_grid, "--address", "local")
    assert started(sweep_here, small_grid, "steps=2000000", "--debug")
    found = tmp_path / "find.yaml"
    found.write_text(small_grid.read_text().replace("    L: [3, 5]\n", "    find: {axis: L, range: [2, 9], at: 0.8}\n"))
    assert not started(sweep_here, found)
    own = tmp_path / "own.yaml"
    own.write_text(OWN.format(folder=ROOT / "examples"))
    assert not started(sweep_here, own)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert not started(sweep_here, small_grid)


def test_the_threads_of_a_notebook_are_as_before(nowhere, small_grid, results):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with threadpool_limits(2):
            run(load_grid(small_grid), results, debug=True)
            assert {pool["num_threads"] for pool in threadpool_info()} == {2} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_machine_is_not_measured_for_seconds_of_training(nowhere, small_grid, sweep_here, monkeypatch):
    """To measure it takes some 20 s, with the first look at a project."""
    measured = []
    monkeypatch.setattr(orchestrator.foresight, "kept_rates", lambda: None)
    monkeypatch.setattr(orchestrator.foresight, "machine_rates", lambda say: measured.append(say) or Rates())
    assert sweep_here(small_grid, "--dry-run").returncode == 0 and not measured
    assert sweep_here(small_grid, "--dry-run", "--address", "local").returncode == 0 and not measured
    assert sweep_here(small_grid, "--dry-run", "steps=2000000").returncode == 0 and measured


LATE = ["d=64", "width=256", "batch=128", "steps=20000", "eval_every=1000", "test_size=512"]
"""Some seconds of training."""


def test_an_interrupt_lets_the_pack_in_flight_finish(nowhere, small_grid, results, monkeypatch):
    """Ctrl-C, and what the same command then trains."""
    command = [*sweep_command(small_grid, *LATE, "seed=range(4)"), "--results", results]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as begun:
        assert begun.stderr is not None
        for line in begun.stderr:
            if SAID in line:
                wait_for(lambda: connect(results).execute("SELECT count(*) FROM plans").fetchall() == [(16,)])
                begun.send_signal(signal.SIGINT)
                break
        said = begun.stderr.read()
    n_done = connect(results).execute("SELECT count(*) FROM cells").fetchall()[0][0]
    assert begun.returncode in (0, 130) and (begun.returncode == 130) == ("draining" in said and n_done < 16), said
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    assert connect(results).execute("SELECT count(*), count(DISTINCT cell_id) FROM cells").fetchall() == [(16, 16)]


def test_libraries_print_nothing_and_the_answer_is_json(nowhere, small_grid, sweep):
    """A network that diverges makes NumPy warn, and what a library prints must not stand in the JSON."""
    done = sweep(small_grid, "base_lr=1e30", "save=d_lr", "--json")
    assert json.loads(done.stdout)["diverged"] == 12 and "Warning" not in done.stderr
