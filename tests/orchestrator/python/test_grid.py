"""Grids as Python makes them: the same cells as from the file and the command line, and the same words for what is wrong."""

import pickle

import numpy as np
import pytest

from orchestrator import Grid, GridError
from orchestrator.grid.load import load_grid
from tests.orchestrator.conftest import SMALL

AS_DICT = {
    "sweep": "small",
    "defaults": {"steps": 200, "eval_every": 100, "width": 32, "batch": 32, "test_size": 64},
    "grids": [{"task": "same_different", "L": np.array([3, 5]), "d": 16, "gamma": (1, "lazy"), "seed": range(3)}],
}


def ids(grid):
    return [planned.cell_id for planned in grid.cells]


def test_a_file_a_text_and_a_dictionary_give_the_same_networks(small_grid):
    file = Grid.load(small_grid)
    assert ids(file) == ids(Grid.load(SMALL)) == ids(Grid.load(AS_DICT)) == ids(load_grid(small_grid))
    assert (file.sweep, Grid.load(AS_DICT, name="mine").sweep) == ("small", "mine")
    assert ids(pickle.loads(pickle.dumps(file))) == ids(file)


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"seed": range(2)}, ["seed=range(2)"]),
        ({"L": [4, 6], "gamma": [0.1, "lazy"]}, ["L=4,6", "gamma=0.1,lazy"]),
        ({"L": "2,range(4,6)", "d": {"pow2": [3, 4]}}, ["L=2,range(4,6)", "d=pow2(3,4)"]),
        ({"L": np.arange(3, 5), "base_lr": np.float64(0.05)}, ["L=3,4", "base_lr=0.05"]),
    ],
)
def test_replace_is_what_the_command_line_does(small_grid, axes, words):
    replaced = Grid.load(small_grid).replace(**axes)
    assert ids(replaced) == ids(load_grid(small_grid, words))
    assert Grid.load(small_grid).is_whole and not replaced.is_whole


def test_replacing_twice_keeps_the_first(small_grid):
    twice = Grid.load(small_grid).replace(L=4, sweep="mine").replace(seed=0)
    assert (len(twice.cells), twice.sweep) == (2, "mine")
    assert repr(twice) == "Grid mine: 2 networks, gamma = 1, lazy"


def test_the_table_has_one_row_per_network(small_grid):
    table = Grid.load(small_grid).to_pandas()
    assert len(table) == 12 and {"cell_id", "L", "gamma", "seed"} <= {*table}
    assert sorted(table["gamma"].unique()) == ["1", "lazy"]


def test_everything_wrong_is_said_at_once(small_grid, tmp_path):
    grid = Grid.load(small_grid)
    with pytest.raises(GridError, match=r"(?s)Grid.replace: L = 1: must be.*unknown key 'gama'; did you mean 'gamma'"):
        grid.replace(gama=1, L=1)
    with pytest.raises(GridError, match=r"`zip` stands in the grid"):
        grid.replace(zip=[["L", "d"]])
    with pytest.raises(GridError, match=r"no such file; did you mean '.*small.yaml'"):
        Grid.load(tmp_path / "smal.yaml")
    with pytest.raises(GridError, match=r"not a grid: 3; give the path of a YAML file"):
        Grid.load(3)  # type: ignore[arg-type]
    with pytest.raises(GridError, match=r"grid:2: not YAML"):
        Grid.load("sweep: x\n  - y: [")
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(GridError, match="nested over 20 deep"):
        grid.replace(L=endless)


def test_a_file_where_the_parts_of_a_grid_belong_is_told_of_load():
    with pytest.raises(GridError, match=r"write Grid\.load\('grid\.yaml'\)"):
        Grid("grid.yaml")
