"""The figure of linear denoisers, from made networks."""

import numpy as np
import pytest
from sweepkit.studies.denoising.theory import share_one, time_to_share

from analysis.figures.drawn import Drawn, Missing
from analysis.figures.registry import FIGURES
from tests.analysis.test_training_figures import SEEDS, made_store
from tests.trainables.tasks.test_denoising import Denoising
from trainables.cell import cell_of

MODE = "curve_mode_1"


def cells(rate, steps, noise=0.001):
    keys = {"network": "linear1", "training": "gd", "base_lr": rate, "steps": steps, "eval_every": steps // 100}
    tasks = [Denoising(d=4, P=32, strength=variance, noise=noise) for variance in (1.0, 4.0)]
    return [cell_of(task, seed=seed, **keys) for task in tasks for seed in SEEDS]


def learnt(cell):
    steps = np.arange(1, 101) * cell.training.eval_every
    share = share_one(2 * cell.training.base_lr * steps, cell.task.strength, cell.task.noise)
    return {"test_mse": 1.0, "curve_step": list(steps), MODE: list(share)}


def test_half_times_are_those_of_the_store(tmp_path):
    made = cells(0.0025, 500) + cells(3e-5, 500, noise=64.0)
    found = FIGURES["Denoising"].draw(made_store(tmp_path, made, learnt, [MODE]), None)
    assert isinstance(found, Drawn), found
    assert "12 networks" in found.caption and found.chart.to_dict()
    assert "little noise -1.00" in found.caption and "much noise -0.03" in found.caption  # ln(68/65)/ln 4
    said = time_to_share(0.5, found.frame["strength"], [0.001] * 2 + [64] * 2, 1)
    assert found.frame["theory"].to_numpy() == pytest.approx(said) and found.frame["mean"].to_numpy() == pytest.approx(
        said, 0.001
    )


def test_too_short_training_is_said(tmp_path):
    found = FIGURES["Denoising"].draw(made_store(tmp_path, cells(1e-6, 100), learnt, [MODE]), None)
    assert isinstance(found, Missing) and "train longer" in found.needs


def test_a_store_of_other_networks_lacks_them(tmp_path):
    found = FIGURES["Denoising"].draw(made_store(tmp_path, cells(0.0025, 100), lambda cell: {"test_mse": 1.0}), None)
    assert isinstance(found, Missing) and MODE in found.needs
