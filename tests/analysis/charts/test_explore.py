"""The app's requests to analysis: progress, axes and settings of a first figure, medians, many intervals, the store's state."""

import re

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.tong25.theory.of_same_different import expected

from analysis.charts.along import groups_along
from analysis.charts.captions import _together
from analysis.charts.curves import Look
from analysis.charts.explore import Choices, TooMuch, explore
from analysis.data.choosing import along_with, axes_of, measures_of, rest_of, settled, suggested, suits_log
from analysis.data.networks.reading import networks, training
from analysis.data.points import groups, means_of, points, with_intervals
from analysis.data.progress.coverage import progress, reasons
from analysis.data.selection import Selection
from analysis.data.source import ResultsError, state
from analysis.headline import headline
from analysis.results import Results
from sweepkit.declarations.columns import Key
from sweepkit.declarations.metrics import METRICS
from sweepkit.stats import FEW, mean_interval, mean_intervals, median_interval
from sweepkit.store.leases import Lease
from sweepkit.store.store import Store
from tests.store_rows import OWN_KEYS, START, keys, row, rows


@pytest.fixture
def store(tmp_path):
    """L = 3, 4 at d = 64 and width 16, L = 3..6 at d = 128 and width 32; 12 seeds each."""
    made = Store(str(tmp_path))
    settings = [(3, 64, 16), (4, 64, 16), *((L, 128, 32) for L in (3, 4, 5, 6))]
    cells = [
        row(100 * i + seed, L=L, d=d, width=width, seed=seed, sigma2=0.0, prefactor="sqrt_d",
            best_test_acc=0.6 + 0.01 * (seed % 7) + 0.05 * L)
        for i, (L, d, width) in enumerate(settings) for seed in range(12)
    ]  # fmt: skip
    made.commit("one", cells)
    made.write_plan("sweep", [*(cell["cell_id"] for cell in cells), "x" * 20, "y" * 20], whole=True)
    return made


def test_many_intervals_are_those_of_one_by_one():
    rng = np.random.default_rng(3)
    samples = [rng.beta(4, 1, n) for n in (FEW, FEW, FEW + 7, 100)] + [np.full(FEW, 0.75)]
    low, high = mean_intervals(samples, (0, 1))
    alone = [mean_interval(sample, bounds=(0, 1)) for sample in samples]
    for i, one in enumerate(alone):
        assert (low[i], high[i]) == pytest.approx((one.low, one.high), abs=1e-12)


def test_points_about_the_median(store):
    found = points(store.results, Selection(), centre="median").frame
    values = groups(store.results, Selection()).frame["seeds"]
    for low, high, seeds in zip(found["low"], found["high"], values, strict=True):
        assert (low, high) == median_interval(seeds)[1:3]


def test_intervals_of_some_groups_are_those_of_all(store):
    found = groups(store.results, Selection())
    part = with_intervals(found.frame.iloc[2:4], found.measure)
    whole = points(store.results, Selection()).frame
    assert np.allclose(part[["low", "high"]], whole.iloc[2:4][["low", "high"]], atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Four degrees and ten draws of the data are no sizes: the two numbers of examples are.
        ([{"P": P, "degree": degree} for P in (8, 16) for degree in (1, 2, 3, 4)], ("P", "degree")),
        ([{"P": P, "data_seed": draw} for P in (8, 16) for draw in range(10)], ("P", "data_seed")),
        ([{"degree": degree} for degree in (1, 2, 3)], ("degree", None)),
        # d and ridge change together, so that neither tells curves apart at one value of the other.
        ([{"P": P, "degree": k, "d": d, "ridge": d / 8} for P in (8, 16, 32) for k in (1, 2) for d in (8, 16)], ("P", "degree")),
    ],
)
def test_a_first_figure_is_over_sizes_and_tells_apart_what_varies_at_one_setting(tmp_path, rows, expected):
    store = Store(str(tmp_path))
    own = keys(degree="whole", ridge="number")
    cells = [row(i, **{"task": "hermite", "L": None, "seed": 0, "d": 4} | one) for i, one in enumerate(rows)]
    store.commit("one", cells, own)
    found = groups(store.results, Selection())
    assert suggested(found, axes_of(found)) == expected


def test_a_first_figure_and_its_setting(store):
    found = groups(store.results, Selection("sweep"))
    axes = axes_of(found)
    assert axes.numbers == ["L", "d", "width"]
    assert suggested(found, axes) == ("L", None)  # no other key varies where most networks are
    rest = rest_of(found, ["L"])
    assert rest == ["d", "width"]
    assert settled(found, rest, {}) == {"d": 128, "width": 32}
    assert settled(found, rest, {}, prefer={"d": 64}) == {"d": 64, "width": 16}
    chosen = settled(found, rest, {"d": 128, "width": 16}, first="width")
    assert (chosen["d"], chosen["width"]) == (64, 16)
    chosen = settled(found, rest, {"d": 128, "width": 16}, first="d")
    assert (chosen["d"], chosen["width"]) == (128, 32)


def test_the_chart_shows_the_setting_alone_and_says_so(store):
    found = groups(store.results, Selection("sweep"))
    drawn = explore(store.results, Selection("sweep"), found, Choices(Look("L"), (("d", 64), ("width", 16)), raw=True))
    assert list(drawn.frame["L"]) == [3, 4] and list(drawn.frame["n"]) == [12, 12]
    assert drawn.caption.startswith("d = 64, width = 16, steps = 3000, prefactor = sqrt_d; mean over 12 seeds per point")
    assert "24 networks; 4 points of other d, width not shown" in drawn.caption
    assert "Eq. 3" in drawn.frame
    assert explore(store.results, Selection("sweep"), found, Choices(Look("L"), (("d", 64), ("width", 32)))) is None


def test_too_many_raw_values_are_refused(store, monkeypatch):
    found = groups(store.results, Selection("sweep"))
    monkeypatch.setattr("analysis.charts.explore.MOST_POINTS", 20)
    with pytest.raises(TooMuch, match="24 networks are more than a chart can show"):
        explore(store.results, Selection("sweep"), found, Choices(Look("L"), (("d", 64), ("width", 16)), raw=True))


def test_too_many_panels_are_refused(store, monkeypatch):
    found = groups(store.results, Selection("sweep"))
    monkeypatch.setattr("analysis.charts.explore.MOST_PANELS", 1)
    with pytest.raises(TooMuch, match="2 panels are more than 1: choose another parameter for the panels, or use it as colour"):
        explore(store.results, Selection("sweep"), found, Choices(Look("L", facet="d"), ()))


def test_measured_names_what_has_values(store):
    assert measures_of(store.results, Selection()) == ["best_test_acc", "best_test_error", "seconds"]


def test_logarithmic_axes_are_for_wide_ranges_of_positive_values():
    import pandas as pd

    assert suits_log(pd.Series([2, 64])) and not suits_log(pd.Series([2, 12])) and not suits_log(pd.Series([0, 64]))
    assert suits_log(pd.Series([4, 8, 16, 32])) and suits_log(pd.Series([0.9, 0.3, 0.1])) and not suits_log(pd.Series([4, 8, 12]))


def test_progress_tells_running_from_missing_and_gives_the_rate(store):
    store.commit("late", [row(5000, minute=2), row(5001, minute=2)])
    store.write_plan("sweep", [f"{5000:020x}", f"{5001:020x}"])
    lease = Lease(store)  # not as a context, where a thread of its own writes it, later
    lease.update(["x" * 20, "elsewhere"])
    (now,) = progress(store.results)
    lease.release()
    assert (now.planned, now.ok, now.running, now.missing, now.done) == (76, 74, 1, 1, 74)
    assert now.last == START.replace(tzinfo=None, minute=2)
    assert now.per_minute == pytest.approx(74 / 2)


def test_reasons_are_grouped_over_their_numbers(store):
    store.commit("bad", [row(7000 + i, status="diverged") for i in range(3)])
    store.write_plan("sweep", [f"{7000 + i:020x}" for i in range(3)])
    (reason,) = reasons(store.results)["sweep"]
    told = (reason.status, reason.n, reason.reason, reason.cell_id)
    assert told == ("diverged", 3, "diverged at steps 7000 to 7002", f"{7000:020x}")


def test_the_state_changes_with_commits_and_leases_alone(store):
    first = state(store.results)
    assert state(store.results) == first
    lease = Lease(store)
    leased = state(store.results)
    lease.beat()
    assert state(store.results) == leased != first
    lease.update(["x" * 20])
    assert state(store.results) != leased
    lease.release()
    assert state(store.results) == first
    store.commit("two", rows(9000, 2))
    assert state(store.results) != first


def test_networks_of_a_setting_their_curves_and_means(store):
    found = networks(store.results, Selection("sweep"))
    assert len(found.frame) == 6 and list(found.frame["seeds"].iloc[0]) == list(range(12))
    assert networks(store.results, Selection("sweep"), "neurons").frame.empty
    curves = training(store.results, found.frame["cells"].iloc[0])
    assert len(curves) == 12 * 3
    means = means_of(store.results, tuple(found.frame["cells"].iloc[0]), ("best_test_acc", "readout_ratio"))
    assert list(means) == ["best_test_acc"] and means["best_test_acc"].n == 12


def test_theory_of_a_network():
    cell = {
        "task": "same_different",
        "L": 8,
        "sigma2": 0.0,
        "prefactor": "sqrt_d",
        "gamma": 1.0,
        "gamma_label": "1",
        "readout_ratio": 1.5,
    }
    rich = expected(cell)
    assert rich["readout_ratio"].value == 1.5 and rich["alignment_neg"].value == -1
    assert rich["best_test_acc"].value == pytest.approx(0.998, abs=5e-4)  # [Tong25 Eq. 3]
    assert rich["final_test_acc"].value == rich["best_test_acc"].value  # Eq. C.18 at the ratio of Eq. 3
    assert expected(cell | {"L": 2})["readout_ratio"].value == 1
    assert expected(cell | {"gamma": 1e-6, "gamma_label": "lazy"})["alignment_pos"].value == 0
    for other in ({"gamma": 0.1, "gamma_label": "0.1"}, {"sigma2": 1.0}, {"prefactor": "none"}):
        assert expected(cell | other) == {}


def test_images_are_first_shown_at_the_settings_of_their_task(tmp_path):
    """Most networks have the width and rate of symbols and other patches; the paper's of PSVRT are few, and still first."""
    store = Store(str(tmp_path))
    sizes = [(512, 5, 0.5, 1), (1024, 8, 0.1, 3)]
    cells = [
        row(100 * i + 10 * L + seed, task="psvrt", L=L, d=None, patches=n, patch_size=5, width=width, base_lr=rate, seed=seed)
        for i, (width, n, rate, seeds) in enumerate(sizes) for L in (3, 4) for seed in range(seeds)
    ]  # fmt: skip
    store.commit("p", cells, OWN_KEYS)
    found = groups(store.results, Selection())
    assert settled(found, rest_of(found, ["L"]), {}) == {"width": 512, "patches": 5, "base_lr": 0.5}
    drawn = explore(store.results, Selection(), found, Choices(Look("L"), (("width", 512), ("patches", 5), ("base_lr", 0.5))))
    assert "patch_size = 5, " in drawn.caption and "; 1 seed per point, without an interval; 2 networks; " in drawn.caption
    assert drawn.caption.endswith("2 points of other width, patches, base_lr not shown.")
    assert "training patterns L" in str(drawn.chart.to_dict())


def test_a_key_that_changes_along_with_the_abscissa_neither_splits_nor_hides_points(tmp_path):
    store = Store(str(tmp_path))
    store.commit("one", [row(i, L=3, width=8 * 2**i, d=100 * 2**i, seed=0) for i in range(4)])
    store.write_plan("zipped", [f"{i:020x}" for i in range(4)], whole=True)
    found = headline(store.results, Selection("zipped"))
    assert len(found.frame) == 4 and list(found.frame.columns)[1] == "n"  # one curve through all points
    assert re.search(r"(d changes along with width: 100 to 800|width changes along with d: 8 to 64)", found.caption)


def test_an_axis_whose_values_double_is_logarithmic_and_has_its_ticks_there(tmp_path):
    store = Store(str(tmp_path))
    store.commit("one", [row(L, L=L, seed=0) for L in (4, 8, 16, 32)])
    store.write_plan("doubling", [f"{L:020x}" for L in (4, 8, 16, 32)], whole=True)
    found = headline(store.results, Selection("doubling"))
    assert found
    [x] = [layer["encoding"]["x"] for layer in found.chart.to_dict()["layer"] if "line" in str(layer["mark"])]
    assert x["scale"]["type"] == "log" and x["axis"]["values"] == [4, 8, 16, 32]


def test_networks_that_diverged_at_another_setting_are_told_apart_from_places_without_a_point(tmp_path):
    store = Store(str(tmp_path))
    rows = [row(i, L=3 + i, base_lr=0.1, seed=0) for i in range(3)]
    store.commit("one", [*rows, *(row(9 + i, "diverged", L=4, base_lr=1e30, seed=i) for i in range(2))])
    store.write_plan("lr", [one["cell_id"] for one in rows] + [f"{9 + i:020x}" for i in range(2)], whole=True)
    found = headline(store.results, Selection("lr"))
    assert found and len(found.frame) == 3 and "no point" not in found.caption
    assert "2 networks at base_lr = 1e+30 diverged, and none finished there" in found.caption


def test_a_key_that_comes_back_to_a_value_tells_two_experiments_apart(tmp_path):
    """He_3's sizes once made one curve with a network of another kappa and d, because its P lay between theirs."""
    store = Store(str(tmp_path))
    store.commit("one", [row(i, L=3, width=8 * 2**i, d=50 if i == 2 else 100, seed=0) for i in range(5)])
    frame = points(store.results, Selection())
    assert along_with(frame, "width") == []
    assert along_with(frame._replace(frame=frame.frame[frame.frame["width"] != 32]), "width") == []
    assert along_with(frame._replace(frame=frame.frame[frame.frame["width"] <= 32]), "width") == []


def test_points_that_differ_in_a_word_or_are_but_two_are_not_joined(tmp_path):
    """The sweep `authors` once joined L = 4 at d = 64 with L = 16 at d = 32, and the one-third law's squared error at one rate
    cross entropy at others."""
    store = Store(str(tmp_path))
    both = [row(i, L=4 * 4**i, d=64 - 32 * i, gamma=0.1, gamma_label="0.1", seed=0) for i in range(2)]
    words = [row(9 + i, L=None, width=8 * 2**i, loss="mse" if i < 1 else None, seed=0) for i in range(3)]
    store.commit("one", [*both, *words])
    store.write_plan("both", [one["cell_id"] for one in both], whole=True)
    store.write_plan("words", [one["cell_id"] for one in words], whole=True)
    found = headline(store.results, Selection("both"))
    assert "along with" not in found.caption and "so that no points are joined" in found.caption
    found = headline(store.results, Selection("words"))
    assert "along with" not in found.caption and list(found.frame.columns)[:2] == ["width", "loss"]


def test_a_first_chart_without_curves_shows_as_many_points_as_it_can(tmp_path):
    """Points of one abscissa in the colours that differ there, rather than one of them."""
    store = Store(str(tmp_path))
    cells = [row(i, L=4, d=64, initial=initial, seed=0) for i, initial in enumerate(("truncated", None))]
    store.commit("one", [*cells, row(2, L=16, d=32, seed=0)])
    store.write_plan("apart", [f"{i:020x}" for i in range(3)], whole=True)
    found = headline(store.results, Selection("apart"))
    assert len(found.frame) == 2 and "each curve has a single L, so that no points are joined" in found.caption


def test_the_axis_names_what_changes_along_with_it(tmp_path):
    store = Store(str(tmp_path))
    store.commit("one", [row(i, L=3, width=8 * 2**i, d=100 * 2**i, seed=0) for i in range(4)])
    store.write_plan("zipped", [f"{i:020x}" for i in range(4)], whole=True)
    found = headline(store.results, Selection("zipped"))
    assert "input dimension d, and width along with it" in str(found.chart.to_dict())


def test_a_caption_tells_which_networks_did_not_mix(tmp_path):
    store = Store(str(tmp_path))
    told = {"task": "he3", "network": "erf2", "training": "langevin", "kappa": 1.0, "chains": 4, "d": 16}
    store.commit("one", [
        row(i, **told, L=None, P=100 * (1 + i // 2), seed=i % 2, alignment_f=0.1, mixed=i != 3) for i in range(6)
    ])  # fmt: skip
    found = groups(store.results, Selection(), "alignment_f")
    drawn = explore(store.results, Selection(), found, Choices(Look("P", None)))
    assert "6 networks, 1 of which did not mix." in drawn.caption
    few = found._replace(frame=found.frame[found.frame["P"] != 200])
    assert "4 networks." in explore(store.results, Selection(), few, Choices(Look("P", None))).caption


def test_a_key_of_truth_values_tells_curves_apart_and_is_no_abscissa(tmp_path):
    store = Store(str(tmp_path))
    cells = [row(i, L=3 + i // 2, seed=0, rotated=bool(i % 2)) for i in range(6)]
    store.commit("p", cells, keys(rotated="truth"))
    found = groups(store.results, Selection())
    offered = axes_of(found)
    assert offered.numbers == ["L"] and "rotated" in offered.others and suggested(found, offered) == ("L", "rotated")
    with pytest.raises(ResultsError, match="x = 'rotated': must be a parameter that is a number here: L"):
        Results(store.results).plot(x="rotated")
    drawn = explore(store.results, Selection(), found, Choices(Look("L", "rotated")))
    assert sorted(drawn.drawn.points["rotated"].astype(str).unique()) == ["False", "True"]


def test_a_caption_counts_the_networks_that_failed(store):
    at = {"L": 3, "d": 128, "width": 32, "sigma2": 0.0, "prefactor": "sqrt_d", "best_test_acc": None}
    store.commit("f", [row(900 + seed, seed=50 + seed, status="failed", **at) for seed in range(2)], failed=True)
    found = Results(store.results)
    where = {"d": 128}
    assert "48 networks; 2 more failed" in found.plot(x="L", by="", where=where, wait=False).description
    assert "failed" not in found.plot(x="L", by="", where={"d": 64}, wait=False).description


def test_a_value_that_a_task_leaves_to_its_default_is_no_nan_in_words():
    data = pd.DataFrame({"base_lr": [0.1, 1.0], "loss": ["mse", None]})
    assert _together(data, "loss", "base_lr") == "loss changes along with base_lr: mse to the default"


def test_a_caption_names_what_differs_from_the_defaults_of_the_network_and_the_training(tmp_path):
    """Momentum 0.9 was once left out where all networks of a sweep had it."""
    store = Store(str(tmp_path))
    own = [
        Key("momentum", "momentum", "number", "training", default=0.0, of=("sgd",)),
        Key("depth", "hidden layers", "whole", "network", default=2, of=("mlp",)),
    ]
    cells = [row(i, L=3 + i, seed=0, network="mlp", training="sgd", momentum=0.9, depth=2) for i in range(3)]
    store.commit("one", cells, own)
    found = groups(store.results, Selection())
    assert "momentum = 0.9" in explore(store.results, Selection(), found, Choices(Look("L"))).caption
    assert "depth" not in explore(store.results, Selection(), found, Choices(Look("L"))).caption


def test_a_curve_along_training_of_networks_that_differ_in_their_seed_alone(tmp_path):
    store = Store(str(tmp_path))
    store.commit("p", [row(seed, L=4, seed=seed, curves=3) for seed in range(2)])
    found, _ = groups_along(str(tmp_path), Selection(), METRICS["test_acc"], [])
    assert found["step"].tolist() == [0, 1000, 2000] and (found["n"] == 2).all()
