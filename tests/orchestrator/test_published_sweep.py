"""MNIST and CIFAR-10 as a user runs them: refused where files are missing or damaged, prepared, trained, stored."""

import pytest

from sweepkit.store.views import connect, fetch
from tests.made_images import make_cifar10, make_mnist
from trainables.features import folders
from trainables.features.images import found, made

GRID = """\
sweep: images
grids:
  - {task: [mnist, cifar10], P: 40, alpha: [1, 3], code: 1, network: mlp, depth: 1, width: 32,
     training: adam, base_lr: 0.0003, batch: 8, steps: 20, eval_every: 10, test_size: 20, seed: {range: 2}, save: [richness]}
"""


@pytest.fixture
def grid(tmp_path, monkeypatch):
    path = tmp_path / "images.yaml"
    path.write_text(GRID)
    monkeypatch.setattr(found, "reachable", lambda url: False)
    monkeypatch.delenv(folders.DATA_DIR, raising=False)
    made._held.clear()
    found._fetched.cache_clear()
    return path


def test_from_files_to_a_query(grid, sweep_here, results, tmp_path, monkeypatch):
    make_mnist(tmp_path / "data", packed=True)
    make_cifar10(tmp_path / "data")
    monkeypatch.setenv(folders.DATA_DIR, str(tmp_path / "data"))
    planned = sweep_here(grid, "--dry-run")
    assert planned.returncode == 0 and "x 784 numbers of 1 byte" in planned.stderr and "x 3,072 numbers" in planned.stderr
    assert not (tmp_path / "data" / "features").exists()
    done = sweep_here(grid, "--debug")
    assert done.returncode == 0, done.stderr
    measured = "SELECT task, alpha, count(*), bool_and(d_lr BETWEEN 0 AND 1 AND nc1 > 0) FROM cells GROUP BY ALL ORDER BY ALL"
    assert fetch(results, measured) == [(task, alpha, 2, True) for task in ("cifar10", "mnist") for alpha in (1, 3)]
    assert "data_dir" not in connect(results).execute("SELECT * FROM cells").fetchdf().columns
    again = sweep_here(grid, "--debug")
    assert "0 to train" in again.stderr and "making" not in again.stderr


def test_missing_files_are_told_and_nothing_starts(grid, sweep_here, tmp_path):
    make_mnist(tmp_path / "data" / "MNIST" / "raw")
    done = sweep_here(grid, f"data_dir={tmp_path}/data", "--dry-run")
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{grid}:3: task cifar10 refuses ")
    assert f"{tmp_path}/data (the grid's data_dir) lacks cifar-10-batches-py/data_batch_1" in line


def test_damaged_files_end_the_sweep_before_it_starts(grid, sweep_here, tmp_path):
    make_cifar10(tmp_path / "data")
    (tmp_path / "data" / "cifar-10-batches-py" / "data_batch_2").write_bytes(b"x" * 30_000)
    done = sweep_here(grid, "task=cifar10", f"data_dir={tmp_path}/data", "--debug")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "data_batch_2 is no file of CIFAR-10, or it is torn" in done.stderr
