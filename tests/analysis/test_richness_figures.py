"""Figures of richness, from stores of made networks."""

import json

import pytest
from sweepkit.studies.nam26.figures import FIGURES as RICHNESS_FIGURES

from analysis.figures.registry import FIGURES, Drawn, Missing
from sweepkit.declarations.columns import Metric
from sweepkit.store.store import Store
from tests.store_rows import keys, row
from trainables.metrics import requested_metric

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


def test_a_transformer_stands_beside_the_perceptron(store):
    own = network(0, [0.8, 0.4, 0.3, 0.2], [0.0, 0.1, 0.2, 1.0])
    other = network(1, [0.6, 0.5, 0.4, 0.1], [0.0, 0.1, 0.6, 1.0]) | {"task": "modular_tokens", "modulus": 97}
    found = commit(store, own, other)
    assert [panel["title"] for panel in found.chart.to_dict()["hconcat"]] == ["perceptron", "transformer"]
    assert (
        "Perceptron: " in found.caption
        and "Transformer: task = modular_tokens" in found.caption
        and "modulus = 97" in found.caption
    )
    assert set(found.frame["networks"]) == {"perceptron", "transformer"}


def test_networks_that_never_generalise_are_said(store):
    found = commit(store, network(0, [0.8, 0.4, 0.3, 0.2], [0.0, 0.1, 0.1, 0.1]))
    assert "No network gets half of the test right" in found.caption


def test_without_curves_of_richness_it_says_what_to_save(store):
    found = commit(store, network(0, None, [0.0, 0.1, 0.1, 0.1]))
    assert isinstance(found, Missing) and "richness_curve" in found.needs


def test_networks_without_curves_of_richness_are_left_out(store):
    """Neither those of the same setting, nor a setting of which there are more."""
    own = network(0, [0.8, 0.4, 0.3, 0.2], [0.0, 0.1, 0.2, 1.0])
    same, more = network(1, None, [0.0] * 4), [network(n, None, [0.0] * 4) | {"width": 64} for n in range(2, 6)]
    found = commit(store, own, same, *more)
    assert isinstance(found, Drawn), found
    assert "width = 512" in found.caption and "1 network" in found.caption and set(found.frame["n"]) == {1}


RICH = [requested_metric(name).metric for name in ("d_lr", "d_eff_util", "rho", "quality", "utilisation")]


def test_richness_stands_beside_accuracy_and_the_symbols_that_suffice(store):
    def cell(n, L, gamma_label, acc):
        gamma = 1e-5 if gamma_label == "lazy" else 1.0
        lazy = {"lazy": 0.9, "1": 0.4}[gamma_label]
        return row(n, L=L, gamma=gamma, gamma_label=gamma_label, seed=n % 2, final_test_acc=acc, final_test_auc=acc,
                   d_lr=lazy + 0.01 * (n % 2), sigma2=0.0, prefactor="sqrt_d")  # fmt: skip

    accuracies = {"1": {2: 0.8, 4: 0.9, 8: 0.99}, "lazy": {2: 0.5, 4: 0.52, 8: 0.6}}
    rows = [
        cell(seed + 2 * i + 10 * (label == "lazy"), L, label, acc)
        for label, by_symbols in accuracies.items()
        for i, (L, acc) in enumerate(by_symbols.items())
        for seed in range(2)
    ]
    store.commit("p", rows, [*keys(sigma2="number"), *RICH])
    found = FIGURES["Richness"].draw(store.results, None)
    assert isinstance(found, Drawn), found
    assert set(found.frame["measure"]) == {"final_test_acc", "final_test_auc", "d_lr"}
    assert "D_LR over these L: lazy 0.91 to 0.91, gamma = 1 0.41 to 0.41" in found.caption
    assert "gamma = 1 L* = 2.8" in found.caption  # halfway from 2 to 4 on a logarithmic axis
    assert "lazy not reached up to L = 8" in found.caption


def test_spectra_of_networks_with_a_label_code(store):
    def cell(n, trained, utilisation):
        return row(n, task="digits", L=None, d=None, code=1.0, trained=trained, d_lr=0.1, seed=n % 2, rho=[1.0, 0.1],
                   quality=[0.2, 0.3], utilisation=utilisation)  # fmt: skip

    rows = [cell(n, "all", [0.5, 0.5]) for n in range(2)] + [cell(n, "last", [0.1, 0.2]) for n in (2, 3)]
    other = cell(4, "all", [0.9, 0.1]) | {"code": 0.0}
    store.commit("p", [*rows, other], [*keys(code="number", trained="text"), *RICH])
    found = FIGURES["Codes"].draw(store.results, None)
    assert isinstance(found, Drawn), found
    assert len(found.frame) == 8 and other["cell_id"] not in set(found.frame["cell_id"])
    means = found.frame.groupby(["trained", "eigenfunction"])["utilisation"].mean()
    assert means.tolist() == pytest.approx([0.5, 0.5, 0.1, 0.2])
    text = json.dumps(found.chart.to_dict())
    assert text.index("all layers trained") < text.index("the last layer trained")
    assert "4 networks" in found.caption and "the last layer trained: d_lr 0.1" in found.caption


@pytest.mark.parametrize("declared", [RICH[:1], RICH], ids=["d_lr alone", "all, without values"])
def test_networks_without_spectra_have_no_figure_of_them(store, declared):
    rows = [row(n, task="digits", L=None, code=1.0, trained=trained, d_lr=0.1) for n, trained in enumerate(("all", "last"))]
    store.commit("p", rows, [*keys(code="number", trained="text"), *declared])
    assert isinstance(FIGURES["Codes"].draw(store.results, None), Missing)


def test_symbols_without_auc_have_two_panels(store):
    rows = [row(n, L=L, d_lr=0.4, sigma2=0.0, prefactor="sqrt_d", final_test_acc=0.9, seed=0) for n, L in enumerate((2, 4))]
    rows += [one | {"cell_id": f"{9 + n:020x}", "seed": 1, "d_lr": None} for n, one in enumerate(rows)]
    store.commit("p", rows, [*keys(sigma2="number"), RICH[0]])
    found = FIGURES["Richness"].draw(store.results, None)
    assert isinstance(found, Drawn), found
    assert set(found.frame["measure"]) == {"final_test_acc", "d_lr"} and "AUC" not in found.caption
    assert set(found.frame["n"]) == {1}


@pytest.mark.parametrize("saved", [[], RICH], ids=["plain", "rich"])
@pytest.mark.parametrize("name", [figure.name for figure in RICHNESS_FIGURES if figure.grids])
def test_a_store_without_such_networks_is_said(store, name, saved):
    store.commit("p", [row(0, L=8)], saved)
    assert isinstance(FIGURES[name].draw(store.results, None), Missing)


def test_closed_forms_are_drawn_without_networks():
    found = FIGURES["Forms"].draw("", None)
    assert isinstance(found, Drawn) and len(found.chart.to_dict()["hconcat"]) == 3
    value = found.frame.set_index(["curve", "x"])["value"]
    assert value["equal variances", 16] == pytest.approx(1 - (16 / 64) ** 0.5)
    assert value["least", 64] == pytest.approx(value["largest", 64])  # all directions: nothing is left to choose
    assert (value["least"].iloc[:-1] < value["largest"].iloc[:-1]).all()
