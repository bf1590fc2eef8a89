"""Figures of thresholds, collapses and two arms, from the command line and from Python."""

import csv
import itertools
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from analysis import Results
from analysis.figures.__main__ import app
from analysis.figures.files import FILES
from sweepkit.store.files import ResultsError
from sweepkit.store.store import Store
from tests.store_rows import keys, row

LAW = {1: 1.0, 2: 1.5}
"""Exponents of L* in d, by depth."""


@pytest.fixture(scope="module")
def laws(tmp_path_factory):
    """MLPs of two depths whose L* grows as d and as d^1.5; a seed moves all of its networks alike."""
    store = Store(str(tmp_path_factory.mktemp("laws") / "results"))
    rng = np.random.default_rng(0)
    rows = []
    for d, n, depth in itertools.product((4, 8, 16, 32), 2.0 ** np.arange(1, 12), LAW):
        for seed in range(4):
            accuracy = 0.5 + 0.5 / (1 + d ** LAW[depth] / n) + 0.01 * (seed - 1.5) + 0.001 * rng.standard_normal()
            more = {"network": "mlp", "gamma": None, "gamma_label": None, "depth": depth}
            rows.append(row(len(rows), L=int(n), d=d, seed=seed, best_test_acc=float(accuracy), **more))
    store.commit("laws", rows, keys(depth="whole"))
    store.write_plan("laws", [one["cell_id"] for one in rows], whole=True)
    return store.results


def drawn(results, folder, *words):
    done = CliRunner().invoke(app, [*words, "--results", results, "--out", str(folder), "--no-wait"])
    assert done.exit_code == 0, done.output
    assert {file.suffix for file in folder.iterdir()} == {f".{kind}" for kind in FILES}
    [file] = folder.glob("*.csv")
    return list(csv.DictReader(file.read_text().splitlines())), done.stdout.replace("\n", " ")


def test_thresholds_as_a_figure_agree_with_the_table_and_the_exponents(laws, tmp_path):
    rows, said = drawn(laws, tmp_path, "threshold", "--of", "L", "--x", "d", "--by", "depth", "--at", "0.75")
    table = Results(laws).threshold("L", at=0.75, by=["d", "depth"])
    assert len(rows) == len(table) == 8
    of_table = {(one.d, one.depth): one.threshold for one in table.itertuples()}
    for one in rows:
        assert float(one["threshold"]) == pytest.approx(of_table[int(one["d"]), int(one["depth"])])
        assert float(one["low"]) < float(one["threshold"]) < float(one["high"])
    law = Results(laws).exponent("L", over="d", at=0.75, by="depth")
    for depth, exponent in zip(law["depth"], law["exponent"], strict=True):
        assert exponent == pytest.approx(LAW[depth], abs=0.1)
        assert f"depth = {depth}: L* ~ d^{exponent:.1f}" in said
    assert "8 of 8 curves reach it" in said and "4 seeds per point" in said


def test_what_is_left_out_is_chosen_and_what_is_held_is_in_the_picture(laws, tmp_path):
    rows, said = drawn(laws, tmp_path, "threshold")
    assert said.startswith("Threshold L* of best test accuracy 0.85 against d. ") and {row["d"] for row in rows} == {
        "4",
        "8",
        "16",
        "32",
    }
    [picture] = tmp_path.glob("*.svg")
    assert "steps = " in picture.read_text() and "network = mlp" in picture.read_text()
    bare = tmp_path / "bare"
    drawn(laws, bare, "threshold", "--no-caption")
    [picture] = bare.glob("*.svg")
    assert "steps = " not in picture.read_text()


def test_panels_hold_the_thresholds_of_their_values(laws, tmp_path):
    rows, said = drawn(laws, tmp_path, "threshold", "--panels", "depth", "--by", "none", "--at", "0.75")
    assert len({(row["d"], row["depth"]) for row in rows}) == 8
    chart = Results(laws).plot_threshold(at=0.75, by="", panels="depth").to_dict()
    assert len(chart["concat"] if "concat" in chart else chart["vconcat"][0]["concat"]) == 2
    assert "depth = 1: L* ~ d^" in said and "depth = 2: L* ~ d^" in said


def test_a_collapse_by_the_exponent_of_the_thresholds_falls_together(laws, tmp_path):
    rows, said = drawn(laws, tmp_path, "rescaled", "--of", "L", "--x", "d", "--by", "depth", "--at", "0.75")
    assert {row["depth"] for row in rows} == {"1", "2"} and all(float(row["rescaled"]) > 0 for row in rows)
    assert "depth = 1: rescaled by d^" in said and "the exponent of the thresholds: S = " in said
    one = tmp_path / "one"
    fixed, said = drawn(laws, one, "rescaled", "--of", "L", "--x", "d", "--where", "depth=1", "--exponent", "1", "--at", "0.75")
    middle = (4 * 8 * 16 * 32) ** 0.25
    for row_ in fixed:
        assert float(row_["rescaled"]) == pytest.approx(float(row_["L"]) / (float(row_["d"]) / middle), rel=1e-6)
    assert "an exponent of your choice" in said


def test_two_arms_of_means_are_paired_by_seed(laws, tmp_path):
    rows, said = drawn(laws, tmp_path, "compare", "--arms", "depth=1,2", "--x", "L", "--by", "d")
    assert len(rows) == 44 and "paired by seed: 176 pairs" in said
    for one in rows:
        true = 0.5 / (1 + int(one["d"]) / int(one["L"])) - 0.5 / (1 + int(one["d"]) ** 1.5 / int(one["L"]))
        assert float(one["difference"]) == pytest.approx(true, abs=0.005)
        assert float(one["high"]) - float(one["low"]) < 0.02, "a seed moves both arms by up to 0.015: that cancels"
    table = Results(laws).compare("depth", 1, 2, by=["L", "d"])
    assert [*table["difference"]] == pytest.approx([float(row["difference"]) for row in rows])


def test_two_arms_of_thresholds_and_of_exponents(laws, tmp_path):
    rows, said = drawn(laws, tmp_path, "compare", "--arms", "depth=2,1", "--of", "L", "--x", "d", "--at", "0.75")
    for one in rows:
        assert float(one["ratio"]) == pytest.approx(int(one["d"]) ** 0.5, rel=0.1)
        assert float(one["low"]) <= float(one["ratio"]) <= float(one["high"])
    [law] = Results(laws).compare("depth", 2, 1, of="L", over="d", at=0.75).itertuples()
    assert law.difference == pytest.approx(0.5, abs=0.05) and law.low < law.difference < law.high and law.thresholds == 4
    assert "exponents in d" in said and "difference 0.5" in said
    chart = Results(laws).plot_comparison("depth", 2, 1, "d", of="L", at=0.75)
    assert "paired by seed" in json.dumps(chart.to_dict())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "--x", "L"], "`compare` takes --arms: say a parameter and two of its values"),
        (["compare", "--arms", "depth=1,2"], "say --x: the parameter along which"),
        (["compare", "--arms", "depth=1,1", "--x", "L"], "is both arms: name two values"),
        (["compare", "--arms", "depth=1,7", "--x", "L"], "no network has depth = 7; there are 1, 2"),
        (["compare", "--arms", "depth=1", "--x", "L"], "say a parameter and two of its values, such as --arms gamma=1,0.1"),
        (["compare", "--arms", "depth=1,2", "--x", "depth"], "arms = depth and by = depth: name two parameters"),
        (["compare", "--arms", "depth=1,2", "--x", "L", "--where", "depth=1"], "leave it out there"),
        (["compare", "--arms", "depth=1,2", "--x", "d", "--of", "L", "--at", "0.999999"], "nowhere reached by both arms"),
        (["rescaled", "--exponent", "steep"], "say fitted, best or a number"),
        (["rescaled", "--panels", "depth"], "--panels: for `curve` and `threshold` only"),
        (["threshold", "--of", "depht"], "did you mean 'depth'?"),
        (["threshold", "--of", "L", "--x", "L"], "name two parameters"),
        (["threshold", "--at", "85"], "at = 85: best_test_acc lies between 0 and 1"),
        (["map", "--arms", "depth=1,2"], "--arms: for `compare` only"),
        (["curve", "--at", "0.9"], "--at: for `threshold` and `rescaled` and `compare` only"),
    ],
)
def test_a_mistake_names_what_there_is_and_writes_nothing(laws, tmp_path, words, message):
    done = CliRunner().invoke(app, [*words, "--results", laws, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and message in done.stderr.replace("\n", " "), done.output
    assert not (tmp_path / "out").exists()


def test_arms_without_a_common_seed_say_so(tmp_path):
    store = Store(str(tmp_path))
    store.commit("p", [row(i, width=[64, 128][i % 2], L=[3, 4][i // 2 % 2], seed=i) for i in range(8)])
    with pytest.raises(ResultsError, match=r"no network with width = 64 \(seeds 0, 2, 4, 6\) has a partner with width = 128"):
        Results(tmp_path).compare("width", 64, 128)
    with pytest.raises(ResultsError, match="an exponent is that of thresholds; say `of`"):
        Results(tmp_path).compare("width", 64, 128, over="L")


def test_a_parameter_that_changes_along_with_the_arm_is_told(tmp_path):
    store = Store(str(tmp_path))
    arms = [{"width": 64, "base_lr": 0.1, "best_test_acc": 0.564}, {"width": 128, "base_lr": 0.2, "best_test_acc": 0.628}]
    axes = enumerate(itertools.product(arms, (3, 4, 5), range(3)))
    store.commit("p", [row(i, L=L, seed=seed, **arm) for i, (arm, L, seed) in axes])
    found = Results(tmp_path).compare("width", 128, 64, by="L")
    assert [*found["difference"]] == pytest.approx([0.064] * 3)
    said = Results(tmp_path).plot_comparison("width", 128, 64, "L").to_dict()["description"]
    assert "base_lr = 0.2 and 0.1 along with it" in said


def test_a_figure_that_replaces_another_one_says_so_and_equal_data_give_equal_bytes(laws, tmp_path):
    words = ["curve", "--x", "L", "--by", "d", "--results", laws, "--out", str(tmp_path), "--no-wait"]
    first = CliRunner().invoke(app, [*words, "--where", "depth=1"])
    [file] = tmp_path.glob("*.csv")
    before = file.read_bytes()
    again = CliRunner().invoke(app, [*words, "--where", "depth=1"])
    assert "replaced" not in first.stdout + again.stdout and file.read_bytes() == before
    other = CliRunner().invoke(app, [*words, "--where", "depth=2"])
    assert "(replaced: .svg, .png, .pdf, .csv of an earlier figure)" in other.stdout.replace("\n", " ")
    CliRunner().invoke(app, [*words, "--panels", "depth"])
    assert len([*tmp_path.glob("*.csv")]) == 2, "panels have files of their own"


def test_lazy_networks_are_no_point_on_the_axis_of_gamma(tmp_path):
    """Their gamma stands for its limit: a law through it would be drawn through a place where nothing is."""
    store = Store(str(tmp_path / "results"))
    kinds = [("lazy", 1e-6), ("0.1", 0.1), ("0.2", 0.2), ("0.4", 0.4)]
    axes = enumerate(itertools.product(kinds, 2.0 ** np.arange(1, 9), range(3)))
    rows = [
        row(i, L=int(n), d=16, gamma=gamma, gamma_label=label, seed=seed,
            best_test_acc=0.5 + 0.5 / (1 + 4 / gamma / n) + 0.001 * seed)
        for i, ((label, gamma), n, seed) in axes
    ]  # fmt: skip
    store.commit("p", rows)
    table, said = drawn(store.results, tmp_path / "out", "threshold", "--of", "L", "--x", "gamma", "--by", "none", "--at", "0.75")
    law = Results(store.results).exponent("L", over="gamma", at=0.75)
    assert [float(one["gamma"]) for one in table] == [0.1, 0.2, 0.4] and law["thresholds"][0] == 3
    assert law["exponent"][0] == pytest.approx(-1, abs=0.05) and "L* ~ gamma^-1.0" in said


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.threshold(x="network"), "x = network: must be a parameter that is a number"),
        (lambda r: r.exponent(of="L", over="network"), "over = network: must be a parameter that is a number"),
        (lambda r: r.plot_threshold(of="network", over="d"), "must be a parameter that is a number"),
        (lambda r: r.compare("depth", 1, 2, of="network"), "of = network: must be a parameter that is a number"),
        (lambda r: r.compare("depth", 1, 2, of="L", by="L"), "of = L and by = L: name two parameters"),
        (lambda r: r.compare("depth", 1, [2]), "must be one value"),
        (lambda r: r.compare("depth", 1, 2, by=["L", "L"]), "a name is there twice"),
        (lambda r: r.plot_comparison("depth", 1, 2, "L", by=["d"]), "name one parameter, whose values"),
        (lambda r: r.plot_threshold(width="wide"), "width = 'wide': must be a number of pixels"),
        (lambda r: r.plot(x="L", height=-3), "height = -3: must be a number of pixels"),
        (lambda r: r.plot_rescaled(exponent=True), "say fitted, best or a number from -20 to 20"),
        (lambda r: r.plot_rescaled(exponent=500), "say fitted, best or a number from -20 to 20"),
        (lambda r: r.threshold("L", at=float("nan")), "at = nan: must be a number"),
        (lambda r: r.plot_threshold(by="depth", panels="depth"), "by = depth and panels = depth: name two parameters"),
    ],
)
def test_a_mistake_in_python_is_told(laws, ask, words):
    with pytest.raises(ResultsError, match=re.escape(words)):
        ask(Results(laws))
