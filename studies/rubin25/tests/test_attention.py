"""Theory of attention against drawn heads, the sampler's own features, and its own limits."""

import numpy as np
import pytest
import torch
from sweepkit.studies.rubin25.theory import attention

from trainables.cell import cell_of
from trainables.engines.langevin.energies.posterior import make_posterior
from trainables.tasks import TokenPairs


def overlaps(d, context, spikes, n, batch=400, seed=0):
    """<phi_h, y> along w* of heads with these spikes, other weights drawn from the prior, over n inputs: (batches, heads)."""
    task = TokenPairs(d=d, context=context, P=0)
    rng = np.random.default_rng(seed)
    w = task.draw_symbols(rng)
    cell = cell_of(task, network="attention", width=len(spikes), kappa=1.0, seed=0)
    empty = torch.zeros(0, context * d, dtype=torch.float64)
    posterior = make_posterior(cell, empty, empty[:, 0], torch.from_numpy(w[None]).double())
    u = torch.from_numpy(rng.standard_normal((1, posterior.n_weights)))
    (layer, e), *_ = posterior.layers(u)
    c = torch.from_numpy(np.asarray(spikes)) * np.sqrt(d)  # m in standard deviations of the prior
    layer[0] += e[0].T * (c - e[0] @ layer[0])
    found = []
    for _ in range(n // batch):
        x, y = task.test_examples(rng, w, batch)
        phi = posterior.features(u, torch.from_numpy(x).double())[0].view(batch, len(spikes), d)
        found.append(((phi @ torch.from_numpy(w).double()) * torch.from_numpy(y)[:, None]).mean(0).numpy())
    return np.array(found)


def test_a_spike_changes_the_overlap_as_the_first_order_says():
    """Heads in pairs of opposite spikes: half of their difference is odd in m. The inputs are shared, so that their noise largely
    cancels. Tolerance: orders beyond the first weigh 1/d, saturation m^2/d and the softmax's own noise 3/Lc."""
    d, context, m = 12, 48, 0.8
    found = overlaps(d, context, np.tile([m, -m], 24), 9600).mean(0).reshape(-1, 2)
    odd = (found[:, 0] - found[:, 1]) / 2
    expected = (attention.overlap(m, d, context) - attention.overlap(-m, d, context)) / 2
    assert odd.mean() == pytest.approx(expected, rel=1 / d + m**2 / d + 3 / context)


def test_without_a_spike_the_second_order_leaves_a_negative_overlap():
    """The mean over heads of zero spike, against an interval of the inputs' noise; higher orders as above, twice."""
    d, context = 8, 48
    found = overlaps(d, context, np.zeros(24), 24000).mean(1)
    error = found.std(ddof=1) / np.sqrt(len(found))
    expected = attention.overlap(0.0, d, context)
    assert expected < 0
    assert abs(found.mean() - expected) < 3 * error + 2 * abs(expected) * (1 / d + 3 / context)


def test_heads_are_drawn_as_the_sampler_has_them():
    """Features of the posterior on the same inputs and matrices, less a head without scores; they differ by float32."""
    d, context, n, heads = 5, 7, 40, 3
    task = TokenPairs(d=d, context=context, P=0)
    rng = np.random.default_rng(4)
    w = np.eye(d)[0]
    empty = torch.zeros(0, context * d, dtype=torch.float64)
    cell = cell_of(task, network="attention", width=heads, kappa=1.0, seed=0)
    posterior = make_posterior(cell, empty, empty[:, 0], torch.from_numpy(w[None]))
    u = torch.from_numpy(rng.standard_normal((1, posterior.n_weights)))
    (layer, _), *_ = posterior.layers(u)
    x, y = task.test_examples(rng, w, n)
    features = [posterior.features(one, torch.from_numpy(x).double())[0].view(n, heads, d) for one in (u, 0 * u)]
    expected = ((features[0] - features[1]) * torch.from_numpy(y)[:, None, None]).mean(0).numpy()
    matrices = (layer[0].T.view(heads, d, d) / np.sqrt(d)).numpy().astype(np.float32)
    found = attention._overlaps(x.reshape(n, context, d).astype(np.float32), matrices)
    assert found == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("d", "context"), [(3, 6), (6, 6), (3, 12)])
def test_the_first_order_of_a_head_is_that_of_its_spike_alone(d, context):
    """Heads with a single entry: along w* on both sides, on one side, on neither. What is odd in them is the first order and, of
    the square of the strength, 0.0004, the third. Other entries than the first have no overlap with the target.

    Tolerances are four errors of the inputs' noise (no more than a tenth of the first) for each of 5 d values.
    """
    strength, found = 0.02, []
    matrices = np.zeros((5, d, d), np.float32)
    for head, entry in enumerate(((0, 0), (0, 1), (1, 0), (1, 1), (1, 2))):
        matrices[head][entry] = strength
    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal((3000, context, d), np.float32)
        found.append((attention._overlaps(x, matrices) - attention._overlaps(x, -matrices)) / 2 / strength)
    mean, error = np.mean(found, 0), np.std(found, 0, ddof=1) / np.sqrt(len(found))
    expected = np.zeros((5, d))
    expected[0, 0] = np.sqrt(2 / context) * attention.reduced(context) / np.sqrt(d)
    assert error[0, 0] < expected[0, 0] / 10
    assert (np.abs(mean - expected) < 4 * error).all()


def test_at_few_tokens_lazy_heads_have_far_less_than_the_expansion_says():
    """Why verdicts take drawn heads: at 8 tokens the expansion says 0.0030, and four errors of the draws are 0.0005."""
    drawn = attention.drawn_eigenvalue(6, 8, groups=16, heads=32, inputs=2000)
    assert drawn.value > 4 * drawn.error
    assert drawn.value + 4 * drawn.error < attention.eigenvalue(6, 8) / 2


def test_the_first_order_by_all_pairs_of_three_tokens():
    """r from the expanded softmax, its Hermite coefficient by exact moments of the tokens' one component that counts.

    d = 1, A = v = 1: first order of sum_ab p_ab c_b is (1/Lc) sum_ab (c_a c_b - c_a mean c) c_b."""
    from itertools import product

    nodes, weights = np.polynomial.hermite_e.hermegauss(4)
    weights = weights / weights.sum()
    for context in (4, 5):
        total = 0.0
        for index in product(range(4), repeat=context):
            c, p = nodes[list(index)], weights[list(index)].prod()
            first = (c.sum() * (c**2).sum() - c.sum() ** 3 / context) / context
            y = (c.sum() * (c**2 - 1).sum() - (c * (c**2 - 1)).sum()) / np.sqrt(2 * context * (context - 1))
            total += p * first * y
        expected = np.sqrt(2 / context) * attention.reduced(context)
        assert total / np.sqrt(context) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("heads", [1, 4])
def test_patterns_are_limits_of_the_slope(heads):
    d, context = 40, 64
    few = 1e-6
    assert attention.slope(few, d, context, heads) == pytest.approx(few / attention.eigenvalue(d, context), rel=1e-4)
    spiked = attention.spiked_energy(1.0, attention.least_spikes(1.0, d, context, heads), d, context, heads)
    # t of the spike at alpha = 1 is E itself, as E is linear in alpha; lazy heads help by a share sqrt(crossing).
    crossing = attention.crossing(d, context, heads)
    assert spiked * (1 - np.sqrt(crossing)) < attention.slope(1.0, d, context, heads) < spiked


def test_the_slope_is_that_of_drawn_products():
    """log E exp(t alpha) from draws of m and u, differentiated: alpha at a t where x = 1/16, so that weights have a variance."""
    d, context, heads = 6, 16, 2
    r = attention.reduced(context)
    t = np.sqrt(heads * context * d**3 / (32 * r**2))
    rng = np.random.default_rng(3)
    m, u = rng.standard_normal((2, 400_000, heads)) / np.sqrt(d)
    g = np.sqrt(2 / context) * (r * m / np.sqrt(d) - 1.5 / d)
    alpha = (g * u).sum(1) / np.sqrt(heads)
    weights = np.exp(t * alpha - (t * alpha).max())
    tilted = (weights * alpha).sum() / weights.sum()
    assert attention.slope(tilted, d, context, heads) == pytest.approx(t, rel=0.02)  # of 400,000 draws, with five standard errors


def test_the_least_energy_is_least():
    sizes = {"d": 12, "context": 16, "heads": 2}
    best = attention.least_spikes(0.3, **sizes)
    energies = [attention.spiked_energy(0.3, best * k, **sizes) for k in (0.9, 1.0, 1.1)]
    assert energies[1] == min(energies) < attention.lazy_energy(0.3, 12, 16)


def test_exponents_of_large_sizes():
    """sqrt(Lc d^3) of specialised heads, Lc d^3 of lazy ones, where neither r nor the other pattern counts any more."""

    def exponent(of, a, b):
        return np.log(of(*b) / of(*a)) / np.log(2)

    def spiked(d, context):
        return attention.samples(0.2, d, context, 2)

    def lazy(d, context):
        return attention.lazy_samples(0.2, d, context)

    assert exponent(spiked, (400, 4000), (800, 4000)) == pytest.approx(1.5, abs=0.01)
    assert exponent(spiked, (400, 4000), (400, 8000)) == pytest.approx(0.5, abs=0.01)
    assert exponent(lazy, (400, 4000), (800, 4000)) == pytest.approx(3)
    assert exponent(lazy, (400, 4000), (400, 8000)) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("context", [2, 3])
def test_too_few_tokens_are_refused(context):
    with pytest.raises(ValueError, match=f"context {context}"):
        attention.reduced(context)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_alignments_without_a_threshold_are_refused(alpha):
    with pytest.raises(ValueError, match="alpha"):
        attention.samples(alpha, 8, 16, 2)
