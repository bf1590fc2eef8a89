"""A value of the command line enters every block: a problem that it makes says so, and names the block."""

import pytest

from orchestrator.grid.load import Grid, load_grid
from orchestrator.grid.syntax.problems import GridError

GRID = """\
defaults: {width: 64, d: 16, steps: 100, eval_every: 100, gamma: 1, seed: 0}
grids:
  - task: same_different
    find: {axis: L, metric: best_test_acc, at: 0.85, range: [2, 64]}
  - task: same_different
    L: [2, 3]
  - task: hermite
    degree: 3
    P: 8
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.yaml").write_text(GRID)
    return "g.yaml"


def problems(path, *overrides):
    with pytest.raises(GridError) as caught:
        load_grid(path, overrides)
    return str(caught.value).splitlines()


def test_the_axis_that_a_block_searches(path):
    [line] = problems(path, "L=4", "seed=range(2)")
    assert line.startswith("g.yaml:4: find searches along L and finds the values itself, within its `range`")
    assert "so L can be given none: leave L out, and change `range` in the grid if need be; without `find`" in line
    assert line.endswith("(the command line puts L = 4 into this block, as into every block that has this key)")


def test_a_task_for_a_block_of_another(path):
    lines = problems(path, "task=same_different", "seed=range(2)")
    [line] = [line for line in lines if "does not say L" in line]
    assert line.startswith("g.yaml:7: ")
    assert line.endswith("(the command line puts task = 'same_different' into this block, as into every block)")


def test_a_value_that_some_blocks_refuse(path):
    assert problems(path, "d=1") == ["command line: d = 1: must be a whole number >= 2 (in the block of line 7 of g.yaml)"]
    assert problems(path, "width=0") == ["command line: width = 0: must be a whole number >= 1"]  # all of them do


def test_values_that_a_task_refuses_together(path, tmp_path):
    block = "  - {task: in_context, d: 4, context: 8, P: 64}\n"
    (tmp_path / "g.yaml").write_text(GRID + block)
    [line] = problems(path, "tested=old", "seed=range(2)")
    assert line.startswith("g.yaml:10: task in_context refuses ") and "tested: old is of train_tasks" in line
    assert line.endswith("(the command line puts tested = 'old' into this block, as into every block that has this key)")


def test_a_problem_that_the_grid_has_without_the_value(path, tmp_path):
    (tmp_path / "g.yaml").write_text(GRID.replace("    degree: 3\n", ""))
    [line] = problems(path, "seed=range(2)")
    assert line == "g.yaml:7: this block of hermite does not say degree; give it here or under `defaults`"


def test_values_that_python_gives(path):
    with pytest.raises(GridError, match=r"Grid.replace puts values of L into this block, as into every block that has this key"):
        Grid.load(path).replace(L=[4, 8])
