"""The meaning of a grid: axes, zip, exclude, defaults, overrides, merging, order, ids, and the time that planning takes."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from orchestrator.grid.load import Grid, load_grid
from orchestrator.grid.syntax.problems import GridError
from orchestrator.grid.top import Resources
from trainables.cell import cell_of, lazy_gamma
from trainables.tasks import SameDifferent

BLOCK = {"task": "same_different", "L": "3", "d": "4", "width": "8", "gamma": "1", "seed": "0"}


@pytest.fixture
def plan(tmp_path):
    """Plans one block: BLOCK with some keys replaced (None leaves one out), or a whole text."""

    def plan(*overrides: str, text: str = "", defaults: str = "{}", **keys: str | None) -> Grid:
        lines = "".join(f"    {k}: {v}\n" for k, v in {**BLOCK, **keys}.items() if v is not None)
        path = tmp_path / "some.yaml"
        path.write_text(text or f"defaults: {defaults}\ngrids:\n  -\n{lines}")
        return load_grid(path, overrides)

    return plan


def values(grid: Grid, key: str) -> list:
    return [planned.cell.keys()[key] for planned in grid.cells]


@pytest.mark.parametrize(
    ("key", "axis", "expected"),
    [
        ("L", "7", [7]),
        ("L", "[5, 3]", [5, 3]),
        ("L", "25e3", [25000]),
        ("L", "{range: [2, 5]}", [2, 3, 4]),
        ("L", "{range: [9, 2, -3]}", [9, 6, 3]),
        ("seed", "{range: 3}", [0, 1, 2]),
        ("seed", "{range: [3]}", [0, 1, 2]),
        ("L", "{pow2: [1, 4]}", [2, 4, 8, 16]),
        ("L", "{linspace: [2, 4, 3]}", [2, 3, 4]),
        ("L", "{geomspace: [2, 1024, 4]}", [2, 16, 128, 1024]),
        ("L", "{log10: [1, 3, 3]}", [10, 100, 1000]),
        ("L", "[3, {range: [5, 7]}, 9]", [3, 5, 6, 9]),
        ("gamma", "{log10: [-2, 0, 3]}", [0.01, 0.1, 1.0]),
        ("gamma", "{linspace: [0.1, 0.3, 3]}", [0.1, 0.2, 0.3]),  # not 0.30000000000000004: it is the cell of gamma: 0.3
        ("gamma", "1e-3", [0.001]),
        ("gamma", "[lazy, 2]", [1e-5 / 2, 2.0]),
        ("gamma", "[lazy, {log10: [-1, 0, 2]}]", [1e-5 / 2, 0.1, 1.0]),
        ("sigma2", "[0, -0.0, 1]", [0.0, 1.0]),
        ("dtype", "[float32, float64]", ["float32", "float64"]),
    ],
)
def test_every_form_of_an_axis(plan, key, axis, expected):
    assert values(plan(**{key: axis}), key) == expected


def test_rounded_points_that_meet_are_one_cell(plan):
    grid = plan(L="{geomspace: [2, 8, 20]}")
    assert values(grid, "L") == [2, 3, 4, 5, 6, 7, 8]
    assert len(grid.cells) + grid.merged == 20


def test_ids_are_those_of_the_cells_made_one_by_one(plan):
    grid = plan(L="[2, 3]", d="[4, 9]", gamma="[lazy, 0.1, 1]", sigma2="[0, 0.5]", seed="{range: 2}", zip="[[L, d]]")
    assert len(grid.cells) == 24
    for planned in grid.cells:
        keys = planned.cell.keys()
        assert keys.pop("task") == "same_different"
        task = SameDifferent(**{k: keys.pop(k) for k in SameDifferent.model_fields if k in keys})
        cell = cell_of(task, **keys)
        assert planned.cell == cell
        assert planned.cell_id == cell.cell_id


def test_lazy_is_resolved_for_each_task_and_base_lr_is_the_tasks(plan):
    grid = plan(d="[4, 16]", gamma="lazy")
    assert values(grid, "gamma") == [lazy_gamma(SameDifferent(L=3, d=d)) for d in (4, 16)]
    assert values(grid, "base_lr") == [0.1, 0.1]
    assert all(planned.cell.gamma_label == "lazy" for planned in grid.cells)


def test_later_axes_vary_fastest_and_defaults_come_first(plan):
    grid = plan(defaults="{width: [8, 9]}", width=None, L="[2, 3]", seed="[0, 1]")
    points = [(p.cell.width, p.cell.task.L, p.cell.seed) for p in grid.cells]
    assert points == sorted(points)
    assert plan(L="[2, 3]", seed="[0, 1]") == plan(L="[2, 3]", seed="[0, 1]")


def test_zipped_axes_move_together(plan):
    grid = plan(L="[2, 3, 4]", d="{pow2: [4, 6]}", gamma="[1, 0.1]", zip="[[L, d]]")
    assert [(p.cell.task.L, p.cell.task.d) for p in grid.cells[::2]] == [(2, 16), (3, 32), (4, 64)]
    assert len(grid.cells) == 6


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("L > d", [(2, 4), (2, 16), (4, 4), (4, 16), (8, 16)]),
        ("L * 2 >= d ** 2 / 2 and not d == 16", [(2, 4), (2, 16), (4, 16), (8, 16)]),
        ("2 < L < 8 or d in (4, 5)", [(2, 16), (8, 16)]),
        ("task != 'same_different' or -L % 4", [(4, 4), (4, 16), (8, 4), (8, 16)]),
    ],
)
def test_exclude(plan, condition, kept):
    grid = plan(L="[2, 4, 8]", d="[4, 16]", exclude=f'["{condition}"]')
    assert [(p.cell.task.L, p.cell.task.d) for p in grid.cells] == kept


@pytest.mark.parametrize(
    "condition", ["gamma == 'lazy'", "gamma == lazy", "gamma < 1e-4", "gamma in ('lazy', 7)", "not gamma != 'lazy'"]
)
def test_exclude_knows_lazy_by_name_and_by_number(plan, condition):
    assert values(plan(gamma="[lazy, 0.1, 1]", exclude=f'"{condition}"'), "gamma") == [0.1, 1.0]


def test_equal_cells_of_several_blocks_merge_and_save_what_any_of_them_asks_for(plan):
    block = "{task: same_different, d: 4, width: 8, gamma: 1, seed: [0, 0], %s}"
    text = f"grids:\n- {block % 'L: [2, 3]'}\n- {block % 'L: [3, 4], save: neurons'}\n- {block % 'L: 5, save: []'}\n"
    grid = plan(text=text)
    assert values(grid, "L") == [2, 3, 4, 5]
    assert [sorted(p.save) for p in grid.cells] == [["curves"], ["curves", "neurons"], ["neurons"], []]
    assert grid.merged == 6


def test_anchors_merge_keys_and_yaml_1_2(plan):
    text = """
        sweep: no            # a name, not a truth value
        base: &base {task: same_different, d: 4, width: 8, gamma: 1, seed: &seeds {range: 2}}
        """
    with pytest.raises(Exception, match="unknown key 'base'"):
        plan(text=textwrap.dedent(text) + "grids: [{<<: *base, L: 3}]\n")
    text = """
        sweep: no
        defaults: &base {task: same_different, d: 4, width: 8, gamma: 1, seed: &seeds {range: 2}}
        grids: [{<<: *base, L: 3, width: 0x10}, {L: 010, seed: *seeds}]
        """
    grid = plan(text=textwrap.dedent(text))
    assert grid.sweep == "no"
    assert [(p.cell.task.L, p.cell.width, p.cell.seed) for p in grid.cells] == [(3, 16, 0), (3, 16, 1), (10, 8, 0), (10, 8, 1)]


def test_sweep_resources_and_save_have_defaults(plan):
    grid = plan()
    assert (grid.sweep, grid.resources, grid.merged, grid.user_files) == ("some", Resources(), 0, ())
    assert grid.cells[0].save == {"curves"}
    block = ", ".join(f"{key}: {value}" for key, value in BLOCK.items())
    grid = plan(text=f"resources: {{gpus_per_pack: 0.25, pack_seconds: 5}}\ngrids:\n- {{{block}}}")
    assert grid.resources == Resources(gpus_per_pack=0.25, pack_seconds=5)


@pytest.mark.parametrize(
    ("override", "key", "expected"),
    [
        ("gamma=0.1,1", "gamma", [0.1, 1.0]),
        ("gamma=lazy", "gamma", [1e-5 / 2]),
        ("gamma = lazy, log10(-1, 0, 2)", "gamma", [1e-5 / 2, 0.1, 1.0]),
        ("seed=range(3)", "seed", [0, 1, 2]),
        ("L=pow2(1,3)", "L", [2, 4, 8]),
        ("L=[2, 4]", "L", [2, 4]),
        ("L={range: [2, 4]}", "L", [2, 3]),
        ("L=2,range(5,7)", "L", [2, 5, 6]),
        ("steps=2000", "steps", [2000]),
        ("sigma2=0.5", "sigma2", [0.5]),
        ("task=same_different", "task", ["same_different"]),
    ],
)
def test_override(plan, override, key, expected):
    assert values(plan(override, defaults="{steps: 5000}"), key) == expected


@pytest.mark.parametrize(
    ("asked", "saved"),
    [
        ("d_lr", {"d_lr"}),
        ("curve_d_lr", {"curves", "curve_d_lr"}),
        ("richness_curve", {"curves", "curve_d_lr", "curve_d_eff"}),
    ],
)
def test_a_metric_along_training_brings_the_curves_that_hold_its_steps(plan, asked, saved):
    assert plan(save=f"[{asked}]").cells[0].save == saved


def test_override_reaches_every_block_and_save(plan):
    text = "defaults: {task: same_different, d: 4, width: 8, seed: {range: 9}}\ngrids: [{L: 3, gamma: 1}, {L: 4, gamma: [1, 2]}]"
    grid = plan("seed=7", "gamma=0.5", "save=neurons", text=text)
    assert [(p.cell.task.L, p.cell.network.gamma, p.cell.seed, p.save) for p in grid.cells] == [
        (L, 0.5, 7, {"neurons"}) for L in (3, 4)
    ]


def test_an_overridden_key_leaves_its_zip_unless_all_of_the_group_are_given(plan):
    keys = {"L": "[2, 3, 4]", "d": "[4, 5, 6]", "zip": "[[L, d]]"}
    points = [(p.cell.task.L, p.cell.task.d) for p in plan("L=9", **keys).cells]
    assert points == [(9, 4), (9, 5), (9, 6)]
    points = [(p.cell.task.L, p.cell.task.d) for p in plan("L=9,8", "d=7,6", **keys).cells]
    assert points == [(9, 7), (8, 6)]


def test_100_000_cells_are_planned(plan):
    keys = {"L": "{range: [2, 102]}", "d": "{pow2: [1, 10]}", "width": "[8, 16]", "gamma": "[lazy, {log10: [-4, 0, 9]}]"}
    grid = plan(**keys, seed="{range: 5}")
    assert len(grid.cells) == 100_000
    for planned in grid.cells[::997]:
        assert planned.cell_id == planned.cell.cell_id


def test_reading_a_grid_imports_no_ray_torch_or_numba():
    code = """
        import sys
        from orchestrator.grid.load import load_grid
        load_grid("grid.yaml")
        print(*(name for name in ("ray", "torch", "numba") if name in sys.modules))
    """
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", "if True:" + code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("word", ["init", "initial"])
def test_init_is_short_for_initial(plan, word):
    assert [one.cell.network.initial for one in plan(**{word: "truncated"}).cells] == ["truncated"]
    assert [one.cell.network.initial for one in plan(defaults=f"{{{word}: truncated}}").cells] == ["truncated"]
    assert [one.cell.network.initial for one in plan(f"{word}=normal", initial="truncated").cells] == ["normal"]


def test_evaluations_by_decades_are_a_mapping_or_a_text(plan):
    found = plan(eval_at="[{log: 8}, log 3, even]").cells
    assert [one.cell.training.eval_at for one in found] == ["log 8", "log 3", "even"]
    assert [one.cell.training.eval_at for one in plan("eval_at=log(4)").cells] == ["log 4"]


def test_a_schedule_is_a_mapping_or_a_text(plan):
    found = plan(lr_schedule="[{warm_up: 5}, {every: 60, factor: .2}, constant]").cells
    assert [one.cell.descent.lr_schedule for one in found] == ["warm_up 5", "every 60 factor 0.2", "constant"]
    assert [one.cell.descent.lr_schedule for one in plan("lr_schedule=warm_up(5)").cells] == ["warm_up 5"]
    with pytest.raises(GridError, match=r"lr_schedule = \{warm_up: 0\}: must be `constant`, \{warm_up: n\}"):
        plan(lr_schedule="{warm_up: 0}")


FULL = """sweep: full
grids: [{task: clusters, d: 10, classes: 3, P: 60, width: 16, training: adamw, batch: %s, seed: 0}]
"""


def test_a_full_batch_is_a_word_or_0(plan):
    cells = plan(text=FULL % "[full, 0, 16]").cells
    assert [(one.cell.training.batch, one.cell.batch) for one in cells] == [(0, 60), (16, 16)]
    assert [one.cell.batch for one in plan(text=FULL % "[full, {pow2: [4, 6]}]").cells] == [60, 16, 32, 64]
    with pytest.raises(GridError, match="batch = 'ful': must be a whole number >= 0, or the word `full`; did you mean 'full'"):
        plan(text=FULL % "ful")
