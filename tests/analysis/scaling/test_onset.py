"""The onset of variance, from errors that follow a known law, and the errors of ensembles from those of their members."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.variance_limit.onset import crossing, errors, onset

P = np.array([8, 16, 32, 64, 128, 256, 512])


def table(excess, sets=6, widths=(16, 32, 64, 128), noise=0.02):
    """Errors 0.1 (1 + excess(N, P)) of data sets whose difficulty differs by a factor of 4, and those at infinite width."""
    rng = np.random.default_rng(0)
    hard = 0.1 * 4 ** rng.uniform(0, 1, (len(P), sets))
    rows = [
        (m, p, data, hard[i, data] * (1 + excess(m, p)) * (1 + noise * rng.standard_normal()))
        for m in widths for i, p in enumerate(P) for data in range(sets)
    ]  # fmt: skip
    limit = [(p, data, hard[i, data]) for i, p in enumerate(P) for data in range(sets)]
    return pd.DataFrame(rows, columns=["width", "P", "data_seed", "error"]), pd.DataFrame(
        limit, columns=["P", "data_seed", "error"]
    )


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_it_grows_as_the_errors_say(power):
    """An excess (P/P*)^2/2 with P* = 4 N^power is a factor of 1.5 at P*; between P it is not a straight line, which costs 3%."""
    law = onset(*table(lambda m, p: 0.5 * (p / (4 * m**power)) ** 2), 1.5)
    said = 4 * law.points["width"].to_numpy(float) ** power
    reached = said < P[-1]
    np.testing.assert_allclose(law.points["mean"][reached], said[reached], rtol=0.1)
    assert law.exponent.value == pytest.approx(power, abs=0.06)
    assert law.exponent.low <= law.exponent.value <= law.exponent.high < power + 0.15
    assert law.local["slope"].between(power - 0.15, power + 0.15).all()


def test_what_is_beyond_the_range_has_no_exponent():
    never = onset(*table(lambda m, p: 0.0), 1.5)
    assert np.isinf(never.points["mean"]).all() and never.exponent is None and never.draws.empty
    always = onset(*table(lambda m, p: 1.0), 1.5)
    assert (always.points["mean"] == 0).all() and always.exponent is None


@pytest.mark.parametrize(("ratios", "at"), [([1, 1, 2, 4], 23.99), ([2, 1, 2], 0), ([1, 1, 1.2], np.inf), ([1, 3, 1, 3], 10.33)])
def test_the_first_crossing_counts(ratios, at):
    """16 2^(log 1.5/log 2) and 8 2^(log 1.5/log 3)."""
    assert crossing(P[: len(ratios)].astype(float), np.array(ratios, float), 1.5) == pytest.approx(at, rel=1e-3)


def test_the_error_of_an_ensemble_is_that_of_its_mean_output():
    rng = np.random.default_rng(1)
    y, outputs = rng.standard_normal(20), {f"{seed}": rng.standard_normal(20) for seed in range(8)}
    values = [float(((f - y) ** 2).mean()) for f in outputs.values()]
    networks = pd.DataFrame({"cell_id": list(outputs), "width": 4, "P": 8, "data_seed": 0, "value": values})
    mean = np.mean(list(outputs.values()), axis=0)
    assert errors(networks, outputs, True)["error"][0] == pytest.approx(((mean - y) ** 2).mean())
    assert errors(networks, outputs, False)["error"][0] == pytest.approx(np.mean(values))
