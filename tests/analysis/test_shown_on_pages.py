"""Exponents by group, predictions, rescaled curves, maps and claims charts that the pages and figures show."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.tong25.noise import noisy_settings

from analysis.charts.maps import _edges, heat_map, product, theory_contours
from analysis.claims import background_check
from analysis.claims.chart import EDGE, claims_chart, positions
from analysis.claims.check import load_claims
from analysis.claims.verdict import Checked, Measured, NotMeasured, judge
from analysis.data.measures import MEASURES
from analysis.scaling.predictions import compared, predicted
from analysis.scaling.rescaling import best, family, rescaled, standard_errors
from analysis.scaling.thresholds import exponent, exponents, fitted, thresholds
from sweepkit.declarations.columns import Metric
from sweepkit.stats import Interval

LS = np.array([2, 4, 8, 16, 32, 64, 128, 256])


def accuracy(L, d, lazy):
    return 0.5 + 0.5 * L / (L + (d**2 / 4 if lazy else 4))


def described(values):
    return {"n": len(values), "mean": values.mean(), "sd": values.std(ddof=1)}


@pytest.fixture
def measured():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        [
            {"task": "same_different", "L": L, "d": d, "sigma2": 0.0, "prefactor": "sqrt_d",
             "gamma": 1e-5 / d**0.5 if lazy else 1.0, "gamma_label": "lazy" if lazy else "1",
             **described(np.clip(accuracy(L, d, lazy) + 0.003 * rng.standard_normal(4), 0, 1))}
            for L in LS for d in (4, 8, 12, 16) for lazy in (True, False)
        ]
    )  # fmt: skip


def test_exponents_by_gamma_beside_what_is_predicted(measured):
    found = thresholds(measured, 0.85)
    rows = exponents(fitted(found, "L", "d", "gamma_label"), found, "gamma_label")
    assert list(rows["gamma_label"]) == ["lazy", "1"]
    assert list(rows["predicted"]) == [2.0, 0.0]
    for row in rows.itertuples():
        assert row.low - 0.03 < row.predicted < row.high + 0.03  # 0.03: interpolation between powers of 2
        assert row.thresholds == 4
    part = exponents(fitted(found, "L", "d", "gamma_label", (8, 16)), found, "gamma_label", within=(8, 16))
    assert list(part["thresholds"]) == [3, 3]


def test_the_table_of_exponents_is_of_the_law_that_was_fitted(measured):
    found = thresholds(measured, 0.85)
    plain, offset = (fitted(found, "L", "d", "gamma_label", offset=offset) for offset in (False, True))
    for fits in (plain, offset):
        rows = exponents(fits, found, "gamma_label").set_index("gamma_label")
        for gamma in ("lazy", "1"):
            fit = fits.fits.get(gamma)
            assert rows["exponent"][gamma] == pytest.approx(fit.interval.value if fit else np.nan, nan_ok=True)
    assert plain.fits["lazy"].interval.value != offset.fits["lazy"].interval.value
    # Three thresholds are too few for an offset: the reason is said, the table has no number.
    few = fitted(found, "L", "d", "gamma_label", (4, 12), offset=True)
    assert "too few points" in few.problems["lazy"]
    assert exponents(few, found, "gamma_label", within=(4, 12))["exponent"].isna().all()


def test_exponent_with_an_offset_needs_four_thresholds(measured):
    lazy = thresholds(measured[measured["gamma_label"] == "lazy"], 0.85)
    found = exponent(lazy, offset=True)
    assert found is not None and found.law.offset is not None
    assert found.n_used == 4
    with pytest.raises(ValueError, match="too few points"):
        exponent(lazy, within=(4, 12), offset=True)


@pytest.mark.parametrize(
    ("values", "source"),
    [
        ({"gamma_label": "lazy", "gamma": 1e-6}, "Theorem 2"),
        ({"gamma_label": "10", "gamma": 10.0}, "Eq. 3"),
        ({"gamma_label": "0.1", "gamma": 0.1}, None),
        ({"gamma_label": "lazy", "gamma": 1e-6, "sigma2": 1.0}, None),
        ({"gamma_label": "lazy", "gamma": 1e-6, "task": "parity"}, None),
        ({"gamma_label": "1", "gamma": 1.0, "prefactor": "none"}, None),
    ],
)
def test_predictions_speak_of_their_networks_only(values, source):
    said = predicted("L", "d", {"task": "same_different", "sigma2": 0.0, "prefactor": "sqrt_d"} | values)
    assert (said and said.source) == source
    assert predicted("P", "d", {"task": "same_different", "sigma2": 0.0, "prefactor": "sqrt_d"} | values) is None


def test_an_interval_is_compared_with_a_bound_and_with_a_value():
    bound = predicted("L", "d", {"task": "same_different", "sigma2": 0, "prefactor": "sqrt_d", "gamma_label": "lazy"})
    value = predicted("L", "d", {"task": "same_different", "sigma2": 0, "prefactor": "sqrt_d", "gamma": 1})
    assert compared(Interval(1, 0.5, 1.5, 3), bound).endswith("lies within the bound")
    assert compared(Interval(2, 1.5, 2.5, 3), bound).endswith("reaches across the bound")
    assert compared(Interval(3, 2.5, 3.5, 3), bound).endswith("lies above the bound")
    assert "does not contain" in compared(Interval(1, 0.5, 1.5, 3), value)
    assert "no interval" in compared(Interval(1, np.nan, np.nan, 2), value)


def curve_points(ds=(4, 8, 16)):
    frame = pd.DataFrame(
        [{"L": L, "d": d, "mean": accuracy(L, d, True), "sd": 0.01, "n": 4, "test_size": 1024} for d in ds for L in LS]
    )
    return frame  # fmt: skip


def test_curves_collapse_at_the_exponent_of_their_law():
    curves = family(curve_points(), "L", "d", MEASURES["best_test_acc"])
    assert rescaled(curves, 2.0).quality.quality < 1 < rescaled(curves, 2.0).quality.unscaled_quality
    assert best(curves, 50).exponent.value == pytest.approx(2, abs=0.1)
    frame = rescaled(curves, 2.0).frame
    middle = frame[frame["d"] == 8]
    assert np.allclose(middle["rescaled"], middle["L"])  # 8 is the geometric mean
    with pytest.raises(ValueError, match="needs 2 values of d with 2 values of L each, there are 1"):
        family(curve_points((4,)), "L", "d", MEASURES["best_test_acc"])


def test_an_error_is_never_less_than_the_test_examples_leave():
    points = pd.DataFrame({"mean": [1.0, 0.5, 0.5], "sd": [0.0, np.nan, 0.4], "n": [4, 1, 4], "test_size": [1024] * 3})
    best = MEASURES["best_test_acc"]
    assert standard_errors(points, best) == pytest.approx([1 / 4096, np.sqrt(0.25 / 1024), 0.2])
    # The final evaluation of a network may have examples of its own; the best one does not.
    points = pd.DataFrame({"mean": [0.99], "sd": [np.nan], "n": [1], "test_size": [1024], "final_test_size": [100_000]})
    assert standard_errors(points, MEASURES["final_test_acc"]) == pytest.approx([np.sqrt(0.99 * 0.01 / 100_000)])
    assert standard_errors(points, best) == pytest.approx([np.sqrt(0.99 * 0.01 / 1024)])


def test_cells_of_a_map_reach_half_way_but_not_far():
    points = pd.DataFrame({"L": [2, 4, 256, 16], "d": [8, 8, 8, 64]})
    edges = _edges(points, "L", "y", within="d")
    assert edges["y1"][0] == pytest.approx(np.sqrt(8)) == edges["y0"][1]
    assert edges["y1"][1] < 16  # nothing was measured between 4 and 256
    assert edges["y1"][2] < 1024


def test_contours_of_theories_and_the_whole_map():
    points = curve_points().assign(low=0.5, high=0.9)
    values = pd.DataFrame({"theory": "law", "point": points.index, "value": points["mean"]})
    contour = theory_contours(points, values, 0.85, "d", "L")
    assert contour.set_index("d")["value"][16] == pytest.approx(0.7 / 0.3 * 64, rel=0.05)
    chart = heat_map(points, MEASURES["best_test_acc"], "d", "L", theory=contour).to_dict()
    assert chart
    measured = pd.DataFrame({"d": [4, 16], "value": [8.0, 128.0], "low": [6.0, 100.0], "high": [10.0, 150.0]})
    bounded = heat_map(points, MEASURES["best_test_acc"], "d", "L", measured, slope=(2.0, "a paper")).to_dict()
    assert "slope 2 [a paper]" in str(bounded["datasets"])
    assert len(product(points[points["d"] * points["L"] != 64], "d", "L")) == len(points)


@pytest.mark.parametrize(("name", "task", "domain"), [
    ("best_test_acc", "psvrt", [0.5, 1]), ("best_test_acc", "ten classes", [0.1, 1]), ("log_acc", "psvrt", [0.1, 0.7]),
])  # fmt: skip
def test_colours_of_a_map_reach_from_chance_where_it_is_known(name, task, domain):
    points = pd.DataFrame({"L": [2, 4], "d": 8, "mean": [0.1, 0.7], "low": 0.0, "high": 1.0, "n": 1, "task": task})
    chart = heat_map(points, MEASURES.get(name, Metric(name, "log accuracy")), "d", "L").to_dict()
    assert chart["layer"][0]["encoding"]["color"]["scale"]["domain"] == domain


def test_noiseless_networks_stay_only_beside_noisy_ones():
    frame = pd.DataFrame({"L": 4, "d": [16, 16, 32], "sigma2": [0.0, 1.0, 0.0], "gamma": 1.0, "gamma_label": "1"})
    assert list(noisy_settings(frame, ["L", "d", "sigma2", "gamma", "gamma_label"]).index) == [0, 1]


def checked(expected_at, value, low, high):
    claim = next(c for c in load_claims() if c.id == expected_at)
    interval = Interval(value, low, high, 6)
    return Checked(claim, judge(claim.expected, interval)[0], Measured(interval, ""), "")


def test_claims_stand_in_units_of_their_tolerance():
    found = positions([checked("eq3-L3", 0.015, 0.0, 0.03), checked("few-symbols-best-L5", 0.97, 0.96, 0.98),
                       checked("richer-needs-fewer-lazy-0.05", np.inf, 2.0, np.inf)])  # fmt: skip
    assert found["at"].iloc[0] == pytest.approx(0.5)
    assert tuple(found.loc[0, ["region_low", "region_high"]]) == pytest.approx((-1, 1))
    assert found["at"].iloc[1] == pytest.approx(-1 / 3)
    assert found["region_low"].iloc[1] == pytest.approx(-1) and found["region_high"].iloc[1] == EDGE
    assert found["low"].iloc[2] == pytest.approx(0)  # one unit from the bound
    claim = load_claims()[0]
    assert claims_chart([Checked(claim, "open", NotMeasured("none"), "")]) is None


def test_simulated_claims_are_drawn_once(monkeypatch, tmp_path):
    from sweepkit.studies.tong25.kinds import markov_mu
    from sweepkit.studies.tong25.theory import markov

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = markov_mu("", 1, "code", 20)
    monkeypatch.setattr(markov, "simulate", None)
    assert markov_mu("", 1, "code", 20) == first
    assert markov_mu("", 1, "text", 20) != first


def test_following_checks_again_when_the_store_changes_and_reports_a_failure(monkeypatch):
    claims = load_claims()[:3]
    asked = []

    def check(results, of):
        asked.extend(claim.id for claim in of)
        return [Checked(claim, "open", NotMeasured("none"), "none") for claim in of]

    monkeypatch.setattr(background_check, "likely_first", lambda results, of: of)
    monkeypatch.setattr(background_check, "check", check)
    follower = background_check.Following("none", claims, pause_s=0)
    monkeypatch.setattr(follower.apart, "compute", lambda work: work())
    state = follower.look(1, wait_s=5)
    assert [c.claim.id for c in state.checked] == [c.id for c in claims] and state.n_to_come == 0
    follower.look(1, wait_s=5)
    assert len(asked) == 3
    follower.look(2, wait_s=5)
    assert len(asked) == 6
    monkeypatch.setattr(background_check, "check", lambda results, of: 1 / 0)
    state = follower.look(3, wait_s=5)
    assert isinstance(state.error, ZeroDivisionError)
    assert len(state.checked) == 3
