"""R-hat and ESS where they are known: independent draws, AR(1), chains that disagree, drift or stand still."""

import numpy as np
import pytest

from trainables.engines.langevin.diagnostics import bulk_ess, split_r_hat, standard_error


def ar1(rho, chains=4, n=4000, seed=0):
    """Stationary AR(1) of variance 1."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((chains, n))
    for t in range(1, n):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]
    return x


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_autocorrelated_draws_are_worth_what_theory_says(rho):
    """ESS = S (1 - rho)/(1 + rho); the estimate of tau from S draws is good to about sqrt(4 M/S), M = 6 tau lags [Sokal]."""
    x = ar1(rho)
    tau = (1 + rho) / (1 - rho)
    relative = 3 * np.sqrt(4 * 6 * tau / x.size)
    assert bulk_ess(x) == pytest.approx(x.size / tau, rel=relative)
    assert standard_error(x) == pytest.approx(
        np.sqrt(tau / x.size), rel=relative
    )  # its square carries that error: more than enough
    assert 1 <= split_r_hat(x) + 1e-3 < 1.001 + 2 * 8 / (x.size / tau)  # R^2 - 1 is about 2m/ESS for m = 4 chains


def test_swinging_draws_are_worth_more_than_their_number():
    x = ar1(-0.5)
    assert 2 * x.size < bulk_ess(x) < 4 * x.size  # 3, to a third


def test_r_hat_by_hand():
    """Normal scores of the ranks of two chains' halves, from the definition, draw by draw."""
    from statistics import NormalDist

    x = np.array([[3.0, 1.0, 4.0, 1.5], [5.0, 9.0, 2.0, 6.0]])
    z = np.array([[NormalDist().inv_cdf((1 + (x < v).sum() - 3 / 8) / 8.25) for v in row] for row in x]).reshape(4, 2)
    within = np.mean([np.var(row, ddof=1) for row in z])
    by_hand = np.sqrt((within / 2 + np.var([row.mean() for row in z], ddof=1)) / within)
    assert split_r_hat(x) == pytest.approx(by_hand, rel=1e-12)  # rounding; the folded one is smaller here


@pytest.mark.parametrize("wrong", ["apart", "wider", "drift"])
def test_chains_that_disagree_are_seen(wrong):
    x = ar1(0.0, n=500)
    if wrong == "apart":
        x[:2] += 1
    elif wrong == "wider":
        x[:2] *= 3
    else:
        x += np.linspace(-2, 2, 500)
    assert split_r_hat(x) > 1.1  # sqrt(1 + 1/4) for means half a sigma off; the others are further


def test_chains_that_stand_still():
    same, apart = np.ones((4, 100)), np.repeat([[0.0], [0.0], [1.0], [1.0]], 100, axis=1)
    assert (split_r_hat(same), bulk_ess(same), standard_error(same)) == (1.0, 400.0, 0.0)
    assert split_r_hat(apart) > 1e6 and bulk_ess(apart) < 10  # infinite but for rounding


def test_what_is_no_number_has_no_diagnosis():
    x = ar1(0.0, n=20)
    x[0, 3] = np.nan
    assert np.isnan([split_r_hat(x), bulk_ess(x), standard_error(x)]).all()
    with pytest.raises(ValueError, match="3 draws"):
        split_r_hat(x[:, :3])
