"""Analysis takes those draws for shared that the streams share."""

import pandas as pd
import pytest

from analysis.data.parts import has_training_set, have_training_sets
from analysis.data.sharing import shared_along
from trainables.cell import cell_of, lazy_gamma
from trainables.streams import stream_owner
from trainables.tasks import PSVRT, Hermite3, Linear, Parity2, Pentomino, SameDifferent

OTHER = {
    "L": 6, "d": 32, "sigma2": 1.0, "prefactor": "none", "P": 9, "patch": 4, "patches": 3, "patch_size": 7, "blur": 1.0,
    "width": 7, "loss": "cross_entropy", "gamma": 0.5, "base_lr": 0.3, "steps": 80, "scaling": "mean_field", "kappa": 2.0,
    "network": "relu2", "chains": 6, "initial": "truncated",
}  # fmt: skip


@pytest.mark.parametrize("task", [SameDifferent(L=5, d=16), PSVRT(L=4, patches=2), Pentomino(L=5, patch_size=8)])
def test_networks_that_learn_by_sgd(task):
    settings = {"width": 32, "gamma": lazy_gamma(task), "base_lr": 0.1, "steps": 40, "seed": 0}
    settings |= {"batch": 32, "eval_every": 20, "test_size": 64, "dtype": "float64", "prefactor": task.default_of("prefactor")}
    settings["initial"] = "normal"
    assert_known(task, settings, lambda task, kept: stream_owner(cell_of(task, **kept)), has_training_set=False)


@pytest.mark.parametrize("task", [Hermite3(d=16, P=8), Linear(d=16, P=8, patch=2), Parity2(d=16, P=8)])
def test_networks_at_equilibrium(task):
    settings = {
        "network": "erf2",
        "width": 32,
        "kappa": 1.0,
        "steps": 40,
        "eval_every": 2,
        "seed": 0,
        "scaling": "standard",
        "chains": 4,
        "loss": "mse",
    }
    if not isinstance(task, Parity2):  # real targets have one loss
        del settings["loss"]
    assert_known(task, settings, lambda task, kept: stream_owner(cell_of(task, **kept)), has_training_set=True)


@pytest.mark.parametrize("task", [Hermite3(d=16, P=8), Parity2(d=16, P=8)])
def test_networks_that_learn_by_sgd_from_a_training_set(task):
    settings = {"training": "sgd", "network": "mlp", "width": 32, "gamma": 0.1, "base_lr": 0.1, "seed": 0}
    settings |= {"steps": 40, "eval_every": 20}
    assert_known(task, settings, lambda task, kept: stream_owner(cell_of(task, **kept)), has_training_set=True)
    assert has_training_set(cell_of(task, **settings).columns())


def test_a_share_of_all_pairs_is_a_training_set():
    modular = {"network": "mlp", "training": "adamw", "fraction": 0.5, "modulus": 13}
    assert has_training_set(modular) and not has_training_set(modular | {"fraction": None})
    frame = pd.DataFrame([modular, {**modular, "fraction": None, "P": 8}])
    assert have_training_sets(frame) and not have_training_sets(pd.DataFrame([modular, {**modular, "fraction": None}]))


def assert_known(task, settings, owner, has_training_set):
    for key, value in OTHER.items():
        if key in type(task).model_fields:
            other = owner(type(task).model_validate(task.identity() | {key: value}), settings)
        elif key in settings:
            other = owner(task, settings | {key: value})
        else:
            continue
        assert (other == owner(task, settings)) == shared_along(key, has_training_set), key
