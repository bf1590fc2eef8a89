"""Claims: entries are whole, verdicts follow from intervals, and each kind of measurement finds a known law."""

import re
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sweepkit.studies.tong25.pictured import likeness
from sweepkit.studies.tong25.theory.rich import test_accuracy as eq3

from analysis.claims.chart import claims_chart
from analysis.claims.check import advice, check, claims_frame, load_claims, of_networks
from analysis.claims.entries import Claim, Expected
from analysis.claims.kinds import KINDS
from analysis.claims.networks_used import networks, noting_networks
from analysis.claims.papers import ELSEWHERE, FIELD, OURS, PAPERS, place, rank
from analysis.claims.verdict import Checked, Measured, NotMeasured, distance, judge, verdict_on
from analysis.data.networks.pictures import Pictures
from analysis.overlays.registry import THEORIES
from sweepkit.shipped import grid_file
from sweepkit.stats import Interval, linear_fit, mean_interval
from sweepkit.store.store import Store
from tests.measured_store import LAZY_EXPONENT
from tests.pictured_store import pictured_store
from tests.store_rows import row

RICH = {"task": "same_different", "sigma2": 0, "prefactor": "sqrt_d", "gamma": 1}
LAZY = {"task": "same_different", "sigma2": 0, "prefactor": "sqrt_d", "gamma_label": "lazy"}

ROOT = Path(__file__).parents[2]


def test_claims_come_by_paper_and_those_that_nothing_measures_last_of_each():
    claims = load_claims()
    assert [paper for paper, _ in groupby(claims, key=lambda claim: claim.paper)] == [*PAPERS, FIELD, OURS]
    for _, part in groupby(claims, key=lambda claim: claim.paper):
        found = [bool(claim.not_measured) for claim in part]
        assert found == sorted(found)
    assert rank("Elsewhere99") > rank(OURS) > rank(FIELD) > rank("Boix23")


def test_every_entry_is_whole():
    claims = load_claims()
    assert len(claims) > 40
    for claim in claims:
        assert claim.says.strip() and claim.paper in (*PAPERS, FIELD, OURS) and claim.place != ELSEWHERE, claim.id
        assert not re.search(r"\{\w+\}", claim.says + claim.id + str(claim.measure)), claim.id
        if claim.not_measured:
            continue
        assert claim.measure["kind"] in KINDS and claim.because.strip(), claim.id
        low, high = claim.expected.region
        assert low < high


def test_every_grid_that_a_claim_names_is_there():
    for claim in load_claims():
        assert claim.grid is None or grid_file(claim.grid), claim.id


UNMEASURED = {"id": "mine", "topic": "t", "source": "[Tong25] S1", "says": "x", "not_measured": "no engine trains it"}


def test_a_statement_without_a_measure_is_not_measured_and_never_open_for_more_data(measured):
    (one,) = check(measured, [Claim.model_validate(UNMEASURED)])
    assert one.verdict == "not measured" and one.why == UNMEASURED["not_measured"] and advice(one, measured) == []
    row = claims_frame([one]).iloc[0]
    assert (row["verdict"], row["expected"], row["grid"], row["n"]) == ("not measured", "", "", 0)
    assert claims_chart([one]) is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"measure": {"kind": "mean"}}, "`not_measured` stands in place of measure"),
        ({"grid": "quick", "because": "y"}, "`not_measured` stands in place of because, grid"),
        ({"not_measured": ""}, "say measure, expected, because, or `not_measured` and why"),
        ({"not_measured": "", "measure": {"kind": "mean"}, "because": "y"}, "say expected, or"),
    ],
)
def test_an_entry_is_measured_or_says_why_not(more, words):
    with pytest.raises(ValueError, match=words):
        Claim.model_validate(UNMEASURED | more)


@pytest.mark.parametrize(
    ("source", "heading"),
    [
        ("[Tong25] Fig. 1b, App. C.5", "Figure 1"),
        ("[Tong25] below Eq. 3", "Equation 3"),
        ("[Tong25] Eq. C.18", "Appendix C"),
        ("[Tong25] Fig. C3", "Appendix C"),
        ("[Rubin25] Sec. 6.1, Fig. 3c", "Section 6"),
        ("[Rubin25] S5.2, Claim (i)", "Section 5"),
        ("[Rubin25] Table 1", "Table 1"),
        ("[Rubin25] Some remark", "Elsewhere in the text"),
    ],
)
def test_statements_are_found_where_their_paper_has_them(source, heading):
    assert place(source).heading == heading


def test_places_sort_as_a_reader_looks_for_them():
    in_order = ["S2", "S10", "Eq. 3", "Theorem 1", "Fig. 2", "Fig. 10", "App. A.1", "Fig. C1", "a remark"]
    assert sorted(in_order[::-1], key=place) == in_order


def test_theories_that_claims_name_keep_nobody_waiting():
    """A command checks all claims in a minute: of the theories that take long, kernels do so from hundreds of symbols on."""
    slow = {theory.name for theory in THEORIES.values() if not theory.smooth}
    named = [claim for claim in load_claims() if claim.measure.get("theory") in slow]
    kernels = [claim for claim in named if claim.measure["theory"].startswith("lazy")]
    assert kernels and all(claim.measure["of"]["L"] <= 64 for claim in kernels)  # two seconds each
    others = {claim.measure["theory"] for claim in named if claim not in kernels}
    assert {name.split(",")[0] for name in others} == {"Bayes", "Markov process"}  # seconds at any size


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((1.0, 0.95, 1.05), "confirmed"),
        ((1.0, 0.85, 1.15), "open"),
        ((1.2, 1.11, 1.3), "contradicted"),
        ((0.8, 0.7, 0.89), "contradicted"),
        ((1.15, 1.05, 1.25), "open"),  # the mean lies outside, the interval does not
        ((0.85, 0.75, 0.95), "open"),
        ((1.0, np.nan, np.nan), "open"),
        ((1.0, 0.9, 1.1), "confirmed"),
    ],
)
def test_verdicts(interval, verdict):
    assert judge(Expected(equal=1, within=0.1), Interval(*interval, 6))[0] == verdict


def test_one_sided_verdicts():
    assert judge(Expected(at_least=1), Interval(np.inf, 2.0, np.inf, 6))[0] == "confirmed"
    assert judge(Expected(at_most=0), Interval(0.1, 0.05, 0.2, 6))[0] == "contradicted"


@pytest.mark.parametrize(
    "bad", [{}, {"equal": 1}, {"within": 1}, {"equal": 1, "within": 0}, {"equal": 1, "within": 1, "at_least": 0}]
)
def test_an_expectation_says_one_thing(bad):
    with pytest.raises(ValueError):
        Expected(**bad)


def stated(expected, **more):
    kind = more.pop("kind", "mean")
    said = {"id": "mine", "topic": "t", "source": "s", "says": "x", "because": "y", "measure": {"kind": kind}}
    return Claim.model_validate(said | {"expected": expected} | more)


@pytest.mark.parametrize(
    ("expected", "more"),
    [
        ({"equal": 1.27, "within": 0.13}, {"rivals": [1, 2]}),
        ({"at_least": 1.25, "at_most": 2.19}, {"law": 1.5, "rivals": [1, 2.88]}),
        ({"at_most": 4.5}, {"law": 2.83, "rivals": [7.37], "kind": "threshold_ratio"}),
        ({"at_most": 0.95}, {"rivals": [1]}),
        ({"at_least": 8}, {"fitted": "the rate, of four"}),
    ],
)
def test_what_confirms_may_end_halfway_to_a_rival(expected, more):
    assert stated(expected, **more).rivals == tuple(more.get("rivals", ()))


@pytest.mark.parametrize(
    ("expected", "more", "words"),
    [
        ({"equal": 1.25, "within": 0.25}, {"rivals": [1]}, "1.25 ± 0.25 reaches more than halfway from 1.25 to the rival 1"),
        ({"equal": 1, "within": 0.14}, {"rivals": [1.27, 5]}, "halfway from 1 to the rival 1.27"),
        ({"at_least": 1.2, "at_most": 2}, {"law": 1.5, "rivals": [1]}, "halfway from 1.5 to the rival 1"),
        ({"at_least": 1.25}, {"law": 1.5, "rivals": [1, 3]}, "halfway from 1.5 to the rival 3"),
        # Ratios are compared by their logarithms: halfway between 2.8 and 7.4 is 4.6, not 5.1 as of the numbers.
        ({"at_most": 4.8}, {"law": 2.83, "rivals": [7.37], "kind": "threshold_ratio"}, "halfway from 2.83 to the rival 7.37"),
        ({"at_most": 1.1}, {"rivals": [1]}, "lets in the rival 1"),
        ({"equal": 1, "within": 0.1}, {"law": 1}, "either `law` or `equal`"),
    ],
)
def test_what_confirms_may_not_reach_farther_to_a_rival(expected, more, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        stated(expected, **more)


@pytest.mark.parametrize(
    "more",
    [{"law": 1}, {"rivals": [1]}, {"fitted": "x"}, {"identity": "x"}, {"after_look": "x"}, {"other_setting": "x"}],
)
def test_a_statement_that_nothing_measures_has_no_rival_and_no_mark(more):
    (name,) = more
    with pytest.raises(ValueError, match=f"{name} goes with `expected`"):
        Claim.model_validate(UNMEASURED | more)


def test_why_nothing_measures_it_may_be_a_lost_formula_which_a_measured_statement_cannot_have(measured):
    (one,) = check(measured, [Claim.model_validate(UNMEASURED | {"formulas_lost": True})])
    assert one.verdict == "formulas lost"
    with pytest.raises(ValueError, match="`formulas_lost` goes with `not_measured`"):
        stated({"at_least": 1}, formulas_lost=True)


@pytest.mark.parametrize(
    ("interval", "more", "verdict"),
    [
        ((1.0, 0.95, 1.05), {"identity": "it is so"}, "identity"),
        ((1.0, 0.85, 1.15), {"identity": "it is so"}, "open"),
        ((2.0, 1.9, 2.1), {"identity": "it is so"}, "contradicted"),
        ((2.0, 1.9, 2.1), {"other_setting": "a smaller network"}, "not reproduced"),
        ((1.0, 0.95, 1.05), {"other_setting": "a smaller network"}, "confirmed"),
        ((1.0, 0.95, 1.05), {"after_look": "the tolerance"}, "confirmed"),
    ],
)
def test_what_an_entry_says_of_itself_is_in_its_verdict(interval, more, verdict):
    claim = stated({"equal": 1, "within": 0.1}, **more)
    found, why = verdict_on(claim, claim.expected, Interval(*interval, 6))
    assert found == verdict
    if verdict in ("identity", "not reproduced"):
        assert next(iter(more.values())) in why


@pytest.mark.parametrize(
    ("n", "spread", "verdict", "words"),
    [
        (6, "", "confirmed", "lies within"),
        (5, "", "open", "5 of the 6 networks"),
        (9, "equal", "open", "9 of the 10 networks that a verdict takes where all values are equal"),
        (10, "equal", "confirmed", "at most 26% of networks have others"),
        (6, "exact", "confirmed", "lies within"),
        (6, "two groups", "confirmed", "two groups"),
    ],
)
def test_a_verdict_takes_six_networks_and_ten_where_they_tie(n, spread, verdict, words):
    claim = stated({"equal": 1, "within": 0.1})
    found, why = verdict_on(claim, claim.expected, Interval(1.0, 0.95, 1.05, n, spread=spread))
    assert found == verdict and words in why
    of_identity = stated({"equal": 1, "within": 0.1}, identity="it is so")
    assert verdict_on(of_identity, claim.expected, Interval(1.0, 1.0, 1.0, n, spread=spread))[0] == "identity"


def test_networks_are_counted_at_each_point_and_data_sets_where_they_have_seeds_of_their_own(tmp_path):
    store = Store(str(tmp_path))
    store.commit("p", [row(f"a{d}-{seed}", L=4, d=d, seed=seed) for d, n in ((16, 3), (32, 6), (64, 6)) for seed in range(n)])
    store.commit(
        "q", [row(f"b{s}", task="hermite", L=None, d=4, P=8, data_seed=s // 4, seed=s, test_mse=0.1 + s) for s in range(8)]
    )
    with noting_networks() as line:
        KINDS["slope"](str(tmp_path), measure="best_test_acc", of={"task": "same_different", "L": 4}, over="d")
    assert min(line.seeds) == 3  # a line rests on the fewest
    with noting_networks() as sets:
        networks(str(tmp_path), {"task": "hermite"}, "test_mse", axes=("data_seed",))
    assert sets.seeds == [2]  # of four networks each


def test_n_counts_the_networks_of_a_setting_and_no_points():
    """A line through 35 networks of 5 seeds at 7 widths rests on 5; a mean of 4 of them on 4."""
    line = linear_fit(np.repeat(np.arange(1.0, 8), 5), np.random.default_rng(0).random(35)).slope
    assert line.n == 35 and of_networks(line, [5]).n == 5
    assert of_networks(mean_interval([1.0, 2, 3, 5]), [5]).n == 4
    assert of_networks(mean_interval([1.0, 2, 3, 5]), []).n == 4


@pytest.mark.parametrize(
    ("expected", "more", "value", "share"),
    [
        ({"equal": 1, "within": 0.1}, {}, 1.05, 0.5),
        ({"equal": 1, "within": 0.1}, {}, 0.8, 2.0),
        ({"at_least": 0.5, "at_most": 2}, {"law": 1}, 0.75, 0.5),
        ({"at_least": 0.5, "at_most": 2}, {"law": 1}, 1.5, 0.5),
        ({"at_least": 0.5}, {}, 0.75, None),
        ({"at_least": 0.5}, {"law": 1}, 1.5, None),
    ],
)
def test_the_distance_is_a_share_of_the_tolerance_on_its_side(expected, more, value, share):
    found = distance(Checked(stated(expected, **more), "open", Measured(Interval(value, value, value, 6), ""), ""))
    assert found is None if share is None else found == pytest.approx(share)


def test_a_mistake_in_the_file_names_the_entry(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text("claims: [{id: mine, topic: t, source: s, says: x, measure: {kind: mean}, expected: {equal: 1}, because: y}]")
    with pytest.raises(ValueError, match=r"claim mine: .*`equal` and `within` go together"):
        load_claims(path)


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("{kind: nothing}", "unknown kind 'nothing'; there are mean"),
        ("{kind: mean, of: {}}", "missing a required argument: 'measure'"),
        ("{kind: mean, measure: accuracy, of: {}}", "unknown measure 'accuracy'; there are activation_change"),
        ("{kind: mean, measure: best_test_acc, of: {}, over: d}", "got an unexpected keyword argument 'over'"),
        ("{kind: beside_theory, measure: best_test_acc, of: {}, theory: Eq. 4}", "unknown theory 'Eq. 4'"),
    ],
)
def test_a_measurement_that_cannot_be_made_is_told_when_read(tmp_path, measure, words):
    path = tmp_path / "claims.yaml"
    path.write_text(
        f"claims: [{{id: mine, topic: t, source: s, says: x, measure: {measure}, expected: {{at_least: 1}}, because: y}}]"
    )
    with pytest.raises(ValueError, match=f"claim mine: measure: {re.escape(words)}"):
        load_claims(path)


def test_the_setting_is_the_same_for_both_sides(tmp_path):
    """Networks of gamma 10 exist at another width only: there is no difference to take."""
    store = Store(str(tmp_path))
    store.prepare()
    common = {"L": 3, "d": 256, "sigma2": 0.0, "prefactor": "sqrt_d"}
    rows = [row(i, seed=i, width=1024, best_test_acc=0.9, **common) for i in range(3)]
    rows += [row(10 + i, seed=i, width=512, gamma=10.0, gamma_label="10", best_test_acc=0.9, **common) for i in range(3)]
    store.commit("p", rows)
    of = {"task": "same_different", "L": 3}
    found = KINDS["difference"](store.results, measure="best_test_acc", of=of, a={"gamma": 10}, b={"gamma": 1})
    assert isinstance(found, NotMeasured) and "one side only" in found.why


def test_another_base_rate_is_told_and_not_preferred(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    common = {"L": 3, "sigma2": 0.0, "prefactor": "sqrt_d", "width": 1024}
    rows = [row(i, seed=i, base_lr=0.1, best_test_acc=0.9, **common) for i in range(3)]
    rows += [row(10 + i, seed=i, base_lr=0.5, best_test_acc=0.6, **common) for i in range(6)]
    store.commit("p", rows)
    found = KINDS["mean"](store.results, measure="best_test_acc", of={"L": 3})
    assert found.interval.value == pytest.approx(0.9)
    other = KINDS["mean"](store.results, measure="best_test_acc", of={"L": 3, "base_lr": 0.5})
    assert other.interval.value == pytest.approx(0.6)


def test_a_threshold_missing_within_the_range_leaves_no_exponent(measured):
    of = {**LAZY, "L": {"at_most": 128}, "d": [16, 32, 64]}
    found = KINDS["threshold_exponent"](measured, level=0.85, of=of)
    assert isinstance(found, NotMeasured) and "fewer than 3" in found.why  # d = 64 is beyond: only shorter
    middle = {**LAZY, "L": [8, 16]}
    assert isinstance(KINDS["threshold_exponent"](measured, level=0.95, of=middle), NotMeasured)


def test_mean(measured):
    found = KINDS["mean"](measured, measure="best_test_acc", of=RICH | {"L": 3, "d": 128})
    assert found.interval.value == pytest.approx(float(eq3(3)), abs=0.01) and found.interval.n == 6
    assert isinstance(KINDS["mean"](measured, measure="best_test_acc", of=RICH | {"L": 99}), NotMeasured)
    assert isinstance(KINDS["mean"](measured, measure="best_test_acc", of={"no_such_key": 1}), NotMeasured)


def test_slope_of_what_does_not_depend_on_d(measured):
    found = KINDS["slope"](measured, measure="best_test_acc", of=RICH | {"L": 3}, over="d")
    assert found.interval.n == 18 and found.interval.low < 0.001 and found.interval.high > -0.001


def test_exponent_of_the_activation_change(measured):
    of = RICH | {"L": 16, "gamma": {"at_most": 0.011}}
    found = KINDS["slope"](measured, measure="activation_change", of=of, over="gamma", log=True)
    assert found.interval.value == pytest.approx(1.0, abs=0.01)


def test_beside_theory_at_the_largest(measured):
    of = {"task": "same_different", "gamma": 1, "sigma2": 4}
    found = KINDS["beside_theory"](measured, measure="best_test_acc", of=of, theory="Bayes, generalising", largest="L")
    assert found.interval.value == pytest.approx(0.78 - 0.791, abs=0.01) and "at L = 256" in found.what
    none = KINDS["beside_theory"](measured, measure="best_test_acc", of=of, theory="Eq. 3")
    assert isinstance(none, NotMeasured)


def of_accuracies(folder, at):
    """A store of rich networks of L = 4 and d = 256 with these last accuracies, one for each seed."""
    store = Store(str(folder))
    store.prepare()
    common = {"L": 4, "d": 256, "sigma2": 0.0, "prefactor": "sqrt_d"}
    store.commit("p", [row(i, seed=i, final_test_acc=value, **common) for i, value in enumerate(at)])
    return store.results


def test_error_beside_theory_is_the_logarithm_of_the_mean_error(tmp_path):
    expected = 1 - float(eq3(4))
    given = {"measure": "final_test_acc", "of": RICH | {"L": 4}, "theory": "Eq. 3"}
    some = of_accuracies(tmp_path / "some", [1.0, 1 - expected, 1 - 2 * expected, 1 - 5 * expected])
    found = KINDS["error_beside_theory"](some, **given).interval
    assert found.value == pytest.approx(np.log(2)) and found.n == 4
    half = stats.t.ppf(0.975, 3) * np.std([0, 1, 2, 5], ddof=1) / 2  # Student's interval of the mean, in units of Eq. 3's error
    assert found.high == pytest.approx(np.log(2 + half)) and found.low == -np.inf  # 2 - half is below 0
    near = of_accuracies(tmp_path / "near", [1 - 1.9 * expected, 1 - 2 * expected, 1 - 2.1 * expected])
    low = KINDS["error_beside_theory"](near, **given).interval.low
    assert low == pytest.approx(np.log(2 - stats.t.ppf(0.975, 2) * 0.1 / np.sqrt(3)))


def test_networks_without_any_error_contradict_a_theory_that_has_some(tmp_path):
    perfect = of_accuracies(tmp_path, [1.0] * 5)
    found = KINDS["error_beside_theory"](perfect, measure="final_test_acc", of=RICH | {"L": 4}, theory="Eq. 3")
    assert (
        found.interval.value == found.interval.low == -np.inf
        and judge(Expected(equal=0, within=0.4), found.interval)[0] == "contradicted"
    )


def test_the_largest_of_several_differences_has_an_interval_that_holds_for_all(tmp_path):
    """One of 20 numbers of symbols has a true difference of 0.1, all others none; seeds differ by 0.02."""
    rng = np.random.default_rng(0)
    store = Store(str(tmp_path))
    rows = [
        row(1000 * L + 10 * side + seed, L=L, seed=seed, gamma=gamma, gamma_label=f"{gamma:g}",
            best_test_acc=0.7 + 0.1 * (L == 7 and side == 0) + 0.02 * rng.standard_normal())
        for L in range(2, 22) for side, gamma in enumerate((0.1, 1.0)) for seed in range(6)
    ]  # fmt: skip
    store.prepare()
    store.commit("p", rows)
    given = {"measure": "best_test_acc", "a": {"gamma": 0.1}, "b": {"gamma": 1}}
    found = KINDS["largest_difference"](store.results, of={"task": "same_different"}, among=["L"], **given)
    assert "largest of 20 differences, at L = 7" in found.what and found.interval.n == 6
    alone = KINDS["difference"](store.results, of={"task": "same_different", "L": 7}, **given)
    assert found.interval.value == pytest.approx(alone.interval.value)
    assert found.interval.low < alone.interval.low and 0 < found.interval.low < 0.1 < found.interval.high
    # without L = 7 chance has a largest difference above 0, too, and its interval says that it may be chance
    chance = KINDS["largest_difference"](store.results, of={"task": "same_different", "L": {"at_least": 8}}, among=["L"], **given)
    assert chance.interval.value > 0 > chance.interval.low


def test_likeness_is_the_mean_cosine_of_patches_that_share_an_edge():
    """Two neurons: chequered patches, each the opposite of its neighbours; and patches with a right angle across, equal down."""
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[4.0, -3.0], [2.0, -1.0]])  # a . b = 4 - 6 + 6 - 4 = 0
    weights = np.stack([np.block([[a, -2 * a], [-a, 3 * a]]), np.block([[a, b], [a, b]])])
    found = Pictures(np.arange(2), np.ones(2), weights, np.empty((0, 4, 4)), np.empty(0, bool), rulings=2)
    np.testing.assert_allclose(likeness(found), [1, 0.5])
    with pytest.raises(ValueError, match="without patches"):
        likeness(replace(found, rulings=None))


def test_weights_of_the_extremes_are_compared_between_networks_that_share_the_seed(tmp_path):
    results = pictured_store(tmp_path)
    of = {"task": "psvrt", "gamma_label": "1"}
    alone = KINDS["extremes"](results, quantity="norm", of=of)
    assert alone.interval.n == 1 and np.isnan(alone.interval.low)  # one network of each kind
    ratio = KINDS["extremes"](results, quantity="norm", of=of, over=of | {"gamma_label": "lazy"})
    assert ratio.interval.value == pytest.approx(20, rel=0.2)  # made 1 against 0.05, of 400 random numbers each
    without = KINDS["extremes"](results, quantity="norm", of={"task": "psvrt", "gamma_label": "0.1"})
    assert isinstance(without, NotMeasured) and "saved its weights" in without.why


def test_readouts_are_compared_pair_by_pair_of_networks_that_saved_them(tmp_path):
    store = Store(str(tmp_path))
    readouts = {0: [1.0, 2.0, -1.5], 1: [1.0, 2.0, -3.0], 2: [1.0, 2.0]}
    store.commit(
        "p", [row(seed, L=4, seed=seed, neuron_readout=of, neuron_alignment=[0.5] * len(of)) for seed, of in readouts.items()]
    )
    found = KINDS["larger_readouts"](str(tmp_path), of={"task": "same_different"})
    assert found.interval.value == 0.75 and found.interval.n == 2  # one half and all; the third has none that is negative
    unsaved = KINDS["larger_readouts"](str(tmp_path), of={"task": "psvrt"})
    assert isinstance(unsaved, NotMeasured) and "saved its neurons" in unsaved.why


def test_files_are_asked_for_where_no_network_is_there(measured):
    """A claim that finds networks, but too few to be measured, wants networks."""
    claim = next(c for c in load_claims() if c.id == "lazy-exponent-at-most-2")
    needing = [
        claim.model_copy(
            update={"needs": "supply the files", "measure": {**claim.measure, "of": {**claim.measure["of"], "d": d}}}
        )
        for d in (64, 7)
    ]
    there, none = check(measured, needing)
    assert there.verdict == "open" and "supply" not in there.why
    assert none.verdict == "needs files" and "supply" in none.why


def test_difference_is_of_pairs_that_share_their_data(measured):
    found = KINDS["difference"](measured, measure="best_test_acc", of=RICH | {"d": 64}, a={"gamma": 1}, b={"gamma": 1})
    assert found.interval.value == 0 and found.interval.n == 30
    with pytest.raises(ValueError, match="sides that differ"):
        KINDS["difference"](measured, measure="best_test_acc", of=RICH, a={}, b={"gamma": 1})


def test_threshold_exponent_and_its_difference(measured):
    found = KINDS["threshold_exponent"](measured, level=0.85, of=LAZY)
    assert found.interval.value == pytest.approx(LAZY_EXPONENT, abs=0.05)
    both = KINDS["threshold_exponent"](measured, level=0.85, of=LAZY, minus=RICH)
    assert both.interval.value == pytest.approx(LAZY_EXPONENT, abs=0.1)  # the rich threshold lies at L = 2.6 for each d
    assert both.interval.high - both.interval.low >= found.interval.high - found.interval.low


def test_threshold_ratio(measured):
    at = {"d": 64}
    rich, lazy = {"gamma_label": "1"}, {"gamma_label": "lazy"}
    base = {"task": "same_different", "sigma2": 0, "prefactor": "sqrt_d", **at}
    found = KINDS["threshold_ratio"](measured, level=0.85, of=base, a=lazy, b=rich)
    assert 60 < found.interval.low < found.interval.value < found.interval.high < 100
    beyond = KINDS["threshold_ratio"](measured, level=0.85, of={**base, "L": {"at_most": 64}}, a=lazy, b=rich)
    assert beyond.interval.value == np.inf and judge(Expected(at_least=1), beyond.interval)[0] == "confirmed"


def test_verdicts_of_a_store_and_of_an_empty_one(measured, tmp_path):
    claims = [claim for claim in load_claims() if claim.grid is not None]
    verdicts = {one.claim.id: one for one in check(measured, claims)}
    assert verdicts["eq3-best-L3"].verdict == verdicts["few-symbols-best-L5"].verdict == "confirmed"
    assert verdicts["lazy-exponent-at-most-2"].verdict == "confirmed"
    assert verdicts["readout-ratio-L3"].verdict == "confirmed"
    assert verdicts["ultra-rich-10-L3"].verdict == "open"
    frame = claims_frame(verdicts.values())
    assert list(frame["id"]) == [claim.id for claim in claims] and (frame["n"] >= 0).all()
    empty = {one.claim.id: one for one in check(str(tmp_path), claims)}
    assert all(one.verdict == ("needs files" if one.claim.needs else "open") for one in empty.values())
    needs = "; supply the text and GPT-2's tokenizer, as docs/science/templates.md says"
    assert empty["gpt2-wikitext-2"].why == empty["gpt2-wikitext-2"].measured.why and empty["gpt2-wikitext-2"].why.endswith(needs)
    assert "supply" not in empty["eq3-L3"].why


def test_data_that_deny_a_claim_contradict_it(measured):
    claim = next(c for c in load_claims() if c.id == "eq3-best-L3")
    other = Claim.model_validate(claim.model_dump() | {"expected": Expected(equal=0.1, within=0.03).model_dump()})
    (one,) = check(measured, [other])
    assert one.verdict == "contradicted" and isinstance(one.measured, Measured)


def sided(folder, settings, measure_at):
    """Rich and lazy networks at these (gamma label, L) over several sizes of the image; the accuracy by `measure_at`."""
    store = Store(str(folder))
    gammas = {"1": 1.0, "lazy": 1e-5}
    rows = [
        row(100 * i + 10 * n + seed, task="pentomino", L=L, d=None, patches=n, gamma=gammas[label], gamma_label=label, seed=seed,
            best_test_acc=measure_at(label, L, n) + 0.001 * seed)
        for i, (label, L) in enumerate(settings) for n in (2, 4, 8) for seed in range(3)
    ]  # fmt: skip
    store.commit("p", rows)
    return store.results


SIDES = {"of": {"task": "pentomino", "gamma": 1}, "minus": {"task": "pentomino", "gamma_label": "lazy"}}


def test_slopes_of_two_sides_are_of_one_setting(tmp_path):
    """The rich networks of L = 16 rise, those of L = 14 do not; lazy ones are there at L = 14 alone."""
    measured = {"measure": "best_test_acc", "over": "patches", "prefer": {"L": 16}, **SIDES}
    results = sided(
        tmp_path / "both", [("1", 16), ("1", 14), ("lazy", 14)], lambda label, L, n: 0.6 + 0.1 * (L == 16) * np.log2(n)
    )
    found = KINDS["slope"](results, **measured)
    assert found.interval.value == pytest.approx(0, abs=0.005) and "L = 14" in found.what
    assert found.again.replaced["L"] == "14" and found.again.replaced["gamma"] == "lazy,1"
    assert KINDS["slope"](results, **{**measured, "minus": None}).interval.value == pytest.approx(0.1, abs=0.005)
    apart = sided(tmp_path / "apart", [("1", 16), ("lazy", 14)], lambda label, L, n: 0.6)
    found = KINDS["slope"](apart, **measured)
    assert isinstance(found, NotMeasured) and "no configuration of the other parameters" in found.why


def test_exponents_of_two_sides_are_of_one_setting(tmp_path):
    store = Store(str(tmp_path))
    common = {"sigma2": 0.0, "prefactor": "sqrt_d"}
    laws = (("1", 1.0, 1024, 0.5, 1), ("lazy", 1e-5, 512, 0.03, 2), ("lazy", 1e-5, 1024, 0.2, 1.5))
    rows = [
        row(10_000 * i + 100 * d + 10 * j + seed, d=d, L=2**j, width=width, gamma=gamma, gamma_label=label, seed=seed,
            best_test_acc=0.5 + 0.5 / (1 + (factor * d**power / 2**j) ** 2) + 0.001 * seed, **common)
        for i, (label, gamma, width, factor, power) in enumerate(laws) for d in (16, 32, 64) for j in range(1, 9)
        for seed in range(3)
    ]  # fmt: skip
    store.commit("p", rows)
    of, minus = ({"task": "same_different", "gamma_label": label} for label in ("lazy", "1"))
    found = KINDS["threshold_exponent"](store.results, level=0.75, of=of, minus=minus, prefer={"width": 512})
    assert isinstance(found, Measured), found
    assert found.interval.value == pytest.approx(0.5, abs=0.1) and found.again.replaced["width"] == "1024"
    only = {**minus, "width": 512}
    assert isinstance(KINDS["threshold_exponent"](store.results, level=0.75, of=of, minus=only), NotMeasured)
