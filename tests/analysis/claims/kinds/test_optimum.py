"""Where networks are worst, over a power of a size: the geometric mean over seeds, and when there is none."""

import numpy as np
import pytest
from scipy import stats

from analysis.claims.kinds import KINDS
from analysis.claims.verdict import Measured, NotMeasured
from sweepkit.store.store import Store
from tests.store_rows import row

GIVEN = {"measure": "final_test_acc", "of": {"task": "same_different"}, "over": "width", "against": "L", "power": 2}
WIDTHS = (4, 8, 16, 32, 64)


def stored(folder, peaks, L=4, without=()):
    """Accuracies that are least, by a parabola in the logarithm, at one width for each seed."""
    store = Store(str(folder))
    store.prepare()
    rows = [row(1000 * seed + width, L=L, seed=seed, width=width, final_test_acc=0.5 + 0.01 * np.log(width / peak) ** 2)
            for seed, peak in enumerate(peaks) for width in WIDTHS if (seed, width) not in without]  # fmt: skip
    store.commit("p", rows)
    return store.results


def test_the_peak_is_a_geometric_mean_over_seeds(tmp_path):
    found = KINDS["peak_ratio"](stored(tmp_path, [12.0, 16.0, 18.0]), **GIVEN)
    assert isinstance(found, Measured)
    logs = np.log(np.array([12, 16, 18]) / 4**2)
    of_seeds, of_grid = stats.t.ppf(0.975, 2) * logs.std(ddof=1) / 3**0.5, 1.96 * np.log(2) / 12**0.5  # widths are 2 apart
    half = np.hypot(of_seeds, of_grid)
    assert found.interval[:4] == pytest.approx((*np.exp([logs.mean(), logs.mean() - half, logs.mean() + half]), 3))


def test_a_peak_at_an_end_or_of_no_whole_seed_is_none(tmp_path):
    end = KINDS["peak_ratio"](stored(tmp_path / "end", [16.0, 64.0]), **GIVEN)
    assert isinstance(end, NotMeasured) and "at L = 4 the worst width" in end.why and "widen its range" in end.why
    parts = stored(tmp_path / "parts", [16.0, 16.0], without=[(0, 4), (1, 64)])
    lost = KINDS["peak_ratio"](parts, **GIVEN)
    assert isinstance(lost, NotMeasured) and "no seed has every width at one L" in lost.why
    exponent = {key: value for key, value in GIVEN.items() if key != "power"}
    assert "no seed has every width" in KINDS["optimum_exponent"](parts, **exponent, which="worst").why


def test_seeds_that_lack_a_value_are_counted(tmp_path):
    found = KINDS["peak_ratio"](stored(tmp_path, [12.0, 16.0, 18.0, 16.0], without=[(3, 8)]), **GIVEN)
    assert found.interval.n == 3 and "; 1 seed without every width left out" in found.what
    whole = KINDS["peak_ratio"](stored(tmp_path / "whole", [12.0, 16.0]), **GIVEN)
    assert "left out" not in whole.what
