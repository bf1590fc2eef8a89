"""Networks trained by ridge regression as cells of a sweep: grid, rows, curves, and a threshold in P."""

import pytest

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from sweepkit.store.views import connect, fetch
from tests.orchestrator.running.test_driver import run

GRID = """\
sweep: ridge
grids:
  - task: template
    template: aba/abb
    P: [64, 256]
    network: kernel
    training: ridge
    seed: {range: 3}
    save: [curves]
"""


@pytest.fixture
def grid_file(tmp_path):
    path = tmp_path / "ridge.yaml"
    path.write_text(GRID)
    return path


def test_its_curve_is_known(grid_file, results):
    """Another computation has .559 and .191, means of three sets; ours scatter by .03 and .01 (and their sets as much)."""
    run(load_grid(grid_file), results)
    rows = connect(results).execute("SELECT * FROM cells ORDER BY P, seed").df()
    assert len(rows) == 6 and (rows["status"] == "ok").all() and (rows["engine"] == "ridge").all()
    assert rows["beta"].eq(4).all() and rows["ridge"].eq(1e-4).all() and rows["activation"].eq("cos").all()
    means = rows.groupby("P")["test_mse"].mean()
    assert means[64] == pytest.approx(0.56, abs=0.06) and means[256] == pytest.approx(0.19, abs=0.03)
    curves = fetch(results, "SELECT step, count(eval_test_mse), count(train_loss) FROM curves GROUP BY ALL")
    assert curves == [(1, 6, 6)]


def test_a_threshold_in_P_is_found(grid_file, results):
    grid_file.write_text(
        GRID.replace("P: [64, 256]", "find: {axis: P, metric: test_mse, at: 0.5, range: [8, 1024], tolerance: 0.3}")
    )
    run(load_grid(grid_file, ["seed=0,1"]), results)
    [(low, high)] = fetch(results, "SELECT max(P) FILTER (test_mse > .5), min(P) FILTER (test_mse < .5) FROM cells")
    assert 40 < low < 160 and 50 < high < 200  # 80 by the curve


def test_what_it_lacks_is_refused(grid_file):
    for words, reason in (
        ("steps=2", "unknown key 'steps'"),
        ("network=mlp", "training ridge cannot train it; legal: kernel, features"),
        ("training=adam", "training adam cannot train it"),
        ("save=richness", "richness|d_lr|features"),
        ("ridge=0", "must be a number > 0"),
    ):
        with pytest.raises(GridError, match=reason):
            load_grid(grid_file, [words])
