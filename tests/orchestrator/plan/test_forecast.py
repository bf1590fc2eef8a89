"""What a dry run says on the terminal: shapes with the names of their parts, and warnings of own parts."""

import pytest
from typer.testing import CliRunner

from orchestrator.sweep import app
from tests.own_parts import PARITY, keep_registries, own_grid

GRID = """\
defaults: {steps: 60, eval_every: 20, batch: 16, test_size: 64, width: 8, L: 4, d: 4, gamma: 1, seed: 0}
grids: [{task: same_different, network: NETWORK, training: TRAINING}]
"""


def dry_run(path, results) -> str:
    done = CliRunner().invoke(app, [str(path), "--results", results, "--dry-run"])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("network", "training", "named"),
    [
        ("[relu2, mlp]", "sgd", ["network=relu2", "network=mlp"]),
        ("relu2", "[sgd, adam]", ["training=sgd", "training=adam"]),
        ("relu2", "sgd", []),
    ],
)
def test_shapes_name_the_parts_of_which_several_are_planned(tmp_path, results, network, training, named):
    path = tmp_path / "g.yaml"
    path.write_text(GRID.replace("NETWORK", network).replace("TRAINING", training))
    said = dry_run(path, results)
    assert all(word in said for word in named)
    assert ("network=" in said, "training=" in said) == (network[0] == "[", training[0] == "[")


@pytest.mark.parametrize("searches", [True, False])
def test_an_estimate_says_that_it_is_of_the_first_batch_of_a_search(tmp_path, results, searches):
    path = tmp_path / "g.yaml"
    grid = GRID.replace("NETWORK", "relu2").replace("TRAINING", "sgd")
    find = {"L: 4, ": "", "training: sgd": "training: sgd, find: {axis: L, at: 0.8, range: [2, 64]}"} if searches else {}
    for word, other in find.items():
        grid = grid.replace(word, other)
    path.write_text(grid.replace("seed: 0", "seed: {range: 4}"))
    said = dry_run(path, results)
    assert (", the first batch: about " in said, "1 search will ask for about " in said) == (searches, searches)


def test_labels_of_one_class_are_a_warning(tmp_path, results, monkeypatch):
    keep_registries(monkeypatch)
    one_class = PARITY.replace("x[:, symbols].prod(axis=1) > 0", "x[:, 0] > -2")
    said = dry_run(own_grid(tmp_path, task=one_class), results)
    found = [line for line in said.splitlines() if "labels that are all" in line]
    assert found and all(line.startswith("warning: ") and "own_task.py:" in line for line in found)


@pytest.mark.parametrize(("load", "is_busy"), [(0.2, False), (1000.0, True)])
def test_a_busy_machine_is_told(tmp_path, results, monkeypatch, load, is_busy):
    path = tmp_path / "g.yaml"
    path.write_text(GRID.replace("NETWORK", "relu2").replace("TRAINING", "sgd"))
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    assert ("this machine is busy" in dry_run(path, results)) == is_busy


def test_the_shape_that_leaves_out_what_others_say_has_a_name(tmp_path, results):
    """Its row began with nothing."""
    path = tmp_path / "g.yaml"
    path.write_text(GRID.replace("NETWORK", "mlp, depth: [2, 3]").replace("TRAINING", "sgd"))
    rows = [line.split() for line in dry_run(path, results).splitlines() if " cpu " in line]
    assert {row[0] for row in rows} == {"defaults", "depth=3"}
