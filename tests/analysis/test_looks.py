"""Thresholds of lazy networks by how and when one looks, and the theory's beside them, on stores whose laws are known."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.tong25 import of_theory
from sweepkit.studies.tong25.of_theory import ABOVE, BELOW, as_lines, theory_thresholds
from sweepkit.studies.tong25.theory import of_lazy

from analysis.claims.check import check, load_claims
from analysis.data.measures import MEASURES
from analysis.data.source import ResultsError
from analysis.figures.registry import FIGURES, Drawn, Missing
from analysis.overlays.overlays import Beside, Later
from analysis.scaling.thresholds import thresholds
from sweepkit.store.store import Store
from tests.store_rows import keys, row

SIZES = (8, 16, 32, 64)
LAWS = {"AUC": (1.0, 0.5), "best threshold": (2.0, 0.5), "every 250": (1.0, 1.0), "every 1000": (1.5, 1.2), "log 8": (0.5, 1.0)}
"""L* = factor d^power, by the way of looking."""
SD = 0.005


def crossing(n_symbols, d, way, level, laws=LAWS):
    """A measure that crosses the level at L*, by 0.1 for each e-fold of L."""
    factor, power = laws[way]
    return level + 0.1 * np.log(n_symbols / (factor * d**power))


def looked_at(folder, schedules=((250, "even"), (1000, "even"), (1000, "log 8")), laws=LAWS):
    """A store of lazy networks that are evaluated at these steps; only those of every 1000 steps follow the laws of the end."""
    rng = np.random.default_rng(0)
    rows = []
    for every, at in schedules:
        way = at if at and at != "even" else f"every {every}"
        for d in SIZES:
            for n_symbols in np.unique(np.geomspace(2, 512, 17).round().astype(int)):
                for seed in range(6):
                    noise = SD * rng.standard_normal()
                    end = {"final_test_auc": crossing(n_symbols, d, "AUC", 0.95) + noise,
                           "final_test_acc_best_threshold": crossing(n_symbols, d, "best threshold", 0.85) + noise} \
                        if way == "every 1000" else {}  # fmt: skip
                    networks = {"L": int(n_symbols), "d": d, "gamma": 1e-5 / d**0.5, "gamma_label": "lazy", "sigma2": 0.0,
                            "prefactor": "sqrt_d", "width": 1024, "base_lr": 0.1, "test_size": 1024, "eval_every": every,
                                "eval_at": at, "steps": 5000}  # fmt: skip
                    acc = crossing(n_symbols, d, way, 0.85, laws) + noise
                    rows.append(row(len(rows), seed=seed, best_test_acc=acc, **networks, **end))
    store = Store(str(folder))
    store.prepare()
    store.commit("p", rows, keys(eval_at="text"))
    return store.results


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return looked_at(tmp_path_factory.mktemp("looked"))


def exponent(caption, way):
    value, low, high = caption.split(f"{way}: ")[1].replace("(", "").replace("to ", "").replace(",", "").split()[:3]
    return float(value), float(low), float(high)


def known_in_part(points, measure, wait):
    """A theory that is known at the three smallest L of the smallest d, where it has learnt nothing."""
    known = points[points["d"] == points["d"].min()].sort_values("L").index[:3]
    return Beside(pd.DataFrame({"theory": "near", "point": known, "value": 0.5, "error": 0.01}), [Later("the rest", float)])


@pytest.mark.parametrize("theory", [None, known_in_part])
def test_each_way_of_looking_has_its_law(store, theory, tmp_path, monkeypatch):
    """Whatever part of the theory is known, as values of other tests are where the cache is shared."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(of_lazy, "_flow_known", set())
    if theory:
        monkeypatch.setattr(of_theory.overlays, "beside", theory)
    found = FIGURES["Looks"].draw(store, None)
    assert isinstance(found, Drawn), found
    of_networks = found.frame[found.frame["theory"] == ""]
    beside = found.frame[found.frame["theory"] != ""]
    assert (of_networks["seeds"] == 6).all() and beside["seeds"].isna().all()
    assert len(beside) == (5 if theory else 0) and (beside["state"] == "not reached").all()
    ways = {"AUC 0.95, at the end": "AUC", "best threshold 0.85, at the end": "best threshold",
            "sign 0.85, every 250 steps": "every 250", "sign 0.85, every 1000 steps": "every 1000",
            "sign 0.85, 8 times a decade": "log 8"}  # fmt: skip
    assert set(of_networks["measured by"]) == {*ways}
    for way, law in ways.items():
        factor, power = LAWS[law]
        part = of_networks[of_networks["measured by"] == way]
        # A mean of 4 errs by 0.0025, that is by 0.025 in log L; four of them.
        np.testing.assert_allclose(np.log(part["threshold"].astype(float)), np.log(factor * part["d"] ** power), atol=0.1)
        value, low, high = exponent(found.caption, way)
        assert low <= power <= high and value == pytest.approx(power, abs=0.1)
    found.chart.to_dict()
    assert found.missing, "the kernel's values are computed later"


def test_ways_that_the_store_lacks_are_left_out(tmp_path):
    found = FIGURES["Looks"].draw(looked_at(tmp_path / "some", [(250, None)]), None)
    assert set(found.frame["measured by"]) == {"sign 0.85, every 250 steps"}
    empty = Store(str(tmp_path / "none"))
    empty.prepare()
    empty.commit("p", [row(1)])
    assert isinstance(FIGURES["Looks"].draw(empty.results, None), Missing)


@pytest.mark.parametrize(
    ("of_1000", "verdicts"), [((1.5, 1.2), ["confirmed", "confirmed"]), ((0.4, 0.8), ["contradicted", "contradicted"])]
)
def test_claims_of_looks_can_fail(tmp_path, of_1000, verdicts):
    results = looked_at(tmp_path / "results", laws=LAWS | {"every 1000": of_1000})
    claims = [claim for claim in load_claims() if claim.id in ("lazy-look-16", "lazy-exponent-sign")]
    assert [one.verdict for one in check(results, claims)] == verdicts


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "confirmed"), (-0.05, "contradicted"), (0.05, "contradicted")])
def test_claims_of_ranks_can_fail(tmp_path, shift, verdict):
    """A shift up of the accuracy by the sign contradicts as one down of the others does."""
    at = {"L": 16, "d": 32, "width": 1024, "steps": 25000, "gamma": 1e-5 / 32**0.5, "gamma_label": "lazy", "sigma2": 0.0,
          "prefactor": "sqrt_d"}  # fmt: skip
    rows = [row(seed, seed=seed, final_test_auc=0.926 + shift + 1e-3 * (seed % 2), final_test_acc=0.53 + abs(shift) + 1e-3 * seed,
                final_test_acc_best_threshold=0.847 + shift + 1e-3 * (seed % 2), **at) for seed in range(6)]  # fmt: skip
    Store(str(tmp_path)).commit("p", rows)
    claims = [claim for claim in load_claims() if claim.id in ("lazy-rank", "lazy-best-threshold", "lazy-sign")]
    assert [one.verdict for one in check(str(tmp_path), claims)] == [verdict] * 3


@pytest.mark.parametrize(("measure", "law"), [("final_test_auc", "AUC"), ("final_test_acc_best_threshold", "best threshold")])
def test_lstar_by_another_measure(store, measure, law):
    found = FIGURES["Lstar"].draw_by(store, None, measure)
    value, low, high = exponent(found.caption, "lazy")
    assert low <= LAWS[law][1] <= high and value == pytest.approx(LAWS[law][1], abs=0.1)
    assert f"{MEASURES[measure].title} {0.95 if law == 'AUC' else 0.85:g}" in found.caption
    with pytest.raises(ResultsError, match=r"no level of readout ratio .* is usual: say one with --at"):
        FIGURES["Lstar"].draw_by(store, None, "readout_ratio")


def test_curves_and_maps_by_another_measure(store):
    curve = FIGURES["1c"].draw_by(store, None, measure="final_test_auc")
    d = int(curve.caption.split("d = ")[1].split(",")[0])
    expected = [crossing(n, d, "AUC", 0.95) for n in curve.frame["L"]]
    np.testing.assert_allclose(curve.frame["mean"], expected, atol=4 * SD / 2)
    assert "dashed: final_test_auc 0.95" in curve.caption
    level = [layer for layer in str(curve.chart.to_dict()).split("'level'")]
    assert len(level) > 1
    drawn = FIGURES["1e"].draw_by(store, None, measure="final_test_auc")
    assert "mean final_test_auc reaches 0.95" in drawn.caption
    value = float(drawn.caption.split("L* ~ d^")[1].split(" ")[0])
    assert value == pytest.approx(LAWS["AUC"][1], abs=0.1)
    with pytest.raises(ValueError, match="shows one measure alone"):
        FIGURES["Looks"].draw_in_full(store, None, lambda later: None, "final_test_auc")


def test_thresholds_of_a_theory_are_those_of_its_curve(monkeypatch):
    """A theory whose curve crosses at 0.8 times the measured thresholds, known to 0.01; another that crosses nowhere near."""
    grid = [(n, d) for d in SIZES for n in np.unique(np.geomspace(2, 512, 33).round())]
    frame = pd.DataFrame([{"L": n, "d": d, "gamma_label": "lazy", "gamma": 1e-5, "n": 4, "sd": SD,
                           "mean": crossing(n, d, "every 1000", 0.85)} for n, d in grid])  # fmt: skip
    asked = []

    def beside(points, measure, wait):
        asked.append(points)
        said = np.array([crossing(n / 0.8, d, "every 1000", 0.85) for n, d in zip(points["L"], points["d"], strict=True)])
        both = [pd.DataFrame({"theory": name, "point": points.index, "value": said - less, "error": 0.01})
                for name, less in (("near", 0), ("far", 0.3))]  # fmt: skip
        return Beside(pd.concat(both, ignore_index=True), [])

    monkeypatch.setattr(of_theory.overlays, "beside", beside)
    found, missing = theory_thresholds(thresholds(frame, 0.85), MEASURES["best_test_acc"], 0.85)
    assert not missing
    factor, power = LAWS["every 1000"]
    middle = factor * asked[0]["d"] ** power
    assert (asked[0]["L"] > middle / BELOW * 0.95).all() and (asked[0]["L"] < middle * ABOVE * 1.05).all()
    near = found[found["theory"] == "near"].sort_values("d")
    assert asked[0]["L"].max() == 256, "more symbols take too long"
    np.testing.assert_allclose([t.value for t in near["threshold"]], 0.8 * factor * near["d"] ** power, rtol=0.02)
    for t in near["threshold"]:
        # An error of 0.01 is one of 0.1 in log L at each point; the isotonic curve averages neighbours, and so makes it less.
        assert 0.05 < np.log(t.high / t.value) < 0.3
    assert [t.reached for t in found[found["theory"] == "far"]["threshold"]] == ["not reached"] * len(SIZES)
    lines = as_lines(found, "d", "gamma_label")
    assert set(lines["line"]) == {"near"} and list(lines["d"]) == list(SIZES)


def test_theory_of_no_network_has_no_thresholds():
    frame = pd.DataFrame([{"task": "psvrt", "L": n, "d": d, "n": 4, "sd": SD, "mean": crossing(n, d, "log 8", 0.85)}
                          for d in SIZES for n in (2, 8, 32, 128)])  # fmt: skip
    found, missing = theory_thresholds(thresholds(frame, 0.85), MEASURES["best_test_acc"], 0.85)
    assert found.empty and not missing and "theory" in found and as_lines(found, "d", "task").empty


def test_a_theory_that_is_known_at_one_point_changes_no_type(monkeypatch):
    """Values become known one by one. A threshold needs several; until then the table beside the measured ones is empty."""
    frame = pd.DataFrame([{"L": n, "d": d, "gamma_label": "lazy", "n": 4, "sd": SD, "mean": crossing(n, d, "every 1000", 0.85)}
                          for d in SIZES for n in (2, 8, 32, 128, 512)])  # fmt: skip

    def beside(points, measure, wait):
        return Beside(pd.DataFrame({"theory": "near", "point": points.index[:1], "value": 0.9, "error": 0.01}), [])

    monkeypatch.setattr(of_theory.overlays, "beside", beside)
    measured = thresholds(frame, 0.85)
    found, _ = theory_thresholds(measured, MEASURES["best_test_acc"], 0.85)
    assert found.empty and "theory" in found
    assert pd.concat([measured, found])["d"].dtype == measured["d"].dtype
