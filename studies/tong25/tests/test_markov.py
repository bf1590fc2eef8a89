"""The Markov process of [Tong25 App. C.3] against a loop over its printed steps, and against the paper's mu."""

import numpy as np
import pytest
from sweepkit.studies.tong25.theory.markov import draw_batch, half_norm_ratio, halves_cosine, of_trained, simulate, spread, step


def loop(omega, batch, sign):
    """One batch by the steps as printed; (omega, updates and draws by the code's, the text's definition, drive), run by run."""
    after, mixed, drive = omega.copy(), np.zeros((2, 2, len(omega))), np.zeros(len(omega))
    for r in range(len(omega)):
        (w1, w2), b = omega[r], np.zeros_like(omega[r])
        for u, v, heads in zip(*(x[r] for x in batch), strict=True):
            rho = w1[u] + w2[v]
            is_updated = heads if rho == 0 else rho > 0
            drive[r] += (1 if u == v else -1) * max(rho, 0) / batch.u.shape[1]
            if is_updated:
                change = 1 if (sign > 0) == (u == v) else -1
                b[0, u] += change
                b[1, v] += change
            if (w1[u] + w1[v]) * (w2[u] + w2[v]) < 0:
                mixed[0, :, r] += is_updated, 1
            if u != v and (w1[u] + w2[u]) * (w1[v] + w2[v]) < 0:
                mixed[1, :, r] += is_updated, 1
        after[r] += b
    return after, mixed, drive


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n_symbols", [3, 5])
def test_steps_are_the_printed_ones(sign, n_symbols):
    rng = np.random.default_rng(n_symbols)
    omega = np.zeros((6, 2, n_symbols))
    counted = 0
    for _ in range(12):
        batch = draw_batch(6, n_symbols, 20, rng)
        rival, mixed, drive = loop(omega, batch, sign)
        now = step(omega, batch, sign)
        np.testing.assert_array_equal(now.omega, rival)
        np.testing.assert_array_equal([now.mixed_code, now.mixed_text], mixed)
        np.testing.assert_allclose(now.drive, drive, atol=1e-12)  # sums in another order
        omega, counted = rival, counted + mixed[:, 1].sum(1)
    assert (counted > 50).all()  # both definitions had draws to count


def test_half_the_draws_are_same_and_all_pairs_are_as_likely():
    n, n_symbols = 200_000, 4
    batch = draw_batch(1, n_symbols, n, np.random.default_rng(0))
    counts = np.bincount((batch.u * n_symbols + batch.v).ravel(), minlength=16).reshape(4, 4) / n
    expected = np.where(np.eye(4) == 1, 1 / 8, 1 / 24)
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected / n)).all()  # 4.5 standard errors for 16 fractions
    assert batch.heads.mean() == pytest.approx(0.5, abs=4.5 * 0.5 / np.sqrt(n))


def test_mu_is_the_pooled_fraction_of_a_run():
    rng = np.random.default_rng(3)
    omega, code, text, readout = np.zeros((2, 2, 4)), 0, 0, 0
    for _ in range(15):
        omega, (mixed_code, mixed_text), drive = loop(omega, draw_batch(2, 4, 10, rng), 1)
        code, text, readout = code + mixed_code, text + mixed_text, readout + drive
    runs = simulate(1, n_symbols=4, n_draws=10, n_steps=15, n_runs=2, seed=3)
    np.testing.assert_array_equal(runs.omega, omega)
    np.testing.assert_array_equal(runs.mu_code, code[0] / code[1])
    np.testing.assert_array_equal(runs.mu_text, text[0] / text[1])
    np.testing.assert_allclose(runs.readout, readout)


# mean and 2 s.d.; the code's are the paper's own (100 runs), the text's those of 6000 runs simulated here
@pytest.mark.parametrize(
    ("sign", "code", "text"), [(1, (0.508, 0.056), (0.543, 0.221)), (-1, (0.499, 0.009), (0.498, 0.0119))], ids=["a>0", "a<0"]
)
def test_mu_of_the_paper_is_that_of_its_code(sign, code, text):
    n = 400
    runs = simulate(sign, n_runs=n)
    for mu, (mean, two_sd), n_theirs in ((runs.mu_code, code, 100), (runs.mu_text, text, 6000)):
        ours = spread(mu)
        pooled = 1 / n + 1 / n_theirs
        # 4 standard errors of a difference, and half a unit of the last printed digit
        assert ours.mean == pytest.approx(mean, abs=4 * two_sd / 2 * np.sqrt(pooled) + 5e-4)
        # a standard deviation of n values has relative error sqrt(1/(2n)) if they are normal; up to twice that for heavier tails
        assert ours.two_sd == pytest.approx(two_sd, rel=4 * np.sqrt(pooled / 2), abs=5e-4)
    assert sign < 0 or spread(runs.mu_text).two_sd > 3 * spread(runs.mu_code).two_sd  # the definitions are told apart


@pytest.mark.parametrize("sign", [1, -1])
def test_halves_become_parallel_or_antiparallel(sign):
    def omega(n_steps):
        return simulate(sign, n_steps=n_steps, n_runs=100, seed=n_steps).omega

    def size(x):
        return np.sqrt((x**2).mean())

    early, late = omega(25), omega(100)
    # halves grow by a drift, as the steps, and what sets them apart stays bounded (C.4.2: positions are held at zero)
    assert size(late) / size(early) == pytest.approx(4, rel=0.15)  # the drift starts after a few steps
    assert size(late[:, 0] - sign * late[:, 1]) < 2 * size(early[:, 0] - sign * early[:, 1])
    away = [1 - sign * halves_cosine(x) for x in (early, late)]
    assert away[1].max() < 0.01
    # so the mean falls by 16, with 4 standard errors of the log of a mean of 100 runs and the 15% above, squared
    errors = [x.std() / x.mean() / 10 for x in away]
    assert np.log(away[0].mean() / away[1].mean()) == pytest.approx(np.log(16), abs=4 * np.hypot(*errors) + 0.3)


def test_norms_of_halves():
    omega = np.array([[[3.0, 4.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, -2.0]]])
    np.testing.assert_allclose(half_norm_ratio(omega), [0.2, 0.5])


def test_values_for_trained_networks_are_means_over_runs_of_both_signs():
    found = of_trained(3, 16, n_runs=50)
    positive, negative = (simulate(sign, n_symbols=3, n_draws=16, n_runs=50, seed=seed) for sign, seed in ((1, 0), (-1, 1)))
    assert found["alignment_pos"].value == pytest.approx(halves_cosine(positive.omega).mean())
    assert found["alignment_neg"].value == pytest.approx(halves_cosine(negative.omega).mean())
    assert found["readout_ratio"].value == pytest.approx(-negative.readout.mean() / positive.readout.mean())
    both = np.concatenate([half_norm_ratio(runs.omega) for runs in (positive, negative)])
    assert found["half_norm_ratio"] == (pytest.approx(both.mean()), pytest.approx(both.std(ddof=1) / 10))
    # other draws of the process lie within 4 of the errors that it gives
    ratios = []
    for seed in range(20):
        positive, negative = (simulate(s, n_symbols=3, n_draws=16, n_runs=50, seed=10 + 2 * seed + (s > 0)) for s in (1, -1))
        ratios.append(-negative.readout.mean() / positive.readout.mean())
    assert abs(np.mean(ratios) - found["readout_ratio"].value) < 4 * found["readout_ratio"].standard_error
    assert np.std(ratios) == pytest.approx(found["readout_ratio"].standard_error, rel=0.8)  # each of 50 runs, heavy tails


def test_runs_without_mixed_draws_have_no_mu():
    runs = simulate(1, n_steps=1, n_runs=3)  # at omega = 0 no draw has mixed signs
    assert np.isnan(runs.mu_code).all() and np.isnan(runs.mu_text).all()
    assert spread(np.array([0.4, np.nan, 0.6])) == (pytest.approx(0.5), pytest.approx(0.2))


def test_a_single_symbol_has_no_different_pairs():
    with pytest.raises(ValueError, match="L = 1"):
        simulate(1, n_symbols=1)
