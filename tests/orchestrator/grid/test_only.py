"""Choosing networks of a grid by their values: on the command line, in Python, and what is said where nothing fits."""

from pathlib import Path

import pytest

from orchestrator.grid.load import Grid, load_grid
from orchestrator.grid.syntax.problems import GridError
from sweepkit.shipped import grid_file

ROOT = Path(__file__).parents[3]
GRID = """
sweep: some
defaults: {steps: 100, eval_every: 100, width: 16, seed: {range: 2}}
grids:
  - {task: same_different, L: [4, 8], d: [16, 32], gamma: [1, lazy]}
  - {task: hermite, degree: [2, 3], d: 16, network: mlp, depth: 1, base_lr: [0.1, 0.3333333333]}
  - {task: template, template: aba/abb, network: one_hot, P: 64}
"""


def chosen(*only, overrides=(), tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(GRID)
    return load_grid(path, overrides, only=only)


def cells(grid, *keys):
    return {tuple(p.cell.every_key()[key] for key in keys) for p in grid.cells}


def test_networks_are_chosen_by_words_numbers_and_ranges(tmp_path):
    assert cells(chosen("task=hermite degree=3", tmp_path=tmp_path), "task", "degree") == {("hermite", 3)}
    assert cells(chosen("L=8", "d=16,32", tmp_path=tmp_path), "L", "d") == {(8, 16), (8, 32)}  # other tasks have no L
    assert cells(chosen("seed=range(1)", tmp_path=tmp_path), "task", "seed") == {
        ("same_different", 0), ("hermite", 0), ("template", 0),
    }  # fmt: skip
    assert {p.cell.gamma_label for p in chosen("gamma=lazy", tmp_path=tmp_path).cells} == {"lazy"}
    assert {p.cell.gamma_label for p in chosen("gamma=1 task=same_different", tmp_path=tmp_path).cells} == {"1"}
    assert len(chosen("network=mlp,one_hot", tmp_path=tmp_path).cells) == 8 + 2
    assert len(chosen("base_lr=0.333333", tmp_path=tmp_path).cells) == 4  # numbers as they are shown, to six digits


def test_values_that_a_block_does_not_vary_choose_too(tmp_path):
    assert cells(chosen("network=relu2", tmp_path=tmp_path), "task") == {("same_different",)}
    assert len(chosen("batch=128 task=same_different", tmp_path=tmp_path).cells) == 16


def test_overrides_come_first_and_the_chosen_networks_keep_their_ids(tmp_path):
    more = chosen("task=same_different L=4 d=16 gamma=1", overrides=["seed=range(3)"], tmp_path=tmp_path)
    whole = chosen(tmp_path=tmp_path)
    assert len(more.cells) == 3 and len({p.cell_id for p in more.cells} & {p.cell_id for p in whole.cells}) == 2
    assert whole.is_whole and not chosen("seed=0", tmp_path=tmp_path).is_whole


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ("tsak=hermite", "--only: unknown key 'tsak'; did you mean 'task'?"),
        ("degree=lots", "--only: degree = 'lots': must be a whole number"),
        ("L=16", "--only: no network of the grid has L = 16; the grid's: 4, 8"),
        ("template=abc", "--only: no network of the grid has template = 'abc'; the grid's: aba/abb"),
        ("L=4 degree=2", "--only: no network of the grid has these values together: L, degree"),
        ("L=4,16", "--only: no network of the grid has L = 16; the grid's: 4, 8"),
        ("seed=range(5,9)", "--only: no network of the grid has seed = range(...); the grid's: 0, 1"),
        ("network=relu2,lstm", "--only: no network of the grid has network = 'lstm'; the grid's: relu2, mlp, one_hot"),
        ("save=curves", "--only: `save` tells no networks apart"),
        ("", "--only: cannot read ''; write key=value"),
        ("L=4 L=8", "--only: key 'L' is given twice; join the values: L=4,8"),
        ("L", "--only: cannot read 'L'; write key=value"),
        ("template='aba", "--only: cannot read the values of"),
        ("zip=1", "--only: `zip` "),
    ],
)
def test_what_fits_nothing_is_said(tmp_path, only, said):
    with pytest.raises(GridError) as error:
        chosen(only, tmp_path=tmp_path)
    assert said in str(error.value), str(error.value)


def test_searches_keep_what_is_chosen(tmp_path):
    path = tmp_path / "find.yaml"
    path.write_text("defaults: {steps: 100, eval_every: 100, width: 16, seed: {range: 2}}\n"
                    "grids: [{task: same_different, d: [16, 32], gamma: [1, lazy],"
                    " find: {axis: L, metric: best_test_acc, at: 0.75, range: [2, 64]}}]")  # fmt: skip
    grid = load_grid(path, only=["d=16"])
    assert len(grid.searches) == 2 and {search.keys["d"] for search in grid.searches} == {16}
    assert len(load_grid(path).searches) == 4
    with pytest.raises(GridError, match="the grid searches along L, and a search needs all of its values: choose by other keys"):
        load_grid(path, only=["L=16,64"])


def test_a_block_that_is_not_chosen_need_not_allow_the_values_of_the_command_line():
    """Mimetic attention of heads of 64 refuses an embedding of 32; the block of copying does not."""
    path, given = grid_file("templates_more"), ["embedding=32"]
    with pytest.raises(GridError, match="mimetic wants heads no larger than the embedding"):
        load_grid(path, given)
    assert cells(load_grid(path, given, only=["template=copy"]), "template", "embedding") == {("copy", 32)}


def test_nor_the_blocks_of_other_networks_whose_keys_have_other_bounds(tmp_path):
    """`depth` of an mlp ends at 6, that of a residual network at 64."""
    path = tmp_path / "g.yaml"
    path.write_text(
        "defaults: {task: same_different, L: 4, d: 8, width: 8, steps: 10, eval_every: 10, seed: 0, base_lr: 0.1}\n"
        "grids:\n  - {network: mlp, depth: 2}\n  - {network: [mlp, residual], depth: 4}\n"
    )
    with pytest.raises(GridError, match="<= 6"):
        load_grid(path, ["depth=8"])
    chosen = load_grid(path, ["depth=8"], only=["network=residual"])
    assert [(p.cell.network.name, p.cell.network.depth) for p in chosen.cells] == [("residual", 8)]
    with pytest.raises(GridError, match="<= 6"):
        load_grid(path, ["depth=8"], only=["network=residual,mlp"])
    path.write_text(path.read_text().replace("seed: 0, ", ""))  # what all blocks lack may still come from there
    assert len(load_grid(path, ["seed=0"], only=["network=residual"]).cells) == 1


def test_in_python(tmp_path):
    grid = Grid.load(GRID)
    assert cells(grid.only(task="hermite", degree=[2]), "task", "degree") == {("hermite", 2)}
    assert len(grid.only(gamma="lazy").only(L=4).replace(seed=range(3)).cells) == 2 * 3
    with pytest.raises(GridError, match="no network of the grid has degree = 4"):
        grid.only(degree=4)
    with pytest.raises(GridError, match=r"Grid\.only: networks are chosen by L already: choose all of its values at once"):
        grid.only(L=4).only(L=8)
