"""CIFAR-100 as a user runs it: planned, prepared, trained, stored and asked for, by the commands that know nothing of it."""

import json
import os
import subprocess
import sys

import pytest

from orchestrator.cost.model import CostModel
from orchestrator.grid.load import load_grid
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.views import connect, fetch
from sweepkit.store.views import run as run_query
from tests.sweeps import counts, wait_for
from trainables.features import folders
from trainables.features.folders import DATA_DIR
from trainables.features.images import found, made, sets

GRID = """\
sweep: photographs
defaults: {steps: 40, eval_every: 20, width: 8, batch: 8, test_size: 16, gamma: [1, lazy]}
grids:
  - task: cifar100
    layer: [id, relu3_1]
    L: 90
    seed: {range: 2}
"""


@pytest.fixture
def grid(tmp_path, monkeypatch):
    path = tmp_path / "photographs.yaml"
    path.write_text(GRID)
    monkeypatch.setattr(found, "reachable", lambda url: False)
    monkeypatch.delenv(DATA_DIR, raising=False)
    made._held.clear()
    found._fetched.cache_clear()
    return path


IMAGES = """\
sweep: images
defaults: {steps: 400, eval_every: 200, width: 32, batch: 16, test_size: 64, gamma: [1, lazy], seed: {range: 3}, save: [weights]}
grids:
  - {task: cifar100, layer: [id, relu5_1], L: 90}
  - {task: psvrt, L: 64, patches: 4}
resources: {pack_seconds: 0.2}
"""


def test_kill_9_amid_training_then_the_same_command(grid, start, sweep, results, cifar_folder, monkeypatch):
    """Both kinds of images: each of the 18 cells once, with its weights, and what was made of photographs is found again."""
    monkeypatch.setenv(DATA_DIR, str(cifar_folder))
    grid.write_text(IMAGES)
    process = start(grid, "--debug")
    wait_for(lambda: counts(results)[0] > 0, process)
    process.kill()
    process.wait()
    before = counts(results)[0]
    assert 0 < before < 18
    done = sweep(grid, "--debug", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["ok"] == 18, done.stderr
    assert f"{18 - before} to train" in done.stderr and "making" not in done.stderr
    assert counts(results) == (18, 18)
    assert fetch(results, "select count(*), count(distinct cell_id) from internal.weights") == [(18, 18)]
    assert check(Store(results).files).bad == {}


def test_a_store_with_photographs_is_learned_from_where_they_lie_and_nowhere_else(
    grid, small_grid, sweep_here, results, cifar_folder, tmp_path, monkeypatch
):
    """A row does not say where its photographs lie: without a plan that does, nothing is looked for, let alone downloaded."""
    where = f"data_dir={cifar_folder}"
    assert sweep_here(grid, where, "layer=id", "--debug").returncode == 0
    monkeypatch.setattr(folders, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(found, "reachable", lambda url: pytest.fail("no sweep of symbols needs a server"))
    assert sweep_here(small_grid, "--dry-run").returncode == 0
    assert not (tmp_path / "cache").exists()

    cells = [planned.cell for planned in load_grid(grid, [where, "layer=id"]).cells]
    knows, does_not = CostModel(), CostModel()
    run_query(results, lambda connection: knows.learn(connection, cells))
    run_query(results, does_not.learn)
    ((engine,),) = fetch(results, "select distinct engine from cells")
    took, guessed = (model.seconds(cells[0], engine) for model in (knows, does_not))
    assert guessed == CostModel().seconds(cells[0], engine) != took


def test_the_whole_path_from_a_grid_to_a_query(grid, sweep_here, results, cifar_folder, monkeypatch):
    monkeypatch.setenv(DATA_DIR, str(cifar_folder))
    done = sweep_here(grid, "--debug", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["ok"] == 8, done.stderr
    query = (
        "select task, L, layer, gamma_label, count(*), min(science_version) from cells group by all order by layer, gamma_label"
    )
    command = [sys.executable, "-m", "analysis.query", query, "--format", "json", "--results", results]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [[*row.values()][:5] for row in rows] == [
        ["cifar100", 90, layer, gamma, 2] for layer in ("id", "relu3_1") for gamma in ("1", "lazy")
    ]
    version = [[*row.values()][5] for row in rows]
    assert "+images-" in version[0] and "vgg16-" not in version[0] and "+vgg16-" in version[2]
    assert "data_dir" not in connect(results).execute("select * from cells").fetchdf().columns


def test_a_dry_run_says_what_would_be_made_and_makes_nothing(grid, sweep_here, cifar_folder, tmp_path):
    for name in (sets.CIFAR100.folders[0], "vgg16-made.pth"):
        os.symlink(cifar_folder / name, tmp_path / name)
    done = sweep_here(grid, f"data_dir={tmp_path}", "--dry-run")
    assert done.returncode == 0
    assert "needs VGG-16's relu3_1 of at most" in done.stderr and "x 16,384 numbers of 2 bytes" in done.stderr
    assert f"MB in {tmp_path / 'features'}" in done.stderr and "MB in all, once" in done.stderr
    assert not (tmp_path / "features").exists()


def test_missing_data_are_told_once_and_nothing_starts(grid, sweep_here, results, tmp_path):
    done = sweep_here(grid, f"data_dir={tmp_path}/none", "L=8,16,32", "--dry-run")
    assert done.returncode == 2 and done.stdout == ""
    for_pixels, for_features = done.stderr.splitlines()  # the one needs no weights
    for line in (for_pixels, for_features):
        assert line.startswith(f"{grid}:4: task cifar100 refuses layer = ")
        assert f"{tmp_path}/none (the grid's data_dir) lacks cifar-100-python/train" in line
    assert "vgg16-397923af.pth" in for_features and "vgg16" not in for_pixels


def test_too_little_room_is_said_before_anything_is_computed(grid, sweep_here, cifar_folder, tmp_path, monkeypatch):
    for name in (sets.CIFAR100.folders[0], "vgg16-made.pth"):
        os.symlink(cifar_folder / name, tmp_path / name)
    monkeypatch.setattr("orchestrator.plan.task_files.ROOM_LEFT", 2**62)
    done = sweep_here(grid, f"data_dir={tmp_path}", "--debug")
    assert done.returncode == 2
    assert f"too little room: {tmp_path / 'features'} has " in done.stderr
    assert not (tmp_path / "features").exists()


def test_data_that_cannot_be_used_end_the_sweep_before_it_starts(grid, sweep_here, cifar_folder, tmp_path):
    (tmp_path / sets.CIFAR100.folders[0]).mkdir()
    for name in ("train", "test"):
        (tmp_path / sets.CIFAR100.folders[0] / name).write_text("torn")
    done = sweep_here(grid, f"data_dir={tmp_path}", "layer=id", "--debug")
    assert done.returncode == 2
    assert "train is no file of CIFAR-100, or it is torn" in done.stderr and "Traceback" not in done.stderr


def test_no_condition_asks_where_data_lie(grid, sweep_here, cifar_folder):
    grid.write_text(GRID + "    exclude: [\"data_dir == 'here'\"]\n")
    done = sweep_here(grid, f"data_dir={cifar_folder}", "--dry-run")
    assert done.returncode == 2 and "has the unknown name 'data_dir'" in done.stderr


def test_planning_waits_for_no_torch(grid, cifar_folder):
    code = "import sys; from orchestrator.grid.load import load_grid; assert len(load_grid(sys.argv[1]).cells) == 8; "
    code += "print({'torch', 'torchvision', 'numba', 'ray'} & sys.modules.keys())"
    env = os.environ | {DATA_DIR: str(cifar_folder)}
    done = subprocess.run([sys.executable, "-c", code, str(grid)], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "set()"
