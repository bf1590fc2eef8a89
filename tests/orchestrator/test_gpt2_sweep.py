"""GPT-2 as a user runs it: refused where weights are missing or of another size, trained from given ones, stored."""

import pytest

from sweepkit.store.views import connect, fetch
from tests.made_gpt2 import made_gpt2
from trainables.features.folders import DATA_DIR

GRID = """\
sweep: gpt2
grids:
  - {task: template, template: aba/abb, P: 8, test_alphabet: 8, network: gpt2,
     pretrained: [false, true], identity_qk: [false, true],
     depth: 2, heads: 2, head_dim: 8, embedding: 16, width: 64, steps: 10, eval_every: 5, test_size: 20, seed: {range: 2}}
"""


@pytest.fixture
def grid(tmp_path, monkeypatch):
    path = tmp_path / "gpt2.yaml"
    path.write_text(GRID)
    monkeypatch.setenv(DATA_DIR, str(tmp_path / "data"))
    return path


def test_from_weights_to_a_query(grid, sweep_here, results, tmp_path):
    made_gpt2(tmp_path / "data" / "gpt2")
    done = sweep_here(grid, "--debug")
    assert done.returncode == 0, done.stderr
    measured = "SELECT pretrained, identity_qk, count(*), bool_and(test_mse > 0) FROM cells GROUP BY ALL ORDER BY ALL"
    assert fetch(results, measured) == [(given, qk, 2, True) for given in (False, True) for qk in (False, True)]
    assert "weights_dir" not in connect(results).execute("SELECT * FROM cells").fetchdf().columns
    made_gpt2(tmp_path / "elsewhere")
    again = sweep_here(grid, f"weights_dir={tmp_path}/elsewhere", "--debug")
    assert "0 to train" in again.stderr
    made_gpt2(tmp_path / "other", seed=1)
    other = sweep_here(grid, f"weights_dir={tmp_path}/other", "--dry-run")
    assert "8 cells, 4 in the store, 4 to train" in other.stderr


def test_missing_weights_are_told_and_nothing_starts(grid, sweep_here, tmp_path):
    done = sweep_here(grid, "--dry-run")
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"{grid}:3: network gpt2: GPT-2's weights: {tmp_path}/data/gpt2 (SWEEP_DATA_DIR) lacks config.json; put"
    )


def test_the_place_of_weights_is_no_condition(grid, sweep_here, tmp_path):
    grid.write_text(GRID.replace("seed: {range: 2}", "seed: 0, exclude: weights_dir == 'a'"))
    done = sweep_here(grid, "--dry-run")
    assert done.returncode == 2 and "weights_dir" in done.stderr
