"""Linear attention on linear regression in context: moments and errors beside drawn contexts, limits in closed form."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2
from sweepkit.studies.in_context.theory import bayes, best, drawn, error, few, learned, limit, marchenko_pastur, of_new, of_tasks

RHO = 0.1


def contexts(rng, tasks, l, rho=RHO):  # noqa: E741
    """Query (n, d), h (n, d + 1) and y of the query, of a context of each task."""
    n, d = tasks.shape
    x = rng.standard_normal((n, l + 1, d))
    y = np.einsum("nld,nd->nl", x, tasks) + rho**0.5 * rng.standard_normal((n, l + 1))
    x, query, y, asked = x[:, :-1], x[:, -1], y[:, :-1], y[:, -1]
    return query, np.c_[np.einsum("nl,nld->nd", y, x) / l, (y**2).mean(1) / d**0.5], asked


def gaussian(rng, n, d):
    return rng.standard_normal((n, d)) / d**0.5


def regressed(rng, d, l, k, P, ridge, tests=2000):  # noqa: E741
    """Test errors of ridge regression on drawn contexts: on new tasks and on old ones."""
    old = None if k is None else gaussian(rng, k, d)

    def pick(n):
        return gaussian(rng, n, d) if old is None else old[rng.integers(k, size=n)]

    query, h, y = contexts(rng, pick(P), l)
    features = (query[:, :, None] * h[:, None, :]).reshape(P, -1) / d**0.5
    G = np.linalg.solve(features.T @ features + ridge * np.eye(d * (d + 1)), features.T @ y).reshape(d, d + 1) / d**0.5
    errors = []
    for tasks in (gaussian(rng, tests, d), pick(tests)):
        query, h, y = contexts(rng, tasks, l)
        errors.append(((y - np.einsum("nd,de,ne->n", query, G, h)) ** 2).mean())
    return errors


def test_moments_are_those_of_drawn_contexts():
    rng, d, l, n = np.random.default_rng(0), 3, 4, 400_000  # noqa: E741
    few = gaussian(rng, 5, d)
    for of, tasks in ((of_new(d, l, RHO), gaussian(rng, n, d)), (of_tasks(few, l, RHO), few[rng.integers(5, size=n)])):
        query, h, y = contexts(rng, tasks, l)
        for said, products in ((of.read, h[:, :, None] * h[:, None]), (of.wanted, tasks[:, :, None] * h[:, None])):
            np.testing.assert_array_less(np.abs(products.mean(0) - said), 5 * products.std(0) / n**0.5)  # 5 standard errors
        G = rng.standard_normal((d, d + 1)) / 2
        squares = (y - np.einsum("nd,de,ne->n", query, G, h)) ** 2
        assert error(G, of, RHO) == pytest.approx(squares.mean(), abs=5 * squares.std() / n**0.5)


@pytest.mark.parametrize(("d", "l"), [(3, 5), (8, 2), (20, 40)])
def test_the_best_linear_attention(d, l):  # noqa: E741
    of = of_new(d, l, RHO)
    assert best(d, l, RHO) == pytest.approx(error(of.wanted @ np.linalg.inv(of.read), of, RHO), rel=1e-12)


def test_the_best_is_what_many_contexts_teach():
    rng, d, l, n = np.random.default_rng(1), 3, 5, 200_000  # noqa: E741
    squares = [regressed(rng, d, l, None, n, 1e-9, n)[0] for _ in range(2)]
    # Squared residuals scatter by some 1.5 times their mean: 5 standard errors of 4 n of them.
    assert np.mean(squares) == pytest.approx(best(d, l, RHO), rel=5 * 1.5 / (2 * n) ** 0.5)


@pytest.mark.parametrize(("d", "l"), [(2, 8), (4, 3)])
def test_bayes_is_ridge_regression_on_the_examples(d, l):  # noqa: E741
    rng, n = np.random.default_rng(0), 20_000
    w, x, query = gaussian(rng, n, d), rng.standard_normal((n, l, d)), rng.standard_normal((n, d))
    y = np.einsum("nld,nd->nl", x, w) + RHO**0.5 * rng.standard_normal((n, l))

    def squares(ridge):
        grams = np.einsum("nla,nlb->nab", x, x) + ridge * np.eye(d)
        found = np.linalg.solve(grams, np.einsum("nl,nld->nd", y, x)[..., None])[..., 0]
        return RHO + ((found - w) * query).sum(1) ** 2

    at = squares(RHO * d)
    assert bayes(d, l, RHO) == pytest.approx(at.mean(), abs=5 * at.std() / n**0.5)
    assert min(squares(RHO * d * factor).mean() for factor in (0.5, 2)) > at.mean()  # the same draws
    assert bayes(d, l, RHO) < best(d, l, RHO)


def test_bayes_in_one_dimension():
    said = quad(lambda s: chi2.pdf(s, 6) / (1 + s / RHO), 0, np.inf)[0]
    assert bayes(1, 6, RHO) == pytest.approx(RHO + said, rel=0.01)


def test_bayes_without_noise():
    assert bayes(4, 3, 0.0) == 1 / 4 and bayes(4, 3, 1e-6) == pytest.approx(1 / 4, rel=1e-3)  # what it tends to
    assert bayes(4, 6, 0.0) == 0 < bayes(4, 6, 1e-6) < 1e-4


def test_many_contexts_of_few_tasks():
    of = few(12, 24, 6, RHO, 400)
    law = drawn(12, 24, 6, 10**9, 1e-3, RHO, 400)
    # Both draw the same tasks; 10^9 contexts and this ridge are not quite infinitely many and none.
    assert of.new == pytest.approx(law.new, rel=1e-5) and of.old == pytest.approx(law.old, rel=1e-5)
    assert few(4, 8, 4000, RHO, 4).new == pytest.approx(best(4, 8, RHO), rel=0.01)


@pytest.mark.parametrize(("k", "P"), [(None, 288), (None, 576), (None, 2304), (12, 2304), (48, 288), (48, 2304)])
def test_errors_are_those_of_regression_on_drawn_contexts(k, P):
    d, l, ridge, sets = 24, 48, 0.03, 6  # noqa: E741
    found = np.array([regressed(np.random.default_rng(seed), d, l, k, P, ridge) for seed in range(sets)])
    law = drawn(d, l, k, P, ridge, RHO)
    # Three standard errors; and 3/d, as lengths of queries and readings scatter, which Gaussian features leave out.
    for mean, deviation, said in zip(found.mean(0), found.std(0, ddof=1), law, strict=False):
        assert mean == pytest.approx(said, abs=3 * deviation / sets**0.5 + 3 / d * said)
    if P == 576:
        assert law.naive < found.mean(0)[0] / 2


def test_large_d_reaches_the_limit():
    d = 300
    for kappa, tau in ((np.inf, 0.5), (np.inf, 2), (0.5, 4), (2, 4)):
        k = None if np.isinf(kappa) else int(kappa * d)
        of = drawn(d, 2 * d, k, int(tau * d**2), 0.03, RHO, 2)
        # Corrections are of the order of 1/d; those of P - d^2 are tau/(tau - 1) times as large.
        np.testing.assert_allclose(of, limit(tau, 2, kappa, 0.03, RHO), rtol=5 / d)


@pytest.mark.parametrize("tau", [0.25, 0.8, 1.25, 4])
def test_without_ridge_there_is_a_pole_at_d_squared(tau):
    c = 1 / (1 + (1 + RHO) / 2)
    said = (1 + RHO - c + (1 - tau) ** 2 * c) / (1 - tau) if tau < 1 else (1 + RHO - c) * tau / (tau - 1)
    assert limit(tau, 2, np.inf, 1e-9, RHO).new == pytest.approx(said, rel=1e-6)


def test_tasks_are_known_by_heart_below_d():
    for kappa in (0.25, 0.5, 2, 8):
        of = limit(1e9, 1e5, kappa, 1e-3, RHO)
        # Eigenvalues of order c_0 = 1e-5 alone are between, and what is not learnt of them costs 1/(tau c_0).
        assert of.old == pytest.approx(RHO, abs=1e-3) and of.new == pytest.approx(RHO + max(0, 1 - kappa), abs=1e-3)


@pytest.mark.parametrize("kappa", [0.3, 1, 5])
def test_tasks_have_the_eigenvalues_of_marchenko_and_pastur(kappa):
    omega, share = marchenko_pastur(kappa)
    w = np.random.default_rng(0).standard_normal((int(kappa * 400), 400))
    for power, said in ((0, 1), (1, 1), (2, 1 + 1 / kappa)):
        assert share @ omega**power == pytest.approx(said, rel=1e-5)
    c = np.linalg.eigvalsh(w.T @ w / len(w))
    assert share @ (1 / (omega + 0.1)) == pytest.approx((1 / (c + 0.1)).mean(), rel=0.02)


def test_what_is_refused():
    of = of_new(3, 4, RHO)
    with pytest.raises(ValueError, match="both must be positive"):
        learned(10, 0.0, RHO, of, of)
