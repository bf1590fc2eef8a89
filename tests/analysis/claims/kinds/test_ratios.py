"""Ratios of a measure to a theory at several points: their mean with its interval, and the farthest from 1."""

import numpy as np
import pytest
from scipy import stats
from sweepkit.studies.tong25.theory.rich import test_accuracy as eq3

from analysis.claims.kinds import KINDS
from analysis.claims.verdict import Measured, NotMeasured
from sweepkit.store.store import Store
from tests.store_rows import row

GIVEN = {"measure": "final_test_acc", "theory": "Eq. 3", "of": {"task": "same_different", "gamma": 1}, "over": ["L"]}


def stored(folder, ratios):
    """A store of rich networks whose last accuracy is Eq. 3's times a factor, `ratios[L][seed]`."""
    store = Store(str(folder))
    store.prepare()
    common = {"d": 256, "sigma2": 0.0, "prefactor": "sqrt_d", "test_size": 1024}
    store.commit("p", [row(1000 * L + seed, L=L, seed=seed, final_test_acc=factor * float(eq3(L)), **common)
                       for L, factors in ratios.items() for seed, factor in enumerate(factors)])  # fmt: skip
    return store.results


def test_the_mean_is_that_of_points_and_its_error_that_of_seeds(tmp_path):
    """Seeds that are low at one L are as low at the other: six networks tell no more than three."""
    results = stored(tmp_path, {3: [0.90, 0.92, 0.94], 4: [0.94, 0.96, 0.98]})
    found = KINDS["ratio_to_theory"](results, **GIVEN)
    assert isinstance(found, Measured)
    half = stats.t.ppf(0.975, 2) * 0.02 / 3**0.5
    assert found.interval[:4] == pytest.approx((0.94, 0.94 - half, 0.94 + half, 3))
    assert "ratio of final_test_acc to Eq. 3, 0.92 to 0.96" in found.what


def test_a_point_with_fewer_seeds_weighs_as_much_as_others(tmp_path):
    results = stored(tmp_path, {3: [0.9, 0.9, 0.9, 0.9], 4: [0.94, 0.98]})
    found = KINDS["ratio_to_theory"](results, **GIVEN).interval
    assert found.value == pytest.approx(0.93) and found.n == 4
    # The mean of the second point alone is uncertain: sd/sqrt(2) of it, half of that of the mean; four seeds have a share in it.
    error = np.std([0.94, 0.98]) / 2**0.5 / 2
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 3) * error * (4 / 3) ** 0.5)
    single = stored(tmp_path / "single", {3: [0.9, 0.9], 4: [0.94]})
    assert np.isnan(KINDS["ratio_to_theory"](single, **GIVEN).interval.low)


def test_the_farthest_from_1_may_be_below_it(tmp_path):
    results = stored(tmp_path, {3: [0.89, 0.90, 0.91], 4: [1.01, 1.02, 1.03], 5: [0.99, 1.0, 1.01]})
    found = KINDS["ratio_to_theory"](results, **GIVEN, farthest=True)
    half = stats.t.ppf(1 - 0.05 / 6, 2) * 0.01 / 3**0.5
    assert found.interval[:4] == pytest.approx((1 / 0.9, 1 / (0.9 + half), 1 / (0.9 - half), 3))
    assert "; 0.9 at L = 3" in found.what
    near = stored(tmp_path / "near", {3: [0.99, 1.0, 1.01], 4: [0.98, 1.0, 1.02]})
    low, high = KINDS["ratio_to_theory"](near, **GIVEN, farthest=True).interval[1:3]
    assert low == 1 and high == pytest.approx(1 / (1 - stats.t.ppf(1 - 0.05 / 4, 2) * 0.02 / 3**0.5))


def test_seeds_with_equal_accuracies_are_known_to_what_their_tests_tell(tmp_path):
    found = KINDS["ratio_to_theory"](stored(tmp_path, {3: [1.0] * 3, 4: [1.0] * 3}), **GIVEN).interval
    binomial = [np.sqrt((1 - p) / p / 1024) for p in map(float, (eq3(3), eq3(4)))]
    assert found.high - 1 == pytest.approx(stats.t.ppf(0.975, 2) * np.hypot(*binomial) / 2 / 3**0.5, rel=0.05)


def test_where_the_theory_says_nothing_there_is_no_ratio(tmp_path):
    results = stored(tmp_path, {3: [0.9, 1.0]})
    no_theory = KINDS["ratio_to_theory"](results, **{**GIVEN, "theory": "Bayes, memorising"})
    assert isinstance(no_theory, NotMeasured) and "Bayes, memorising has no positive value" in no_theory.why
    assert isinstance(KINDS["ratio_to_theory"](results, **{**GIVEN, "of": {"L": 99}}), NotMeasured)
