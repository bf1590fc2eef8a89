"""Claims: entries are whole, verdicts follow from intervals, and each kind of measurement finds a known law."""

import re

import numpy as np
import pytest

from analysis.claims.check import check, claims_frame
from analysis.claims.entries import Claim, Expected, load_claims
from analysis.claims.measuring import KINDS
from analysis.claims.verdict import Measured, NotMeasured, judge
from analysis.statistics import Interval
from analysis.theory.rich import test_accuracy as eq3
from tests.measured_store import LAZY_EXPONENT

RICH = {"task": "same_different", "sigma2": 0, "prefactor": "sqrt_d", "gamma": 1}
LAZY = {"task": "same_different", "sigma2": 0, "prefactor": "sqrt_d", "gamma_label": "lazy"}


def test_every_entry_is_whole():
    claims = load_claims()
    assert len(claims) > 40
    for claim in claims:
        assert claim.measure["kind"] in KINDS, claim.id
        assert claim.because.strip() and claim.says.strip() and "[Tong25]" in claim.source, claim.id
        assert not re.search(r"\{\w+\}", claim.says + claim.id + str(claim.measure)), claim.id
        low, high = claim.expected.region
        assert low < high


def test_every_grid_that_a_claim_names_is_there():
    from pathlib import Path

    root = Path(__file__).parents[2]
    for claim in load_claims():
        assert claim.grid is None or (root / claim.grid).is_file(), claim.id


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((1.0, 0.95, 1.05), "confirmed"),
        ((1.0, 0.85, 1.15), "not enough data"),
        ((1.2, 1.11, 1.3), "contradicted"),
        ((0.8, 0.7, 0.89), "contradicted"),
        ((1.0, np.nan, np.nan), "not enough data"),
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


def test_a_mistake_in_the_file_names_the_entry(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text("claims: [{id: mine, topic: t, source: s, says: x, measure: {kind: mean}, expected: {equal: 1}, because: y}]")
    with pytest.raises(ValueError, match=r"claim mine: .*`equal` and `within` go together"):
        load_claims(path)


def test_mean(measured):
    found = KINDS["mean"](measured, measure="best_test_acc", of=RICH | {"L": 3, "d": 128})
    assert found.interval.value == pytest.approx(float(eq3(3)), abs=0.01) and found.interval.n == 4
    assert isinstance(KINDS["mean"](measured, measure="best_test_acc", of=RICH | {"L": 99}), NotMeasured)
    assert isinstance(KINDS["mean"](measured, measure="best_test_acc", of={"no_such_key": 1}), NotMeasured)


def test_slope_of_what_does_not_depend_on_d(measured):
    found = KINDS["slope"](measured, measure="best_test_acc", of=RICH | {"L": 3}, over="d")
    assert found.interval.n == 12 and found.interval.low < 0.001 and found.interval.high > -0.001


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


def test_difference_is_of_pairs_that_share_their_data(measured):
    found = KINDS["difference"](measured, measure="best_test_acc", of=RICH | {"d": 64}, a={"L": [3]}, b={"L": [3]})
    assert found.interval.value == 0 and found.interval.n == 4
    apart = KINDS["difference"](measured, measure="best_test_acc", of={**RICH, "L": 64, "d": 64}, a={}, b={"gamma": 1e-3})
    assert isinstance(apart, NotMeasured)


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
    assert verdicts["eq3-L3"].verdict == verdicts["five-symbols"].verdict == "confirmed"
    assert verdicts["lazy-exponent-at-most-2"].verdict == "confirmed"
    assert verdicts["readout-ratio-L3"].verdict == "confirmed"
    assert verdicts["ultra-rich-10"].verdict == "not enough data"
    frame = claims_frame(verdicts.values())
    assert list(frame["id"]) == [claim.id for claim in claims] and (frame["n"] >= 0).all()
    assert {one.verdict for one in check(str(tmp_path), claims)} == {"not enough data"}


def test_data_that_deny_a_claim_contradict_it(measured):
    claim = next(c for c in load_claims() if c.id == "eq3-L3")
    other = Claim.model_validate(claim.model_dump() | {"expected": Expected(equal=0.1, within=0.03).model_dump()})
    (one,) = check(measured, [other])
    assert one.verdict == "contradicted" and isinstance(one.measured, Measured)
