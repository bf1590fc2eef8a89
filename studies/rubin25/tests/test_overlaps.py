"""Densities of overlaps, maps of patterns, and histograms as the store keeps them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import erf
from scipy.stats import norm
from sweepkit.studies.rubin25.overlaps import BOUND, EDGES, OUTLIER, PRIOR, by_chance, expected, overlap_chart, overlaps
from sweepkit.studies.rubin25.phases import AS_PRIOR, MAPPED, MORE, measured_sizes, pattern_table, phase_chart, phase_map
from sweepkit.studies.rubin25.theory.large_deviation import aligned, energy, n_specialised, overlap_density, projection
from sweepkit.studies.rubin25.theory.patterns import NETWORKS, least, least_over, wins, wins_over

from analysis.data.points import points
from analysis.data.selection import Selection
from sweepkit.store.store import Store
from tests.store_rows import row
from trainables.engines.langevin.measures import OUTLIER as SAMPLED_OUTLIER
from trainables.engines.langevin.measures import OVERLAP_EDGES

Z = np.linspace(-60, 60, 48_001)


@pytest.mark.parametrize(("N", "d", "scaling"), [(24, 24, "standard"), (1000, 40, "standard"), (24, 24, "mean_field")])
def test_density_is_one_and_the_prior_without_a_tilt(N, d, scaling):
    t = aligned(1.0, N, d, scaling).t
    density = overlap_density(Z, t, N, d, scaling)
    assert np.trapezoid(density, Z) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(density, density[::-1], atol=1e-15)
    np.testing.assert_allclose(overlap_density(Z, 0.0, N, d, scaling), norm.pdf(Z), atol=1e-12)


def test_density_is_the_prior_of_weights_and_readout_tilted_by_their_output():
    """Slow and obvious: of many (c, a) drawn from the prior, weighted by exp(t a g(c)), those beyond 2 prior widths."""
    N, d, t = 8, 2, 16.0
    rng = np.random.default_rng(0)
    c, a = rng.standard_normal(400_000) / np.sqrt(d), rng.standard_normal(400_000) / np.sqrt(N)
    r = np.sqrt(rng.chisquare(d - 1, 400_000) / d)
    weights = np.exp(t * a * np.sqrt(projection(c, r)))
    beyond = np.abs(c) * np.sqrt(d) > 2
    drawn = weights[beyond].sum() / weights.sum()
    error = weights[beyond].std() * np.sqrt(beyond.sum()) / weights.sum()
    density = overlap_density(Z, t, N, d)
    assert drawn == pytest.approx(np.trapezoid(np.where(np.abs(Z) > 2, density, 0), Z), abs=5 * error)
    assert drawn > 1.1 * (1 - erf(2 / np.sqrt(2)))  # the tilt is seen


@pytest.mark.parametrize("size", [20, 50, 100])
def test_outliers_are_as_many_as_produce_the_alignment(size):
    """M neurons at the second peak give alpha = M t v g(c)^2 with t = dE/dalpha, taken from energies alone."""
    t = (energy(1.001, size, size) - energy(0.999, size, size)) / 0.002
    density = overlap_density(Z, t, size, size)
    peak = Z[(Z > OUTLIER)][density[Z > OUTLIER].argmax()] / np.sqrt(size)
    r = np.linspace(0.3, 1.2, 901)
    shrunk = r[(t**2 * projection(peak, r) / (2 * size) + (size - 2) * np.log(r) - size * r**2 / 2).argmax()]
    M = 1.0 / (t / size * float(projection(peak, shrunk)))
    share = np.trapezoid(np.where(np.abs(Z) > OUTLIER, density, 0), Z)
    assert share == pytest.approx(M / size, rel=0.2)  # the peak's width: neurons on its inner side give less than those at it
    assert size * share == pytest.approx(n_specialised(1.0, size, size), rel=2e-3)  # grids end within half a step of OUTLIER


def test_bins_are_those_of_the_sampler():
    np.testing.assert_array_equal(EDGES, OVERLAP_EDGES)
    assert OUTLIER == SAMPLED_OUTLIER
    assert by_chance(1000) == pytest.approx(2.7, abs=0.01)


def test_energies_over_arrays_are_those_of_single_sizes():
    rng = np.random.default_rng(0)
    for network, patterns in NETWORKS.items():
        sizes = {name: 2.0 ** rng.uniform(1, 12, 5) for name in ("d", "N", "N1", "N2", "Lc")}
        each = [{name: values[i] for name, values in sizes.items()} for i in range(5)]
        for pattern in patterns:
            expected_ones = [least(pattern, size).energy for size in each]
            np.testing.assert_allclose(least_over(pattern, sizes), expected_ones, rtol=1e-6, err_msg=f"{network}: {pattern.name}")
        assert list(wins_over(network, sizes)) == [wins(network, size) for size in each]


@pytest.mark.parametrize("network", MAPPED)
def test_the_map_shows_the_winner_everywhere(network):
    tiles = phase_map(network, 512.0, 64.0 if MAPPED[network].has_two_widths else None)
    for d, N in ((4.0, 50_000.0), (30.0, 30.0), (400.0, 5.0)):
        here = tiles[(tiles["d"] <= d) & (d < tiles["d_end"]) & (tiles["N"] <= N) & (tiles["N_end"] > N)]
        assert list(here["pattern"]) == [wins(network, {"d": d, "N": N, "N1": 64.0, "N2": N})]
    areas = np.log(tiles["d_end"] / tiles["d"]) * np.log(tiles["N_end"] / tiles["N"])
    assert areas.sum() == pytest.approx(np.log(512 / 2) * np.log(2**19))  # tiles leave no gap and do not cover each other
    assert phase_chart(tiles, network).to_dict()


def test_exponents_beside_the_map():
    table = pattern_table(MAPPED["2-layer erf, He_3"]).set_index("pattern").iloc[:, 0]
    assert table.to_dict() == pytest.approx({"GP": 3, "GFL": 1.5, "specialisation": 1})


N, D = 24, 24


@pytest.fixture
def kept(tmp_path):
    """Three networks whose posterior is the bound's, one of fewer samples without a histogram, and a wider one."""
    middle, width = (EDGES[:-1] + EDGES[1:]) / 2, EDGES[1] - EDGES[0]
    density = expected(0.5, N, D, "standard").frame
    shape = np.interp(middle, density["z"], density["density"])
    keys = {"task": "he3", "network": "erf2", "scaling": "standard", "kappa": 1.0, "chains": 4, "L": None, "gamma": None, "d": D,
            "width": N, "gamma_label": None, "steps": 200, "best_test_acc": None, "curves": 0, "mixed": True}  # fmt: skip
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = [
        row(seed, seed=seed, P=512, alignment_f=0.5 + 0.01 * seed, n_specialised_1=2.0 + 0.1 * seed,
            overlap=(N * width * shape * (1 + 0.1 * (seed - 1))).tolist(), **(keys | {"mixed": seed > 0}))
        for seed in range(3)
    ]  # fmt: skip
    rows.append(row(10, seed=0, P=64, alignment_f=0.0, n_specialised_1=0.0, **keys))
    rows.append(row(11, seed=0, P=64, alignment_f=0.0, n_specialised_1=0.05, **(keys | {"width": 48})))
    store.commit("p", rows)
    return store.results


def test_histogram_over_seeds(kept):
    found = overlaps(kept, [f"{i:020x}" for i in range(3)], N)
    assert set(found.frame["n"]) == {3} and found.alignment == pytest.approx(0.51) and found.n_unmixed == 1
    want = expected(0.5, N, D, "standard")
    assert found.specialised == pytest.approx(want.specialised, rel=0.05)  # middles of bins for their integrals
    inside = found.frame["z"].abs() < 2
    assert (found.frame["low"][inside] < norm.pdf(found.frame["z"][inside])).all()
    # Student's t with 2 degrees of freedom of values 0.9, 1, 1.1: 4.303 x 0.1 / sqrt(3).
    assert (found.frame["high"] / found.frame["density"])[inside].to_numpy() == pytest.approx(1 + 4.303 * 0.1 / 3**0.5, rel=1e-3)
    chart = overlap_chart(found, {PRIOR: expected(0, N, D, "standard").frame, BOUND: want.frame}).to_dict()
    assert len(chart["layer"]) == 4
    assert overlaps(kept, [f"{10:020x}"], N) is None


def test_measured_sizes_are_those_of_most_samples(kept):
    specialising, alignment = (points(kept, Selection(), name).frame for name in ("n_specialised_1", "alignment_f"))
    sizes = measured_sizes({1: specialising}, alignment).set_index("width")
    assert sizes.loc[24, ["P", "n", "alignment", "state"]].to_list() == [512, 3, pytest.approx(0.51), MORE]
    assert sizes.loc[48, "state"] == AS_PRIOR
    assert phase_chart(phase_map("2-layer erf, He_3", 512.0), "2-layer erf, He_3", sizes.reset_index()).to_dict()


def test_of_three_layers_it_is_said_which_specialise():
    keys = {"d": [8, 8, 16], "width": [64, 64, 64], "width1": [4, 4, 4], "P": [64, 128, 64], "n": 2}
    alignment = pd.DataFrame({**keys, "mean": 0.5})
    one = pd.DataFrame({**keys, "mean": 0.02, "low": [0.0, 0.02, 0.0], "high": 0.03})  # by chance: 0.011 of 4
    two = pd.DataFrame({**keys, "mean": 2.0, "low": [0.0, 0.5, 0.1], "high": 3.0})  # 0.17 of 64
    sizes = measured_sizes({1: one, 2: two}, alignment)
    assert sizes["P"].tolist() == [128, 64] and sizes["state"].tolist() == [f"{MORE} in layer 1 and 2", AS_PRIOR]
    chart = phase_chart(phase_map("3-layer erf, He_3", 512.0, 4.0), "3-layer erf, He_3", sizes).to_dict()
    assert chart["layer"][1]["encoding"]["shape"]["scale"]["range"] == ["circle", "cross"]


def test_an_interval_is_of_the_size_that_is_shown():
    keys = {"d": [8, 8], "width": [64, 64], "P": [64, 128]}
    counts = pd.DataFrame({**keys, "n": [3, 1], "mean": [1.0, 2.0], "low": [0.5, np.nan], "high": [1.5, np.nan]})
    [shown] = measured_sizes({1: counts}, pd.DataFrame({**keys, "n": [3, 1], "mean": 0.5})).to_dict("records")
    assert shown["P"] == 128 and shown["mean 1"] == 2 and np.isnan(shown["low 1"])


def test_of_a_cnn_channels_grow_as_the_root():
    table = pattern_table(MAPPED["CNN, linear"]).set_index("pattern")["P* ~ d^e, N as sqrt(d)"]
    assert table.to_dict() == {"GP": pytest.approx(1), "GFL": pytest.approx(0.75)}


def test_bins_that_are_not_known_are_refused(tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    store.commit("p", [row(1, overlap=[1.0, 2.0])])
    with pytest.raises(ValueError, match="histograms of 2 bins"):
        overlaps(store.results, [f"{1:020x}"], 3)
