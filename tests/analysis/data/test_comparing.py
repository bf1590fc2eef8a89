"""Networks and trainings in one chart: they are told by name, and keys that only some of them have do not keep them apart."""

import numpy as np
import pytest

from analysis.charts.curves import Look
from analysis.charts.explore import Choices, explore
from analysis.data.choosing import axes_of, having, rest_of, settled, suggested, values_of
from analysis.data.comparing import fitting, lacking, named
from analysis.data.points import groups, in_order
from analysis.data.selection import Selection
from sweepkit.declarations.columns import Key
from sweepkit.store.store import Store
from sweepkit.store.views import fetch
from tests.store_rows import row

GATED = {"network": "gated", "gamma": None, "gamma_label": None}
KEYS = [
    Key("gate", "gate", "text", "network"),
    Key("depth", "depth", "whole", "network"),
    Key("momentum", "momentum", part="training"),
]


def points(folder, *blocks, seeds=3):
    """Points of a store of these networks, each at L = 3, 4."""
    cells = [
        row(1000 * i + 10 * L + seed, L=L, seed=seed, best_test_acc=0.6 + 0.05 * i + 0.01 * seed, **more)
        for i, more in enumerate(blocks) for L in (3, 4) for seed in range(seeds)
    ]  # fmt: skip
    Store(str(folder)).commit("one", cells, KEYS)
    return named(groups(str(folder), Selection()))


def drawn(folder, found, look, setting=None, **more):
    rest = rest_of(having(found, look.x), [key for key in (look.x, look.colour, look.facet) if key])
    setting = settled(having(found, look.x), rest, {}) if setting is None else setting
    return explore(str(folder), Selection(), found, Choices(look, tuple(setting.items()), theory=False, **more))


@pytest.fixture
def own(tmp_path):
    """relu2, whose rows name no network, at two gamma; gated of two gates, by a file of its user's."""
    gated = [{**GATED, "gate": gate, "science_version": "gated 12ab, 3"} for gate in ("linear", "relu")]
    lazy = {"gamma": 1e-6, "gamma_label": "lazy"}
    return points(tmp_path, {"science_version": "3"}, {"science_version": "3", **lazy}, *gated)


def test_networks_with_keys_of_their_own_are_compared_in_one_chart(tmp_path, own):
    assert rest_of(own, ["L", "network"]) == ["gate", "gamma_label"]
    assert values_of(own, "gamma_label") == ["lazy", "1"] and values_of(own, "gate") == ["linear", "relu"]
    for gate, gamma, n in (("linear", "1", 4), ("relu", "lazy", 4)):
        setting = settled(own, ["gate", "gamma_label"], {"gate": gate, "gamma_label": gamma})
        assert setting == {"gate": gate, "gamma_label": gamma}
        found = drawn(tmp_path, own, Look("L", "network"), setting, raw=True)
        assert list(found.frame["network"]) == ["gated", "gated", "relu2", "relu2"] and len(found.frame) == n
        assert f"gate = {gate}" in found.caption and f"gamma = {gamma}" in found.caption
        assert "4 points of other gate, gamma not shown" in found.caption
        told = found.chart.to_dict()
        assert told["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["gated", "relu2"]
        raw = [rows for rows in told["datasets"].values() if rows and "cell_id" in rows[0]]
        assert sorted({r["network"] for r in raw[0]}) == ["gated", "relu2"] and len(raw[0]) == 12
        assert np.allclose([r[3] for r in fetch(str(tmp_path), found.sql)], found.frame.sort_values(["L", "network"])["mean"])


def test_one_network_is_named_and_asked_for_its_own_keys_alone(tmp_path, own):
    rest = rest_of(own, ["L"])
    assert values_of(own, "network") == ["gated", "relu2"]
    relu2 = settled(own, rest, {"network": "relu2", "gate": "relu"})
    assert (relu2["network"], relu2["gate"]) == ("relu2", None)
    gated = settled(own, rest, {"network": "gated", "gamma_label": "lazy"})
    assert (gated["network"], gated["gamma_label"]) == ("gated", None)
    fits = fitting(own.frame, relu2, own.declared)
    assert lacking(own.frame, "gate", own.declared)[fits].all() and fits.sum() == 2


def test_points_without_a_value_of_the_colour_are_drawn(tmp_path, own):
    found = drawn(tmp_path, own, Look("L", "gate", "network"))
    assert sorted(set(found.frame["gate"])) == ["linear", "none", "relu"] and len(found.frame) == 6
    assert found.chart.to_dict()
    assert in_order(found.frame, "gate") == ["linear", "none", "relu"]


def test_numbers_beside_none_stay_in_their_order(tmp_path):
    deep = [{"network": "mlp", "depth": depth} for depth in (2, 10)]
    found = drawn(tmp_path, points(tmp_path, {}, *deep), Look("L", "depth", "network"))
    assert in_order(found.frame, "depth") == ["2", "10", "none"] and found.chart.to_dict()


def test_trainings_are_compared_each_at_its_own_rate(tmp_path):
    descent = {"task": "he3", "test_size": 512, "training": "sgd", "base_lr": 0.1}
    sampled = {"training": "langevin", "base_lr": None, "kappa": 1.0, "gamma": None, "gamma_label": None}
    found = points(
        tmp_path, {**descent, "momentum": 0.9}, {**descent, "training": "gd", "base_lr": 0.2}, descent | sampled
    )  # fmt: skip
    assert rest_of(found, ["L", "training"]) == []
    shown = drawn(tmp_path, found, Look("L", "training"))
    assert in_order(shown.frame, "training") == ["gd", "langevin", "sgd"] and len(shown.frame) == 6
    assert "base_lr = 0.2 of gd, 0.1 of sgd" in shown.caption and "not shown" not in shown.caption


def test_other_sizes_and_versions_of_the_code_are_not_compared(tmp_path):
    gated = [{**GATED, "width": width, "science_version": f"gated 1, {n}"} for width, n in ((64, 3), (32, 3), (32, 2))]
    found = points(tmp_path, {"width": 64, "science_version": "3"}, *gated)
    assert rest_of(found, ["L", "network"]) == ["width", "science_version"]
    assert settled(found, ["width", "science_version"], {})["width"] == 64  # at which both networks are
    both = drawn(tmp_path, found, Look("L", "network"), {"width": 32, "science_version": "3"})
    assert list(both.frame["n"]) == [3, 3]


def test_the_first_abscissa_is_a_key_of_the_networks_shown(tmp_path):
    lazy = {"gamma": 1e-6, "gamma_label": "lazy"}
    found = points(tmp_path, {}, lazy, *[{"network": "mlp", "depth": depth} for depth in (1, 2, 3)])
    axes = axes_of(found)
    assert "depth" in axes.numbers and suggested(found, axes) == ("L", "gamma_label")
    there = having(found, "depth")
    setting = settled(there, rest_of(there, ["depth", "gamma_label"]), {})
    assert len(drawn(tmp_path, found, Look("depth", "gamma_label"), setting).frame) == 3
