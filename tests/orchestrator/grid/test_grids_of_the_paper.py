"""The grids of the repository: the paper's counts and settings [Tong25], and the small default one."""

from pathlib import Path

import pytest

from orchestrator.grid.load import Grid, load_grid
from sweepkit.shipped import grids
from tests.stand_ins import stand_ins

ROOT = Path(__file__).parents[3]

# figure: networks, width, steps, and the ends of its axes
PAPER = {
    "fig1c_1f": (2520, 1024, 25_000, {"L": (2, 1024, 10), "d": (16, 1024, 7)}),
    "fig1b_rich": (2400, 4096, 50_000, {"L": (2, 1024, 20), "d": (2, 1024, 20), "gamma": (1, 1, 1)}),
    "fig1e_lazy": (2400, 4096, 50_000, {"L": (128, 1024, 20), "d": (128, 1024, 20)}),
    "fig2": (3432, 1024, 25_000, {"L": (2, 8192, 13), "d": (64, 64, 1), "sigma2": (0, 4, 4), "gamma": (1e-5 / 8, 1, 11)}),
    "figc3": (1584, 1024, 25_000, {"L": (2, 12, 11), "d": (128, 1024, 4), "gamma": (1, 100, 6)}),
    "figf1": (528, 4096, 25_000, {"L": (16, 16, 1), "d": (128, 1024, 4), "gamma": (1e-5, 1, 11)}),
    "fig3b": (288, 512, 100_000, {"L": (16, 2048, 8), "patches": (5, 5, 1), "gamma": (1e-5, 1, 6)}),
    "fig3c": (324, 512, 100_000, {"L": (1024, 1024, 1), "patches": (2, 10, 9), "gamma": (1e-5, 1, 6)}),
    "fig3e": (288, 512, 100_000, {"L": (2, 16, 8), "patches": (2, 2, 1), "gamma": (1e-5, 1, 6), "blur": (0.5, 0.5, 1)}),
    "fig3f": (648, 512, 100_000, {"L": (14, 16, 2), "patches": (2, 10, 9), "gamma": (1e-5, 1, 6)}),
    # Layers are of 6 lengths, and so lazy is 6 numbers.
    "fig3h_g1": (2520, 1024, 50_000, {"L": (8, 90, 5), "layer": ("id", "relu5_3", 14), "gamma": (1e-5 / 2**8.5, 1, 11)}),
}
TASKS = {
    "fig3b": ("psvrt", 0.5), "fig3c": ("psvrt", 0.5), "fig3e": ("pentomino", 0.5), "fig3f": ("pentomino", 0.5),
    "fig3h_g1": ("cifar100", 0.01),
}  # fmt: skip
"""Task and base rate of a figure; all others are same-different at 0.1."""


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    stand_ins(tmp_path)
    monkeypatch.setenv("SWEEP_DATA_DIR", str(tmp_path))


def axis(grid: Grid, key: str) -> tuple[float, float, int]:
    values = {p.cell.keys()[key] for p in grid.cells}
    return min(values), max(values), len(values)


@pytest.mark.parametrize("name", PAPER)
def test_a_figure_has_the_papers_axes(name):
    count, width, steps, axes = PAPER[name]
    grid = load_grid(name)
    assert (len(grid.cells), grid.merged) == (count, 0)
    assert grid.sweep == name
    assert {key: axis(grid, key) for key in axes} == {
        key: ends if key == "layer" else pytest.approx(ends) for key, ends in axes.items()
    }
    task, base_lr = TASKS.get(name, ("same_different", 0.1))
    fixed = {"task": task, "batch": 128, "eval_every": 1000, "test_size": 1024, "base_lr": base_lr, "dtype": "float32"}
    for p in grid.cells:
        keys = p.cell.keys()
        assert {k: keys[k] for k in fixed} == fixed
        assert (keys["width"], keys["steps"]) == (width, steps)
    assert axis(grid, "seed") == (0, 5, 6)


def test_gamma_near_zero_is_lazy_where_the_paper_says_so():
    for name, share in (("fig1c_1f", 1 / 6), ("fig1e_lazy", 1), ("fig2", 1 / 11), ("fig1b_rich", 0), ("figc3", 0)):
        cells = load_grid(name).cells
        assert sum(p.cell.gamma_label == "lazy" for p in cells) == pytest.approx(share * len(cells))


def test_every_grid_says_what_it_shows_and_how_many_networks_it_has():
    paths = {name: path for name, path in grids().items() if "grids" in path.parts}
    assert paths.keys() >= set(PAPER)
    for path in paths.values():
        head = path.read_text().split("sweep:")[0]
        assert all(line.startswith("#") for line in head.splitlines())
        grid = load_grid(path)
        count = f"= {len(grid.searches)} thresholds" if grid.searches else f"= {len(grid.cells)} networks"
        assert count in head, path.name


def test_the_default_grid():
    grid = load_grid(ROOT / "grid.yaml")
    assert grid.sweep == "eq3"
    assert axis(grid, "L") == (2, 12, 11)
    assert {p.cell.gamma_label for p in grid.cells} == {"1", "0.1", "lazy"}
    assert all(p.cell.task.d == 128 and p.save == {"curves", "neurons"} for p in grid.cells)
