"""Learning curves of ridge regression beside regression on drawn sets, the powers of He_3 in closed form, and limits."""

import numpy as np
import pytest
from scipy.special import comb, erf

from analysis.theory.ridge_curves import Spectrum, errors, of_hermite, spectrum


def solved(features, targets, unseen, truths, ridge):
    """Test and training error of ridge regression on drawn features (P, K)."""
    within = features @ features.T
    dual = np.linalg.solve(within + ridge * np.eye(len(within)), targets)
    return ((unseen @ features.T @ dual - truths) ** 2).mean(), ((within @ dual - targets) ** 2).mean()


@pytest.mark.parametrize("P", [20, 60, 200])
def test_gaussian_features_have_these_errors(P):
    """Two groups of functions, one learnt at 50 examples and one that is not; a part of the target is out of reach."""
    many, ridge, sets = np.array([50.0, 150.0]), 0.05, 60
    law = errors(Spectrum(np.array([1.0, 0.01]), many, np.array([0.7, 0.2]), lost=0.1), P, ridge)
    scales = np.repeat([1.0, 0.01], many.astype(int)) ** 0.5
    found = []
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        truth = rng.standard_normal(200) * np.repeat((np.array([0.7, 0.2]) / many) ** 0.5, many.astype(int))
        x, noise = rng.standard_normal((P + 2000, 200)), 0.1**0.5 * rng.standard_normal(P + 2000)
        y = x @ truth + noise
        found.append(solved(x[:P] * scales, y[:P], x[P:] * scales, y[P:], ridge))
    means, deviations = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    for mean, deviation, said in zip(means, deviations, (law.test, law.train), strict=True):
        # Three standard errors; and the law's corrections, of the order of 1/P.
        assert mean == pytest.approx(said, abs=3 * deviation / sets**0.5 + said / P)
    assert law.naive < means[0] - 3 * deviations[0] / sets**0.5


def test_random_erf_networks_have_the_error_of_the_kernel():
    """Neurons are drawn, 4000 of them, so that the kernel's formula does not enter."""
    d, P, ridge, sets, found = 32, 32, 0.1, 40, []
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((P + 1000, d))
        features = erf(x @ rng.standard_normal((d, 4000)) / d**0.5) / 4000**0.5
        y = x[:, 0]
        found.append(solved(features[:P], y[:P], features[P:], y[P:], ridge)[0])
    # Three standard errors, and 2% for the width and for features that are not Gaussian.
    assert np.mean(found) == pytest.approx(of_hermite(1, d, P, ridge).test, abs=3 * np.std(found) / sets**0.5 + 0.02 * 0.28)


@pytest.mark.parametrize("d", [3, 16, 100])  # in the plane all degrees have two harmonics
def test_he3_has_its_powers_by_degree(d):
    """u^3 - 3u is R^3 (xi^3 - 3 xi/(d+2)) + (3 R^3/(d+2) - 3 R) xi with xi = u/R; by the moments of R."""
    of = spectrum(3, d)
    for degree, said in ((1, 3 / (d + 2)), (3, (d - 1) / (d + 2))):
        h = (2 * degree + d - 2) / degree * comb(degree + d - 3, degree - 1)
        # What lies along eigenvalues too small to keep is missing.
        assert of.powers[np.isclose(of.multiplicities, h)].sum() == pytest.approx(said, abs=1e-3)


def test_training_errors_are_those_of_generalised_cross_validation():
    law = of_hermite(1, 32, 56, 0.1)
    of = spectrum(1, 32)
    df = float((of.multiplicities * of.values / (of.values + law.kappa)).sum())
    # The rest of the trace acts as ridge: its share of df is not in the sum, and is below a hundredth of P.
    assert law.df == pytest.approx(df, abs=0.56)
    assert law.train == pytest.approx(law.test * (1 - law.df / 56) ** 2, rel=1e-9)


def test_limits():
    assert spectrum(2, 12).lost == pytest.approx(1) and spectrum(1, 12).lost == pytest.approx(0, abs=1e-3)
    assert of_hermite(2, 12, 18, 1e-3).naive == pytest.approx(1) and of_hermite(2, 12, 18, 1e-3).test > 1.5
    assert of_hermite(1, 12, 10, 1e6).test == pytest.approx(1, abs=1e-4)  # a large ridge learns nothing
    assert of_hermite(1, 12, 10**7, 1e-3).test < 1e-3
    with pytest.raises(ValueError, match="both must be positive"):
        of_hermite(1, 12, 10, 0)
