"""Selections as SQL, and points: networks that differ in their seed only, with honest intervals."""

import duckdb
import numpy as np
import pandas as pd
import pytest

from analysis.claims.networks_used import networks
from analysis.data.networks.listing import network
from analysis.data.networks.saved import of_other_gamma
from analysis.data.points import described, one_setting, points, seeds, settings_of, varying
from analysis.data.selection import Selection, axes, finite, grid_keys, statistics_sql
from analysis.figures.registry import FIGURES
from sweepkit.declarations.columns import Key
from sweepkit.stats import FEW
from sweepkit.store.sql import literal
from sweepkit.store.store import Store
from sweepkit.store.views import fetch, run
from tests.measured_store import SEEDS
from tests.store_rows import OWN_KEYS, keys, row


def test_a_point_is_the_mean_of_its_seeds_with_students_interval(measured):
    found = points(measured, Selection.of("measured", L=3, d=128, gamma_label="1"))
    (point,) = found.frame.to_dict("records")
    values = [v for (v,) in fetch(measured, "SELECT best_test_acc FROM cells WHERE L = 3 AND d = 128 AND status = 'ok'")]
    from scipy.stats import t

    low, high = t.interval(0.95, SEEDS - 1, np.mean(values), np.std(values, ddof=1) / np.sqrt(SEEDS))
    assert (point["n"], point["mean"]) == (SEEDS, pytest.approx(np.mean(values)))
    assert point["median"] == pytest.approx(np.median(values))
    assert (point["low"], point["high"]) == (pytest.approx(low), pytest.approx(high))


def test_everything_but_the_seed_tells_points_apart(measured):
    found = points(measured, Selection("measured"))
    n_points = fetch(measured, "SELECT count(DISTINCT (L, d, gamma_label, sigma2)) FROM cells WHERE status = 'ok'")[0][0]
    assert len(found.frame) == n_points
    assert (found.frame["n"] == SEEDS).all()
    assert set(varying(found.frame, found.keys)) == {"L", "d", "gamma_label", "sigma2"}


def test_diverged_networks_are_counted_beside_the_mean(measured):
    frame = points(measured, Selection.of(L=3, d=64, gamma_label="1", sigma2=0.0)).frame
    assert list(frame["diverged"]) == [1] and list(frame["n"]) == [SEEDS]


def test_the_sql_shown_gives_the_same_points(measured):
    found = points(measured, Selection.of("measured", gamma_label="lazy"))
    again = run(measured, lambda connection: connection.execute(found.sql).df())
    assert sorted(again["mean"]) == pytest.approx(sorted(found.frame["mean"]))


def test_accuracies_have_no_interval_beyond_one(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    store.commit("p", [row(i, best_test_acc=v, L=3, seed=i) for i, v in enumerate((1.0, 0.999, 0.99))])
    (point,) = points(store.results, Selection()).frame.to_dict("records")
    assert point["high"] == 1.0 and point["low"] < 0.99


def test_many_seeds_get_the_bootstrap(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    values = np.random.default_rng(0).exponential(0.05, FEW)
    store.commit("p", [row(i, best_test_acc=1 - v, L=3, seed=i) for i, v in enumerate(values)])
    (point,) = points(store.results, Selection()).frame.to_dict("records")
    # Skewed values: the t interval is symmetric about the mean, the accelerated one is not.
    assert abs((point["high"] - point["mean"]) - (point["mean"] - point["low"])) > 1e-3
    assert point["n"] == FEW


def test_raw_seeds(measured):
    frame = seeds(measured, Selection.of(L=2, d=64), "best_test_acc", ["L", "d"])
    assert list(frame["seed"]) == list(range(SEEDS)) and set(frame) == {"cell_id", "L", "d", "seed", "value"}


def test_axes_list_gamma_by_size_and_not_by_name(measured):
    found = axes(measured, Selection("measured"))
    assert found["gamma_label"] == ["lazy", "0.0001", "0.001", "0.01", "1"]
    assert found["d"] == [16, 32, 64, 128, 256]
    assert "seed" not in found and "P" not in found


def test_a_users_task_brings_its_own_keys(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    store.commit(
        "p", [row(i, task="parity", L=None, k=1 + i % 2, seed=i, best_test_acc=0.5 + i / 10) for i in range(4)], OWN_KEYS
    )
    assert "k" in grid_keys(store.results)
    found = points(store.results, Selection.of(task="parity"))
    assert "L" not in found.keys and list(found.frame["k"]) == [1, 2]


def test_one_setting_is_the_preferred_one_and_never_a_mixture(measured):
    found = points(measured, Selection.of(gamma_label="1", sigma2=0.0))
    chosen = one_setting(found.frame, found.keys, ("L",), {"d": 128})
    assert chosen.values["d"] == 128 and chosen.others == 2
    assert chosen.frame["L"].is_unique
    with pytest.raises(ValueError, match="no points"):
        one_setting(pd.DataFrame(), [], ())


@pytest.mark.parametrize("value", [0.1, 0.31622776601683794, 3.1622776601683795e-05, 1e-300, 2.0])
def test_a_number_in_sql_is_the_same_number(measured, value):
    assert fetch(measured, f"SELECT {literal(value)}")[0][0] == value


def test_hostile_text_stays_text(measured):
    name = "x' OR 1=1 --"
    assert points(measured, Selection(name)).frame.empty
    assert points(measured, Selection.of(gamma_label=name)).frame.empty
    assert points(measured, Selection.of(gamma_label=["1", None], L=3, d=64, sigma2=0.0)).frame["n"].tolist() == [SEEDS]


def test_statistics_are_over_finite_values_and_of_finished_networks_alone_unless_others_are_asked_for():
    rows = "(VALUES ('ok', 1.0), ('ok', 3.0), ('ok', 'inf'::DOUBLE), ('diverged', 5.0), ('failed', NULL)) AS cells(status, x)"
    of_ok, of_all = (duckdb.execute(f"SELECT {statistics_sql('x', ok)} FROM {rows}").fetchone() for ok in (True, False))
    assert of_ok == (2, 2.0, pytest.approx(2**0.5), 1) and of_all == (3, 3.0, 2.0, 0)
    assert duckdb.execute(f"SELECT {finite('list', 'x')} FROM {rows}").fetchone() == ([1.0, 3.0],)


def test_words_of_sql_may_be_keys_of_a_users_task(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    store.commit(
        "p",
        [row(i, task="mine", L=None, order=1 + i % 2, limit=3, end=True, seed=i, best_test_acc=0.5 + i / 10) for i in range(4)],
        keys(order="whole", limit="whole", end="truth"),
    )
    found = points(store.results, Selection.of(task="mine", order=[1, 2]))
    assert list(found.frame["order"]) == [1, 2] and list(found.frame["n"]) == [2, 2]
    assert axes(store.results, Selection())["order"] == [1, 2]
    assert len(seeds(store.results, Selection(), "best_test_acc", ["order", "limit"])) == 4


@pytest.mark.parametrize("name", ["n", "mean", "seeds", "Value"])
def test_names_of_statistics_are_no_keys(tmp_path, name):
    store = Store(str(tmp_path))
    store.prepare()
    with pytest.raises(ValueError, match=f"key '{name}' has the name of another column"):
        store.commit("p", [row(1, **{name: 2})], keys(**{name: "whole"}))


def of_versions(folder, *versions, task="cifar100", start=0, **more):
    """Networks that differ in seed, gamma, L and in what the data were; `best_test_acc` says which version."""
    store = Store(str(folder))
    rows = [
        row(start + 100 * i + 20 * j + 5 * k + seed, task=task, L=L, d=None, seed=seed, gamma=gamma, gamma_label=label, neurons=2,
            science_version=version, best_test_acc=0.6 + 0.1 * i, alignment_pos=0.5, **more)
        for i, version in enumerate(versions) for j, (gamma, label) in enumerate(((1.0, "1"), (1e-5, "lazy")))
        for k, L in enumerate((8, 16)) for seed in range(2 + (i == 0))
    ]  # fmt: skip
    store.commit(task, rows, OWN_KEYS)
    return store.results


def test_networks_of_other_data_are_no_seeds_of_one_another(tmp_path):
    first, second = "3+cifar100+vgg16-397923af", "3+images-aaaa+vgg16-397923af"
    results = of_versions(tmp_path, first, second, layer="relu4_3")
    found = points(results, Selection.of(task="cifar100", gamma_label="1", L=8))
    assert list(found.frame["mean"].round(3)) == [0.6, 0.7] and list(found.frame["n"]) == [3, 2]
    assert varying(found.frame, found.keys) == ["science_version"]
    assert run(results, lambda c: c.execute(found.sql).df())["n"].tolist() == [3, 2]
    assert axes(results, Selection())["science_version"] == [first, second]
    assert len(points(results, Selection()).frame) == 8
    setting = one_setting(found.frame, found.keys, ["L"])
    assert setting.values["science_version"] == first and setting.others == 1  # that with most networks
    assert list(points(results, Selection().only(setting.values)).frame["L"]) == [8, 16]
    claimed = networks(results, {"task": "cifar100", "gamma": 1, "L": 8}, "best_test_acc")
    assert set(claimed.frame["value"]) == {0.6} and first in claimed.what
    drawn = FIGURES["3h"].draw(results, None)
    assert set(drawn.frame["mean"].round(3)) == {0.6} and first in drawn.caption
    ((cell_id, lazy),) = fetch(
        results,
        "SELECT a.cell_id, b.cell_id FROM cells a JOIN cells b USING (seed, L, science_version) WHERE a.best_test_acc > 0.65 "
        "AND a.gamma_label = '1' AND b.gamma_label = 'lazy' AND seed = 0 AND L = 8",
    )
    assert of_other_gamma(results, network(results, cell_id), "neurons") == {"lazy": lazy}


@pytest.mark.parametrize(
    ("versions", "several"),
    [
        (("3", "langevin 3, 3"), False),
        (("langevin 2, 3", "langevin 3, 3"), True),
        (("3", "3+aaaa+bbbb"), True),
        (("3+aaaa", "4+aaaa"), True),
        (("mine 12ab, 3", "mine 34cd, 3"), True),
        (("gpt2-2-2-16-64+12ab, 3", "gpt2-2-2-16-64+34cd, 3"), True),
        (("gpt2-2-2-16-64+12ab, 3", "gpt2-4-2-16-64+34cd, 3", "3"), False),
        (("gpt2-2-2-16-64+12ab, text-small+12ab, 3", "gpt2-2-2-16-64+12ab, text-small+34cd, 3"), True),
        (("text-small+12ab, 3", "text-other+34cd, 3"), False),
    ],
)
def test_versions_of_other_parts_are_not_several_versions(tmp_path, versions, several):
    for i, version in enumerate(versions):
        of_versions(tmp_path, version, task="linear", start=1000 * i)
    assert ("science_version" in grid_keys(str(tmp_path))) == several


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("9", "10"),
        ("3+9999", "4+0000"),
        ("gpt2-2-2-16-64+99999999, 3", "gpt2-2-2-16-64+3fa91c02, 4"),
        ("gpt2-2-2-16-64+99999999, text-small+99999999+99999999, 3", "gpt2-2-2-16-64+3fa91c02, text-small+12ab, 4"),
        ("mine 99999999ab12, 3", "mine 123456789012, 4"),
        ("langevin 9, mine+9, 3", "langevin 10, mine+1, 3"),
    ],
)
def test_the_newer_code_is_preferred_to_more_networks(tmp_path, older, newer):
    results = of_versions(tmp_path, older, newer)
    found = points(results, Selection())
    assert one_setting(found.frame, found.keys, ["L"]).values["science_version"] == newer


def test_digests_do_not_rank_networks(tmp_path):
    more, fewer = "gpt2-2-2-16-64+3fa91c02, text-small+0000, 3", "gpt2-2-2-16-64+99999999, text-small+9999, 3"
    found = points(of_versions(tmp_path, more, fewer), Selection())
    assert one_setting(found.frame, found.keys, ["L"]).values["science_version"] == more


def test_versions_of_different_tasks_are_no_key(tmp_path):
    of_versions(tmp_path, "3+cifar100", layer="id")
    results = of_versions(tmp_path, "3", task="psvrt", start=500)
    assert "science_version" not in grid_keys(results)
    assert "science_version" not in points(results, Selection()).keys


MOMENTUM = Key("momentum", "momentum", "number", "training", default=0.0, of=("sgd",))
DEPTH = Key("depth", "hidden layers", "whole", "network", default=2, of=("mlp",))
DEFAULT = {"momentum": 0.0}


@pytest.mark.parametrize(
    ("usual", "other", "key"),
    [
        (DEFAULT, {"network": "mlp", "depth": 2, "momentum": 0.0}, "network"),
        (DEFAULT, {"momentum": 0.9}, "momentum"),
        (DEFAULT, {"loss": "mse"}, "loss"),
        (DEFAULT, {"initial": "truncated"}, "initial"),
        (DEFAULT, {"training": "adam", "science_version": "4"}, "training"),
        ({"task": "psvrt", "prefactor": None}, {"task": "psvrt", "prefactor": "sqrt_d"}, "prefactor"),
        ({"network": "mlp", "depth": 2}, {"network": "mlp", "depth": 3}, "depth"),
    ],
)
def test_defaults_are_preferred_to_more_networks(tmp_path, usual, other, key):
    """Also where a row leaves them out, as that of the default network does."""
    store = Store(str(tmp_path))
    kinds = {"prefactor": "sqrt_d", "task": "same_different", "science_version": "3"}
    rows = [row(100 * L + seed, L=L, seed=seed, **kinds | usual) for L in (4, 8, 16) for seed in range(3)]
    rows += [row(100 * L + 50 + seed, L=L, seed=seed, **kinds | other) for L in (4, 8, 16) for seed in range(6)]
    store.commit("p", rows, [MOMENTUM, DEPTH])
    found = points(store.results, Selection())
    chosen = one_setting(found.frame, found.keys, ["L"], settings_of(found.frame), found.declared)
    assert set(chosen.frame["n"]) == {3} and chosen.values[key] != other[key] and chosen.others == 1
    claimed = networks(store.results, {"task": rows[0]["task"], "gamma": 1}, "best_test_acc", ["L"])
    assert len(claimed.frame) == 9
    assert points(store.results, Selection().only(chosen.values)).frame["n"].tolist() == [3, 3, 3]


def test_a_caption_writes_values_as_a_grid_does():
    assert described({"batch": 0, "width": 96, "depth": None}) == "batch = full, width = 96"
    assert described({"depth": 0}) == "depth = 0"


@pytest.mark.parametrize("n", [FEW - 1, FEW + 10])
def test_seeds_that_tie_have_an_interval_of_some_width_however_many_they_are(tmp_path, n):
    store = Store(str(tmp_path))
    store.commit("ties", [row(f"c{seed}", seed=seed, best_test_acc=1.0, final_test_acc=1.0) for seed in range(n)])
    (point,) = points(store.results, Selection(), "final_test_acc").frame.to_dict("records")
    assert point["n"] == n and point["low"] < 1 == point["high"]
