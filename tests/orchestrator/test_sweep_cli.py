"""The command line on bad input: exit 2, a sentence a person understands, no Ray, nothing written. And what starts nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sweepkit.store.files import ResultsError
from sweepkit.store.leases import Lease
from sweepkit.store.store import Store
from sweepkit.store.views import connect


def refused(done, *words):
    assert done.returncode == 2, (done.stdout, done.stderr)
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["missing.yaml"], ["missing.yaml"]),
        (["GRID", "--engine", "turbo"], ["turbo", "auto, reference, batched, gram"]),
        (["GRID", "--order", "best"], ["best", "seed-first, grid or shuffled"]),
        (["GRID", "--limit", "0"], ["--limit"]),
        (["GRID", "--max-concurrent", "-1"], ["--max-concurrent"]),
        (["GRID", "gama=1"], ["gama", "gamma"]),
        (["GRID", "gamma=0"], ["lazy"]),
        (["GRID", "steps=250"], ["eval_every"]),
        (["GRID", "--engine", "gram", "sigma2=1"], ["gram", "12 of the 12 cells", "batched"]),
        (["GRID", "--no-such-option"], ["--no-such-option"]),
        ([], ["GRID.yaml"]),
        (["run"], ["name the grid: python -m orchestrator.sweep GRID.yaml"]),
    ],
)
def test_bad_input_exits_2_and_writes_nothing(small_grid, sweep, results, args, words):
    refused(sweep(*[small_grid if a == "GRID" else a for a in args]), *words)
    assert not Path(results).exists()


def test_all_errors_of_a_grid_at_once(tmp_path, sweep, results):
    path = tmp_path / "bad.yaml"
    path.write_text("sweep: bad\ngrids:\n  - task: same_diferent\n    L: 1\n  - task: same_different\n    L: 1\n    widht: 5\n")
    done = sweep(path)
    refused(done, "bad.yaml:3", "same_different", "bad.yaml:6", "bad.yaml:7", "width")
    assert not Path(results).exists()


def test_results_that_cannot_be_written(small_grid, tmp_path):
    (tmp_path / "file").write_text("in the way")
    for where in (tmp_path / "file" / "results", "s3://bucket/results"):
        command = [sys.executable, "-m", "orchestrator.sweep", str(small_grid), "--results", str(where)]
        refused(subprocess.run(command, capture_output=True, text=True, check=False), str(where))


def test_too_little_disk_is_said_before_the_first_pack(small_grid, results, monkeypatch):
    from typer.testing import CliRunner

    import orchestrator.sweep

    def full(self, need_bytes=0):
        raise ResultsError(f"too little disk: {need_bytes} bytes are needed")

    monkeypatch.setattr(Store, "prepare", full)
    done = CliRunner().invoke(orchestrator.sweep.app, [str(small_grid), "--results", results, "--debug"])
    assert done.exit_code == 2
    assert "too little disk" in done.stderr
    assert connect(results).execute("select count(*) from cells").fetchall() == [(0,)]


def test_dry_run_says_what_would_run_and_starts_nothing(small_grid, sweep_here, results):
    done = sweep_here(small_grid, "--dry-run")
    assert done.returncode == 0
    assert "12 cells" in done.stderr and "cpu" in done.stderr  # which engine is cheapest depends on the machine
    assert not Path(results).exists()
    shown = json.loads(sweep_here(small_grid, "--dry-run", "--json").stdout)
    assert shown["cells"] == 12
    assert shown["wall_s"] > 0


@pytest.mark.parametrize("words", [["run", "GRID", "--dry-run"], ["plan", "GRID"]])
def test_the_form_of_the_module_takes_the_word_of_the_other_form(small_grid, sweep_here, results, words):
    done = sweep_here(*[small_grid if word == "GRID" else word for word in words])
    assert done.returncode == 0 and "12 to train" in done.stderr
    assert not Path(results).exists()


def test_the_whole_paper_can_be_planned(sweep_here, results):
    done = sweep_here("fig2", "--dry-run", "--json")
    assert json.loads(done.stdout)["cells"] == 3432


def test_debug_limit_and_then_the_rest(small_grid, sweep_here, results):
    first = sweep_here(small_grid, "--debug", "--limit", "5", "--json")
    assert first.returncode == 1  # cells are missing
    assert json.loads(first.stdout)["ok"] == 5
    assert json.loads(first.stdout)["missing"] == 7
    rest = sweep_here(small_grid, "--debug", "--json")
    assert "7 to train" in rest.stderr
    assert json.loads(rest.stdout)["ok"] == 12


def test_merged_cells_are_counted(small_grid, sweep_here):
    done = sweep_here(small_grid, "gamma=1,1.0,lazy", "--dry-run")
    assert "12 cells (6 equal ones merged)" in done.stderr


def test_force_trains_again_and_counts_once(small_grid, sweep_here, results):
    assert sweep_here(small_grid, "--debug").returncode == 0
    assert "0 to train" in sweep_here(small_grid, "--debug").stderr
    forced = sweep_here(small_grid, "--debug", "--force")
    assert "12 to train" in forced.stderr
    assert connect(results).execute("select count(*) from cells").fetchall() == [(12,)]


def test_cells_in_flight_elsewhere_come_last_and_are_looked_up_again(small_grid, sweep_here, results):
    from orchestrator.grid.load import load_grid

    store = Store(results)
    store.prepare()
    cells = load_grid(small_grid).cells
    with Lease(store) as lease:
        lease.update([cells[0].cell_id, cells[1].cell_id])
        lease.beat()
        done = sweep_here(small_grid, "--debug")
    assert "2 cells in flight in another sweep (process" in done.stderr
    assert done.returncode == 0
    assert connect(results).execute("select count(*) from cells").fetchall() == [(12,)]


def test_a_users_own_task_without_ray(sweep_here, results):
    done = sweep_here("examples/parity_grid.yaml", "seed=0", "steps=400", "eval_every=200", "--debug")
    assert done.returncode == 0, done.stderr
    rows = (
        connect(results)
        .execute("select d, k, gamma_label, best_test_acc from cells where gamma_label = '1' and d = 10")
        .fetchall()
    )
    assert len(rows) == 1
    assert rows[0][3] > 0.8


@pytest.mark.parametrize("module", ["orchestrator.sweep", "orchestrator.store", "analysis.query", "analysis.figures"])
def test_help_is_cheap(module):
    code = f"import sys, {module}; sys.exit(' '.join({{'ray', 'torch', 'numba', 'pandas'}} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("how", ["--debug", "--dry-run", "--verbose"])
def test_a_network_that_no_pack_can_hold_is_refused(small_grid, sweep_here, results, how):
    refused(sweep_here(small_grid, "d=1000000", "width=1000000", how), "GiB, but a pack may take", "even alone", "d=1000000")
    assert not Path(results).exists()
    assert connect(results).execute("select count(*) from cells").fetchall() == [(0,)]
    assert connect(results).execute("select count(*) from plans").fetchall() == [(0,)]


def test_the_fuzzer_takes_the_memory_for_what_names_the_fault(tmp_path):
    from tests.fuzz.cases import Case, check, in_world
    from tests.fuzz.world import make_world

    grid = b"sweep: s\ngrids: [{task: same_different, L: 4, d: 1000000, width: 1000000, gamma: 1, seed: 0}]\n"
    world = make_world(tmp_path / "world")
    with in_world(world):  # which finds 16 GiB
        case = Case("sweep", ("grid.yaml", "--dry-run"), grid, beside=(("own.py", b""),), expected=2)
        assert "but a pack may take 12.8 here" in check(case, world).said


def test_a_ray_that_hangs_at_its_start_leaves_no_lease(small_grid, sweep_here, results, monkeypatch):
    from orchestrator.ray import cluster

    held = []

    def hangs(address, on_leaving):
        held.append(list(Path(results, "leases").iterdir()))
        for give_back in on_leaving:
            give_back()
        held.append(list(Path(results, "leases").iterdir()))
        raise cluster.StartError("it hangs")

    monkeypatch.setattr(cluster, "joined", hangs)
    assert sweep_here(small_grid).returncode == 1
    assert [len(leases) for leases in held] == [1, 0]
