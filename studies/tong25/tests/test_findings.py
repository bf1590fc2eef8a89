"""Figures of docs/science/findings.md: each draws what a made store says, and is missing from an empty one."""

import numpy as np
import pytest
from sweepkit.studies.tong25.figures.errors import LAWS, fit
from sweepkit.studies.tong25.theory import rich

from analysis.figures.registry import FIGURES, Drawn, Missing
from sweepkit.store.store import Store
from tests.store_rows import OWN_KEYS, keys, row

SIZES = {"width": 1024, "prefactor": "sqrt_d", "steps": 25000, "base_lr": 0.1, "test_size": 1024, "eval_every": 1000}
LAZY, MIDDLE, RICH = ({"gamma": gamma, "gamma_label": label} for gamma, label in ((1e-6, "lazy"), (0.1, "0.1"), (1.0, "1")))


def store(folder, rows, declared=()):
    made = Store(str(folder))
    made.prepare()
    made.commit("p", [row(n, **one) for n, one in enumerate(rows)], declared)
    return made.results


@pytest.mark.parametrize("name", ["Order", "Errors", "Noise"])
def test_a_store_without_such_networks_has_no_such_figure(tmp_path, name):
    assert isinstance(FIGURES[name].draw(store(tmp_path, [SIZES]), None), Missing)


@pytest.mark.parametrize("name", LAWS)
def test_a_law_fits_errors_that_follow_it_and_no_others(name):
    L = np.arange(3, 13, dtype=float)
    error = 0.1 * np.exp(-0.3 * (LAWS[name](L) - LAWS[name](L[:1])))
    for other, law in LAWS.items():
        found = fit(L, error, 0.01 * error, law)
        assert found.degrees == 8 and (found.chi2 < 1e-6) == (other == name)
    assert fit(L, error, 0.01 * error, LAWS[name]).slope == pytest.approx(-0.3)


def test_chi2_of_noise_is_about_its_degrees():
    L, rng = np.arange(3, 13, dtype=float), np.random.default_rng(0)
    error = np.exp(-0.5 * L)
    found = [fit(L, error * np.exp(0.02 * rng.standard_normal(10)), 0.02 * error, LAWS["exp(-c L)"]).chi2 for _ in range(400)]
    assert np.mean(found) == pytest.approx(8, abs=0.8)


def test_errors_beside_both_formulas(tmp_path):
    rows = [
        {"L": L, "d": 256, "sigma2": 0.0, "seed": seed, "final_test_size": 20000, "readout_ratio": 1.6, **SIZES, **RICH,
         "final_test_acc": 1 - 0.6 * np.exp(-0.5 * L) * (1 + 0.02 * seed)}
        for L in range(3, 9) for seed in (-1, 0, 1)
    ]  # fmt: skip
    found = FIGURES["Errors"].draw(store(tmp_path, rows, keys(final_test_size="whole")), None)
    assert isinstance(found, Drawn), found
    np.testing.assert_allclose(found.frame["error"], 0.6 * np.exp(-0.5 * found.frame["L"]))
    np.testing.assert_allclose(found.frame["Eq. 3"], 1 - rich.test_accuracy(found.frame["L"]))
    np.testing.assert_allclose(found.frame["Eq. C.18 at the networks' ratio"], 1 - rich.test_accuracy(found.frame["L"], 1.6))
    assert "exp(-c L): c = 0.5, chi2" in found.caption and found.chart.to_dict()


def test_order_and_sign_of_symbols_and_patterns(tmp_path):
    ends = {"final_test_acc": 0.5, "final_test_auc": 0.9}
    symbols = [{"L": 16, "d": d, "sigma2": 0.0, "seed": seed, **SIZES, **ends, **gamma}
               for d in (16, 32) for gamma in (LAZY, RICH) for seed in range(2)]  # fmt: skip
    patterns = [{"task": "psvrt", "L": L, "d": None, "patches": 5, "patch_size": 5, "seed": seed, **ends, **gamma}
                for L in (16, 32) for gamma in (LAZY, MIDDLE) for seed in range(2)]  # fmt: skip
    found = FIGURES["Order"].draw(store(tmp_path, [*symbols, *patterns], OWN_KEYS), None)
    assert isinstance(found, Drawn), found
    means = found.frame.groupby(["networks", "measure"])["mean"].agg(["mean", "size"])
    assert list(means["mean"]) == pytest.approx([0.5, 0.9, 0.5, 0.9])
    assert set(means["size"]) == {4} and found.chart.to_dict()


def test_noise_along_training_and_against_symbols(tmp_path):
    noisy = {"d": 64, "sigma2": 4.0, **SIZES}
    rows = [{**noisy, "L": L, "seed": seed, "final_test_auc": 0.8 + gamma["gamma"] / 10 + 0.001 * seed, **gamma}
            for L in (16, 64) for gamma in (LAZY, MIDDLE, RICH) for seed in range(3)]  # fmt: skip
    found = FIGURES["Noise"].draw(store(tmp_path, rows), None)
    assert isinstance(found, Drawn), found
    along, order = (found.frame[found.frame["measure"] == name] for name in ("test_acc", "final_test_auc"))
    assert set(along["L"]) == {64} and set(along["step"]) == {0, 1000, 2000} and set(along["mean"]) == {0.5}
    assert list(order.groupby("gamma_label")["mean"].mean().round(3)) == [0.811, 0.901, 0.801] and found.chart.to_dict()
