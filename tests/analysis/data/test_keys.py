"""Keys and metrics come from their declarations: titles, order, and a user's own."""

import pytest

from analysis.charts.curves import Look
from analysis.charts.explore import Choices, explore
from analysis.claims.check import check, load_claims
from analysis.claims.kinds import KINDS
from analysis.data.choosing import axes_of, measures_of, suggested
from analysis.data.keys import captioned, gamma_once, of_data, title_of, with_gamma
from analysis.data.measures import MEASURES, declared, measures
from analysis.data.points import groups, points
from analysis.data.selection import Selection, grid_keys
from analysis.data.sharing import shared_along
from analysis.scaling.thresholds import thresholds
from sweepkit.declarations.columns import Key, Metric
from sweepkit.declarations.keys import KEYS
from sweepkit.declarations.metrics import METRICS
from sweepkit.store.store import Store
from tests.rich_rows import rich_store
from tests.store_rows import row

SPARSITY = Metric("sparsity", "share of silent neurons", low=0, high=1, better="lower", on_request=True)
DEPTH = Key("depth", "hidden layers", "whole", "network")


@pytest.fixture
def own(tmp_path):
    """A store with a metric and a key of a user's own, declared by the pack that has them."""
    store = Store(str(tmp_path / "own"))
    rows = [
        row(100 * L + 10 * depth + seed, L=L, depth=depth, seed=seed, sparsity=0.9 / L + 0.001 * seed)
        for L in (2, 4, 8) for depth in (1, 3) for seed in range(3)
    ]  # fmt: skip
    store.commit("p", rows, [SPARSITY, DEPTH])
    return store.results


def test_measures_are_the_metrics_of_a_network_that_are_numbers():
    assert all(METRICS[name] is measure for name, measure in MEASURES.items())
    assert next(iter(MEASURES)) == "best_test_acc" and list(MEASURES)[-1] == "seconds"
    assert not {"mixed", "alignment_f_se", "acceptance", "test_acc", "readout", "overlap"} & {*MEASURES}


def test_metrics_of_richness_come_in_the_order_of_their_meanings(tmp_path):
    results = rich_store(tmp_path)
    held = [name for name in measures_of(results, Selection("rich")) if name not in METRICS]
    assert held == ["d_lr", "d_eff_rho", "pi_hat_C", "pi_target_C"]


def test_a_metric_of_a_users_own_is_measured_drawn_thresholded_and_claimed(own):
    assert measures(own)["sparsity"] == SPARSITY and list(measures(own))[-1] == "seconds"
    assert "sparsity" in measures_of(own, Selection()) and "sparsity" not in grid_keys(own)
    found = points(own, Selection.of(depth=1), "sparsity")
    assert list(found.frame["L"]) == [2, 4, 8] and found.measure.falls
    chosen = Choices(Look("L", declared=found.declared))
    drawn = explore(own, Selection.of(depth=1), groups(own, Selection.of(depth=1), "sparsity"), chosen)
    assert "share of silent neurons" in str(drawn.chart.to_dict())
    (threshold,) = thresholds(found.frame, 0.2, "L", found.measure.falls, found.declared)["threshold"]
    assert 4 < threshold.value < 8
    mean = KINDS["mean"](own, measure="sparsity", of={"L": 2, "depth": 1})
    assert mean.interval.value == pytest.approx(0.451) and mean.what.startswith("mean share of silent neurons")
    assert len(check(own, load_claims()[:1])) == 1


def test_the_main_metric_of_most_networks_comes_first(own, tmp_path):
    assert measures_of(own, Selection())[0] == "best_test_acc" and measures_of(own, Selection())[-2:] == ["sparsity", "seconds"]
    store = Store(str(tmp_path / "real"))
    real = {"task": "he3", "best_test_acc": None, "final_train_loss": 0.1, "test_mse": 0.2}
    store.commit("p", [row(i, **real) for i in range(3)])
    assert measures_of(store.results, Selection())[0] == "test_mse"
    store.commit("q", [row(9 + i, alignment_f=0.5, **real, training="langevin") for i in range(3)])
    assert measures_of(store.results, Selection())[0] == "test_mse"
    assert measures_of(store.results, Selection.of(training="langevin"))[0] == "alignment_f"


def test_a_key_of_a_users_own_has_its_title_and_its_part(own):
    known = declared(own) | {"depth": DEPTH}
    found = points(own, Selection())
    assert "depth" in found.keys and title_of("depth", None, found.declared) == "hidden layers"
    assert captioned(["depth", "seed", "steps", "L"], known) == ["L", "depth", "steps", "seed"]
    assert suggested(found, axes_of(found)) == ("L", "depth")


def test_captions_tell_the_task_then_the_network_then_the_training():
    keys = ["seed", "science_version", "steps", "gamma", "gamma_label", "width", "blur", "d", "task"]
    assert captioned(keys) == ["task", "d", "blur", "gamma_label", "width", "steps", "science_version", "seed"]
    assert of_data(["task", "L", "gamma", "layer", "steps"]) == ["L", "layer"]


def test_titles_are_those_that_are_declared():
    assert all(title_of(key) == column.title for key, column in KEYS.items())
    assert title_of("L", "psvrt") == "training patterns L" and title_of("nothing") == "nothing"


def test_keys_of_a_users_own_task_enter_the_streams_unless_they_say_otherwise():
    entering, other = Key("k", "k", in_streams=True), Key("k", "k")
    assert not shared_along("k", False) and not shared_along("k", False, KEYS | {"k": entering})
    assert shared_along("k", False, KEYS | {"k": other})
    wide = Key("heads", "heads", part="network", in_streams=True)
    assert not shared_along("heads", False, {"heads": wide}) and shared_along("heads", True, {"heads": wide})


def test_gamma_stands_once_and_is_there_to_sort_its_label_by():
    assert gamma_once(["L", "gamma", "gamma_label"], {"gamma_label"}) == ["L", "gamma_label"]
    assert gamma_once(["L", "gamma"], {"gamma"}) == ["L", "gamma"]
    assert with_gamma(["gamma_label", "L", "L"]) == ["gamma_label", "L", "gamma"]
    assert with_gamma(["gamma", "L"]) == ["gamma", "L"]
