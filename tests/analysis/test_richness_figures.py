"""The figure of grokking, from a store of made curves."""

import pytest

from analysis.figures.registry import FIGURES, Drawn, Missing
from declarations.metric import Metric
from store.store import Store
from tests.store_rows import keys, row

STEPS = [100, 200, 400, 800]
D_LR = Metric("curve_d_lr", "laziness D_LR", "single", low=0, high=1, per="evaluation", on_request=True)


def network(n, d_lr, test):
    curves = {"curve_step": STEPS, "curve_train_acc": [1.0] * 4, "curve_test_acc": test, "curve_train_loss": [0.1] * 4}
    own = {"task": "modular", "L": None, "modulus": 13, "final_test_acc": test[-1]}
    return row(n, **own, **curves, **({"curve_d_lr": d_lr} if d_lr else {}))


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "results"))


def commit(store, *rows):
    store.commit("p", list(rows), [*keys(modulus="whole"), D_LR])
    return FIGURES["Grokking"].draw(store.results, None)


def test_it_counts_the_networks_that_are_rich_before_they_generalise(store):
    first = network(0, [0.8, 0.4, 0.3, 0.2], [0.0, 0.1, 0.2, 1.0])
    other = network(1, [0.8, 0.8, 0.7, 0.2], [0.0, 0.1, 0.6, 1.0])
    found = commit(store, first, other)
    assert isinstance(found, Drawn)
    assert "2 networks" in found.caption
    assert "halfway at step 500, half of the test is right at step 600 (medians)" in found.caption
    assert "first comes before the second in 1 of 2 networks" in found.caption
    of = found.frame.query("measure == 'laziness D_LR' and step == 200").iloc[0]
    assert of["mean"] == pytest.approx(0.6) and of["low"] == 0 and of["high"] == 1 and of["n"] == 2  # two apart tell little


def test_networks_that_never_generalise_are_said(store):
    found = commit(store, network(0, [0.8, 0.4, 0.3, 0.2], [0.0, 0.1, 0.1, 0.1]))
    assert "No network gets half of the test right" in found.caption


def test_without_curves_of_richness_it_says_what_to_save(store):
    found = commit(store, network(0, None, [0.0, 0.1, 0.1, 0.1]))
    assert isinstance(found, Missing) and "richness_curve" in found.needs
