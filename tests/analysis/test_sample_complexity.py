"""Figures and claims of sample complexity on stores whose laws are known."""

import re
import shutil
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.rubin25.bound import ONSET
from sweepkit.studies.rubin25.figures.attention import LEVEL
from sweepkit.studies.rubin25.theory import attention
from sweepkit.studies.rubin25.theory.large_deviation import samples, slope
from sweepkit.studies.rubin25.theory.patterns import wins

from analysis.claims.check import check
from analysis.claims.entries import Claim
from analysis.claims.kinds import KINDS
from analysis.claims.kinds.measuring import slope_of
from analysis.claims.networks_used import Networks
from analysis.claims.verdict import NotMeasured
from analysis.figures.registry import FIGURES, Drawn, Missing
from analysis.scaling.proportion import in_proportion
from sweepkit.store.searches import Question
from sweepkit.store.store import Store
from sweepkit.store.views import fetch
from tests.measured_store import LAZY_EXPONENT
from tests.store_rows import keys, row

SIZES = (16, 24, 32, 48, 64)
P = [64, 128, 256, 512, 1024, 2048, 4096, 8192]
SD = 0.01


onset = cache(lambda d: 2 * samples(ONSET, d, d))


def alignment(p, d):
    """Crosses ONSET at twice the bound's P* at N = d, kappa = 1, and grows by 0.1 with each e-fold of P."""
    return ONSET + 0.1 * np.log(p / onset(d))


def equilibrium_rows(sizes=SIZES, first=0, **more):
    rng = np.random.default_rng(0)
    keys = {"task": "he3", "network": "erf2", "scaling": "standard", "kappa": 1.0, "chains": 4, "L": None, "gamma": None,
            "gamma_label": None, "steps": 200, "test_size": 512, "dtype": "float32", "best_test_acc": None}  # fmt: skip
    found = []
    for d in sizes:
        for p in P:
            for seed in range(6):
                value = alignment(p, d) + SD * rng.standard_normal()
                here = {"d": d, "width": d, "P": p, "seed": seed, "alignment_f": value, "curves": 0}
                found.append(row(first + len(found), **(keys | here | more)))
    return found


@pytest.fixture
def at_equilibrium(tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    wider = equilibrium_rows((16, 32), first=10_000, width=128)  # other proportions, which must not enter
    store.commit("p", [*equilibrium_rows(), *wider])
    return store.results


def drawn(results, name):
    found = FIGURES[name].draw(results, None)
    assert isinstance(found, Drawn), found
    return found


def test_p_star_follows_the_bound(at_equilibrium):
    found = drawn(at_equilibrium, "Nstar")
    assert found.frame["d"].tolist() == [*SIZES, 16] and found.frame["width"].tolist() == [*SIZES, 128]
    expected = [onset(d) for d in found.frame["d"]]
    # A threshold's error is that of a mean of 4 over the slope: 0.01 / 2 / 0.1 = 0.05 in log P.
    np.testing.assert_allclose(np.log(found.frame["threshold"].astype(float)), np.log(expected), atol=4 * 0.05)
    said = slope(ONSET, np.array(SIZES), np.array(SIZES))
    assert f"slope {said:.2f} over these d" in found.caption and "N = d" in found.caption
    over_widths = slope(ONSET, np.array([16, 128]), np.array([16, 16]), against="width")
    assert f"slope {over_widths:.2f} over these N" in found.caption and "d = 16" in found.caption
    least, greatest = map(float, found.caption.split("P* is ")[1].split(" times")[0].split(" to "))
    assert 2 * np.exp(-0.2) < least < 2 < greatest < 2 * np.exp(0.2), "nothing is moved onto the points"
    # Each panel has its own states: a threshold that is not reached is a triangle in either.
    assert found.chart.to_dict()["resolve"]["scale"]["shape"] == "independent"


def test_curves_collapse_in_units_of_the_bound(at_equilibrium):
    frame = drawn(at_equilibrium, "Collapse").frame
    predicted = ONSET + 0.1 * np.log(frame["rescaled"] / 2)
    assert (frame["mean"] - predicted).abs().max() < 5 * SD / 2


def test_networks_without_samples_are_no_part_of_a_threshold(at_equilibrium):
    without = drawn(at_equilibrium, "Nstar").frame
    Store(at_equilibrium).commit("q", equilibrium_rows((16, 24), first=20_000, P=0, seed=7, alignment_f=0.0)[::32])
    assert drawn(at_equilibrium, "Nstar").frame["threshold"].tolist() == without["threshold"].tolist()
    drawn(at_equilibrium, "Collapse")


def test_captions_count_the_networks_that_are_drawn(tmp_path):
    """Of these sizes at N = d; the others, some of which are in the same setting but for N, did not mix."""
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = [*equilibrium_rows(mixed=True), *equilibrium_rows((16, 32), first=10_000, width=64, mixed=False)]
    rows += equilibrium_rows((16, 24), first=20_000, scaling="mean_field", mixed=False)
    store.commit("p", rows)
    assert "336 networks, 96 of which did not mix" in FIGURES["Nstar"].draw(store.results, None).caption
    collapse = FIGURES["Collapse"].draw(store.results, None)
    assert "scaling = standard" in collapse.caption and "; 240 networks, 6 seeds" in collapse.caption
    assert len(collapse.frame) == len(SIZES) * len(P)


def test_without_such_networks_it_says_so(tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    store.commit("p", [row(1)])
    for name in ("Nstar", "Collapse"):
        assert isinstance(FIGURES[name].draw(store.results, None), Missing)
    store.commit("q", equilibrium_rows((16,), first=100))
    assert isinstance(FIGURES["Nstar"].draw(store.results, None), Missing)


def attention_rows(first=0, late=1.0):
    """Networks whose A_f crosses LEVEL at `late` times theory's P*, at three d and three Lc, as in attention_quick."""
    shared = {"task": "token_pairs", "network": "attention", "scaling": "standard", "kappa": 1.0, "chains": 4, "width": 2,
            "L": None, "gamma": None, "gamma_label": None, "steps": 240, "test_size": 512, "dtype": "float32",
            "best_test_acc": None}  # fmt: skip
    rng, found = np.random.default_rng(0), []
    for d, context in ((6, 16), (8, 16), (12, 16), (6, 8), (6, 32)):
        for p in (32, *P[:5]):
            for seed in range(4):
                over = np.log(p / late / attention.samples(LEVEL, d, context, 2))
                value = LEVEL + 0.1 * over + SD * rng.standard_normal()
                here = {"d": d, "context": context, "P": p, "seed": seed, "alignment_f": value, "curves": 0}
                found.append(row(first + len(found), **(shared | here)))
    return found


def test_attention_collapses_in_units_of_theory(tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    store.commit("p", attention_rows(late=1.5), keys(context="whole"))
    found = drawn(store.results, "Attention")
    names = r"theory's P\*|Lc d\^3, lazy limit|sqrt\(Lc d\^3\)|P itself"
    units = re.findall(rf"({names}) ([\d.]+) \(([\d.]+), (\d+) points", found.caption)
    spread = {unit: float(value) for unit, value, *_ in units}
    assert spread["theory's P*"] < 0.1 < spread["sqrt(Lc d^3)"] < min(spread["Lc d^3, lazy limit"], spread["P itself"])
    score = {unit: float(value) for unit, _, value, _ in units}
    assert score["theory's P*"] < 3 < score["P itself"]
    times = [float(t) for part in re.findall(r"P\* over theory's ([\d., ]+\d)", found.caption) for t in part.split(", ")]
    assert len(times) == 6 and times == pytest.approx([1.5] * 6, rel=0.2)  # 4 errors of 0.05 in log P
    assert {"d", "context", "rescaled"} <= set(found.frame)


def test_attention_without_networks_or_with_one_size_says_so(tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    store.commit("p", [row(1)])
    assert isinstance(FIGURES["Attention"].draw(store.results, None), Missing)
    store.commit("q", [r for r in attention_rows(first=100) if r["d"] == 8], keys(context="whole"))
    assert isinstance(FIGURES["Attention"].draw(store.results, None), Missing)
    few = Store(str(tmp_path / "few"))
    few.prepare()
    few.commit("p", [r | {"context": 3} for r in attention_rows() if r["context"] == 8], keys(context="whole"))
    lacking = FIGURES["Attention"].draw(few.results, None)
    assert isinstance(lacking, Missing) and "at least 4 tokens" in lacking.needs


def test_phases_are_those_of_the_patterns():
    frame = drawn("", "Phases").frame

    def at(network, d, N):
        inside = (frame["d"] <= d) & (d < frame["d_end"]) & (frame["N"] <= N) & (frame["N_end"] > N)
        [pattern] = frame[inside & (frame["network"] == network)]["pattern"]
        return pattern

    for network in frame["network"].unique():
        for d, N in ((5, 20), (64, 64), (8, 16384), (500, 1000)):
            assert at(network, d, N) == wins(network, {"d": d, "N": N, "N1": 8, "N2": N}), (network, d, N)
    assert at("2-layer erf, He_3", 64, 64) == "specialisation"
    assert at("2-layer erf, He_3", 8, 16384) == "GP", "wide networks of few dimensions are lazy"


def test_the_proportion_with_most_sizes_is_taken():
    frame = pd.DataFrame({"d": [16, 32, 64, 16, 32], "width": [16, 32, 64, 128, 128], "x": range(5)})
    assert in_proportion(frame)["x"].tolist() == [0, 1, 2]


def bound_claim(**measure):
    of = {"task": "he3", "network": "erf2", "scaling": "standard", "kappa": 1}
    return Claim.model_validate(
        {"id": "x", "topic": "t", "source": "[Rubin25]", "says": "s", "expected": {"equal": 0, "within": 0.5}, "because": "b",
         "measure": {"kind": "exponent_beside_bound", "level": ONSET, "of": of, **measure}}
    )  # fmt: skip


def test_the_claim_compares_slopes_at_the_same_sizes(at_equilibrium):
    [checked] = check(at_equilibrium, [bound_claim()])
    assert checked.verdict == "confirmed", (checked.why, checked.measured)
    interval = checked.measured.interval
    assert interval.low <= 0 <= interval.high
    assert "minus the bound's" in checked.measured.what
    n = len(equilibrium_rows())
    assert f"those with N = d; {n} networks" in checked.measured.what
    [other] = check(at_equilibrium, [bound_claim(of={"task": "he3", "scaling": "mean_field"})])
    assert other.verdict == "open"


def test_the_claim_contradicts_another_law(tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = equilibrium_rows()
    for one in rows:  # thresholds as d^2.1: another d/16 on top
        one["alignment_f"] -= 0.1 * np.log(one["d"] / 16)
    store.commit("p", rows)
    [checked] = check(store.results, [bound_claim()])
    assert checked.verdict == "contradicted"


def test_the_claim_of_the_constant_holds_at_every_d(at_equilibrium):
    of = {"task": "he3", "network": "erf2", "scaling": "standard", "kappa": 1}
    found = KINDS["threshold_beside_bound"](at_equilibrium, level=ONSET, of=of)
    # Five thresholds of an error of 0.05 in log P each.
    assert found.interval.value == pytest.approx(2, rel=4 * 0.05 / 5**0.5) and found.interval.n == len(SIZES)
    ends = thresholds_of(at_equilibrium)
    assert found.interval.low == pytest.approx((ends["low"] / ends["d"].map(onset) * 2).min())
    assert found.interval.high == pytest.approx((ends["high"] / ends["d"].map(onset) * 2).max())
    assert f"those with N = d; {len(equilibrium_rows())} networks" in found.what
    few = KINDS["threshold_beside_bound"](at_equilibrium, level=ONSET, of=of | {"d": [16, 24]})
    assert isinstance(few, NotMeasured) and "fewer than 3 d" in few.why


def made(tmp_path, rows):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    store.commit("p", rows)
    return store.results


OF_STANDARD = {"task": "he3", "network": "erf2", "scaling": "standard", "kappa": 1}


def test_a_d_that_learns_nothing_leaves_the_constant_open(tmp_path):
    rows = [row | ({"alignment_f": 0.01} if row["d"] == SIZES[-1] else {}) for row in equilibrium_rows()]
    found = KINDS["threshold_beside_bound"](made(tmp_path, rows), level=ONSET, of=OF_STANDARD)
    assert isinstance(found, NotMeasured) and f"not within the P measured at d = {SIZES[-1]}" in found.why


def test_a_d_of_one_seed_has_no_interval_and_leaves_the_constant_without_one(tmp_path):
    rows = [row for row in equilibrium_rows() if row["d"] != SIZES[-1] or row["seed"] == 0]
    found = KINDS["threshold_beside_bound"](made(tmp_path, rows), level=ONSET, of=OF_STANDARD)
    assert np.isnan(found.interval.low) and np.isnan(found.interval.high) and found.interval.n == len(SIZES)


def thresholds_of(results):
    frame = drawn(results, "Nstar").frame
    return frame[frame["d"] == frame["width"]].astype({"low": float, "high": float})


def test_lstar_of_a_store_with_known_thresholds(measured):
    found = drawn(measured, "Lstar")
    lazy = found.caption.split("lazy: ")[1]
    value, low, high = (float(part) for part in lazy.replace("(", "").replace("to ", "").replace(",", "").split()[:3])
    assert low <= LAZY_EXPONENT <= high and abs(value - LAZY_EXPONENT) < 0.2
    found.chart.to_dict()


def test_lstar_of_one_sweep_takes_the_level_that_it_searched_for(measured, tmp_path):
    results = str(shutil.copytree(measured, tmp_path / "results"))
    ids = [cell for (cell,) in fetch(results, "SELECT cell_id FROM cells")]
    Store(results).write_plan("seeking", ids, True, dict.fromkeys(ids, Question("L", "best_test_acc", 0.7)))
    assert "mean best test accuracy 0.7," in FIGURES["Lstar"].draw(results, "seeking").caption
    assert "mean best test accuracy 0.85," in FIGURES["Lstar"].draw(results, None).caption


def test_networks_of_one_seed_share_their_data_so_seeds_are_counted():
    """At equilibrium along the width: three seeds with slopes of 0.4, 0.5 and 0.6, and one without the widest network."""
    frame = pd.DataFrame(
        [{"cell_id": f"{seed}-{n}", "seed": seed, "width": n, "chains": 4, "value": n ** (0.4 + 0.1 * seed)}
         for seed in range(4) for n in (16, 32, 64) if (seed, n) != (3, 64)]
    )  # fmt: skip
    found = slope_of(Networks(frame, "counts"), "width", True, {})
    assert found.interval.n == 3 and found.interval.value == pytest.approx(0.5)
    # Student's t of 2 degrees of freedom, by a table.
    assert found.interval.high - found.interval.value == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3)
    assert "11 networks; slopes of the 3 of 4 seeds that have a network at every width" in found.what
    one = slope_of(Networks(frame[frame["seed"] == 0], "counts"), "width", True, {})
    assert one.interval.value == pytest.approx(0.4) and np.isnan(one.interval.low)
    nowhere_whole = frame[frame["width"] != 16 * 2 ** (frame["seed"] % 3)]
    assert isinstance(slope_of(Networks(nowhere_whole, "counts"), "width", True, {}), NotMeasured)
