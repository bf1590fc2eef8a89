"""A sweep that searched shows its thresholds and their law first, in its report and on page Home."""

import numpy as np
import pytest
from scipy.stats import norm

from analysis.data.selection import Selection
from analysis.headline import headline
from analysis.report.searched import searched
from analysis.scaling.predictions import Prediction
from sweepkit.store.searches import Question
from sweepkit.store.store import Store
from tests.store_rows import row

DS, LADDER = (16, 32, 64, 128), (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512)
OF_L = Question("L", "best_test_acc", 0.8)


def accuracy(L, d, label):
    """It reaches 0.8 at L = d if lazy, at L = 6 otherwise."""
    return float(0.5 + 0.5 * norm.cdf(np.log(L / (d if label == "lazy" else 6)) + norm.ppf(0.6)))


@pytest.fixture
def store(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    rows = [
        row(f"{label}-{d}-{L}-{seed}".ljust(20, "0"), L=L, d=d, gamma=g, gamma_label=label, seed=seed,
            best_test_acc=accuracy(L, d, label) + 0.002 * seed)
        for label, g in (("lazy", 1e-4), ("1", 1.0)) for d in DS for L in LADDER for seed in (-1, 0, 1)
    ]  # fmt: skip
    store.commit("p", rows)
    store.write_plan("asked", [one["cell_id"] for one in rows], whole=True, asked={one["cell_id"]: OF_L for one in rows})
    store.write_plan("grid", [one["cell_id"] for one in rows], whole=True)
    return store


def test_the_report_tells_thresholds_and_laws_of_what_was_asked(store):
    (found,) = searched(store.results, Selection("asked"))
    assert found.title == "The least L at which the mean best test accuracy reaches 0.8"
    lazy = [row for row in found.rows if "lazy" in row]
    assert [float(row[found.heads.index("L*")]) for row in lazy] == pytest.approx(DS, rel=0.03)
    assert found.chart is not None and found.chart.title == "L* against d"
    assert [law.split(" (")[0] for law in found.exponents] == ["gamma = lazy: L* ~ d^1.00", "gamma = 1: L* ~ d^0.00"]


def test_networks_without_the_parameter_of_the_law_have_thresholds_and_no_law(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    kinds = [*((d, d, LADDER[::2]) for d in (8, 16, 32)), (64, None, LADDER)]
    rows = [
        row(f"{width}-{d}-{L}-{seed}".ljust(20, "0"), task="bars", L=L, d=d, width=width, seed=seed,
            best_test_acc=accuracy(L, 16, "lazy") + 0.002 * seed)
        for width, d, sizes in kinds for L in sizes for seed in (-1, 0, 1)
    ]  # fmt: skip
    store.commit("p", rows)
    store.write_plan("asked", [one["cell_id"] for one in rows], whole=True, asked={one["cell_id"]: OF_L for one in rows})
    (found,) = searched(store.results, Selection("asked"))
    assert len(found.rows) == 4 and found.chart is None


def test_of_a_grid_that_asked_for_none_there_are_none(store):
    assert searched(store.results, Selection("grid")) == []


def test_the_headline_is_the_law_where_one_was_asked_for(store):
    asked, grid = (headline(store.results, Selection(sweep)) for sweep in ("asked", "grid"))
    assert asked and "L*: mean best test accuracy reaches 0.8" in asked.caption and "gamma = lazy: L* ~ d^1.00" in asked.caption
    assert asked.caption.startswith("task = same_different; L*")
    assert "lines are fitted laws. gamma" in asked.caption  # no theory is about these networks
    assert sorted(set(asked.frame["d"])) == list(DS)
    assert grid and "L*" not in grid.caption


@pytest.mark.parametrize("said", [None, Prediction("L", "d", 1.0, "a theory")])
def test_the_caption_tells_what_is_drawn_and_of_which_networks(monkeypatch, tmp_path, said):
    """The caption did not name the task, it told of dashed lines that no law had, and an interval without a lower end ran off the
    axis in silence."""
    monkeypatch.setattr("analysis.scaling.thresholds.predicted", lambda *asked: said)
    store = Store(str(tmp_path))
    store.prepare()
    rows = [
        row(f"{d}-{L}-{seed}".ljust(20, "0"), task="bars", L=L, d=d, seed=seed,
            best_test_acc=accuracy(L, d, "lazy") + (0.02 if L > 2 else 0.3) * seed)
        for d in (2, 8, 16, 32) for L in LADDER for seed in (-1, 0, 1)
    ]  # fmt: skip
    store.commit("p", rows)
    store.write_plan("asked", [one["cell_id"] for one in rows], whole=True, asked={one["cell_id"]: OF_L for one in rows})
    found = headline(store.results, Selection("asked"))
    assert found and found.caption.startswith("task = bars; L*: mean best test accuracy reaches 0.8, with 95% intervals; lines")
    assert ("dashed lines are predictions" in found.caption) == ("slope 1 [a theory]" in str(found.chart.to_dict()))
    assert ("dashed" in found.caption) == (said is not None)
    assert (found.frame["low"] < 2 / 1.3).any() and "an interval that reaches an end of the axis" in found.caption


def test_two_values_make_no_law(store, tmp_path):
    other = Store(str(tmp_path / "two"))
    other.prepare()
    rows = [row(f"{d}-{L}".ljust(20, "0"), L=L, d=d, best_test_acc=accuracy(L, d, "lazy")) for d in DS[:2] for L in LADDER]
    other.commit("p", rows)
    other.write_plan("asked", [one["cell_id"] for one in rows], whole=True, asked={one["cell_id"]: OF_L for one in rows})
    (found,) = searched(other.results, Selection("asked"))
    assert found.chart is None and len(found.rows) == 2
    shown = headline(other.results, Selection("asked"))
    assert shown and "L*" not in shown.caption


def test_networks_whose_width_grows_with_d_make_one_law(tmp_path):
    """Each d has its own width where a grid sets them together, so that no width has two d."""
    store = Store(str(tmp_path))
    rows = [
        row(f"{d}-{L}-{seed}".ljust(20, "0"), L=L, d=d, width=2 * d, seed=seed,
            best_test_acc=accuracy(L, d, "lazy") + 0.002 * seed)
        for d in DS for L in LADDER for seed in (-1, 0, 1)
    ]  # fmt: skip
    store.commit("p", rows)
    store.write_plan("asked", [one["cell_id"] for one in rows], whole=True, asked={one["cell_id"]: OF_L for one in rows})
    found = headline(store.results, Selection("asked"))
    assert found and "N = 2 d; L*: mean best test accuracy reaches 0.8" in found.caption and "L* ~ d^1.00" in found.caption
