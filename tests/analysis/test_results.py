"""Results in Python: tables, charts with either library, thresholds, and words for what is not there."""

import itertools
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from analysis import Results
from sweepkit.declarations.columns import Metric
from sweepkit.store.files import ResultsError
from sweepkit.store.store import Store
from tests.store_rows import keys, row

EVIDENCE = str(Path(__file__).parents[2] / "evidence")


@pytest.fixture(scope="module")
def found(measured):
    return Results(measured)


def test_tables(found):
    [sweep, *_] = found.sweeps
    cells = found.cells(sweep)
    assert len(cells) == len(cells["cell_id"].unique()) and {"L", "d", "gamma_label", "best_test_acc"} <= {*cells}
    assert len(found.points(by=None, sweep=sweep)) == len(found.points(by=[], sweep=sweep))
    points = found.points(x="L", by=["d", "gamma"], sweep=sweep)
    assert [*points.columns[:3]] == ["d", "gamma_label", "L"] and points["n"].sum() == cells["best_test_acc"].notna().sum()
    rich = found.points(x="L", by="d", sweep=sweep, where={"gamma": 1})
    assert {*rich["d"]} and len(rich) == (points["gamma_label"] == "1").sum()
    assert found.sql("SELECT count(*) AS n FROM cells")["n"][0] >= len(cells)


def test_of_many_parameters_a_dozen_is_listed():
    with pytest.raises(ResultsError) as caught:
        Results(EVIDENCE).points(x="Ld")
    said = str(caught.value)
    assert said.startswith("no parameter 'Ld'; did you mean 'L'? there are task, L, d, width, ") and said.count(", ") == 11
    assert said.endswith(" more: docs/reference/keys.md")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.cells(sweep="nope"), "no sweep 'nope'"),
        (lambda r: r.cells(where={"gama": 1}), "no parameter 'gama'; did you mean 'gamma'"),
        (lambda r: r.cells(where={"L": -1}), "no network has L = -1; there are"),
        (lambda r: r.cells(where={"gamma": 1, "gamma_label": "1"}), "where = gamma, gamma_label: gamma is there twice"),
        (lambda r: r.cells(where={"seed": 99}), "no network has seed = 99; there are 0, 1, 2"),
        (lambda r: r.points(x="step"), "step belongs to the evaluations along training: draw them with x = step"),
        (lambda r: r.plot(y="train_loss"), "train_loss belongs to the evaluations along training"),
        (lambda r: r.plot(y="best_test_ac"), "no metric 'best_test_ac'; did you mean 'best_test_acc'"),
        (lambda r: r.plot(x="nonsense"), "no parameter 'nonsense'; there are .*gamma"),
        (lambda r: r.plot(x="task"), "must be a parameter that is a number here"),
        (lambda r: r.plot(library="mpl"), "say altair, matplotlib"),
        (lambda r: r.points(x="seed"), "seed is no axis: points are means over seeds"),
        (lambda r: r.plot("best_test_acc", "L"), "L is a parameter, not a metric: say x = L"),
        (lambda r: r.plot("best_test_acc"), "best_test_acc is a metric, not a parameter: say y = best_test_acc"),
        (lambda r: r.threshold(0.85, "L"), "0.85 is a level, not a parameter: .* 'L', at=0.85"),
        (lambda r: r.points(centre="mode"), "say mean, median"),
        (lambda r: r.plot(x="L", by="L"), "x = L and by = L: name two parameters"),
        (lambda r: r.plot(x="L", panels="L"), "x = L and panels = L: name two parameters"),
        (lambda r: r.plot(x="gamma", by="gamma_label"), "x = gamma and by = gamma: name two parameters"),
        (lambda r: r.points(x="L", by="L"), "x = L and by = L: name two parameters"),
        (lambda r: r.points(x="L", by=["d", "L"]), "x = L and by = L: name two parameters"),
        (lambda r: r.cells(sweep=["a", "b"]), "must be the name of one sweep"),
        (lambda r: r.cells(where="d=3"), "where = 'd=3': must be a dictionary, such as {'d': 3}"),
        (lambda r: r.points(where="d=3"), "where = 'd=3': must be a dictionary"),
        (lambda r: r.curves(where=["d=3"]), "where = a list: must be a dictionary"),
        (lambda r: r.plot(where="d=3"), "where = 'd=3': must be a dictionary"),
        (lambda r: r.plot(x="step", where="d=3"), "where = 'd=3': must be a dictionary"),
        (lambda r: r.threshold(where=""), "where = '': must be a dictionary"),
        (lambda r: r.exponent(where="d=3"), "where = 'd=3': must be a dictionary"),
        (lambda r: r.threshold("L", by="L"), "x = L and by = L: name two parameters"),
        (lambda r: r.exponent("L", over="L"), "of = L and over = L: name two parameters"),
        (lambda r: r.sql("DROP TABLE cells"), "a DROP statement: this reads results only"),
        (lambda r: r.threshold("width"), "no curve has two values of width"),
        (lambda r: r.threshold("L", at=85), "at = 85: best_test_acc lies between 0 and 1"),
        (lambda r: r.exponent("L", at="0.85"), "at = '0.85': must be a number"),
    ],
)
def test_mistakes_are_named(found, ask, words):
    with pytest.raises(ResultsError, match=words):
        ask(found)


def test_numbers_from_a_table_select_as_pythons_own_do(found):
    cells = found.cells(where={"d": 64})
    asked = {"d": cells["d"].max(), "L": cells["L"].unique(), "base_lr": np.float64(cells["base_lr"][0])}
    assert isinstance(asked["d"], np.integer)
    assert len(found.cells(where=asked)) == len(cells)


def test_only_the_named_parameters_tell_thresholds_apart(tmp_path):
    rows = [row(f"{L}-{seed}", L=L, d=8, width=32, seed=seed, best_test_acc=L / 10) for L in (2, 4, 8) for seed in range(2)]
    Store(str(tmp_path)).commit("p", rows)
    found = Results(tmp_path)
    assert "d" not in found.threshold("L", at=0.5, by="width")  # its name is part of another one's
    assert "gamma_label" in found.threshold("L", at=0.5, by=["gamma"])


def test_a_parameter_of_which_one_value_is_taken_is_told(found):
    assert found.cells()["d"].nunique() > 1
    with pytest.warns(UserWarning, match="only networks with d = "):
        assert found.threshold("L", at=0.85, by="gamma")["d"].nunique() == 1


def test_networks_without_gamma_have_exponents_and_can_be_selected(tmp_path):
    rows = [
        row(f"{L}-{d}-{seed}", network="residual", L=L, d=d, seed=seed, gamma=None, gamma_label=None,
            best_test_acc=0.5 + 0.2 * np.log2(L / d) + 0.001 * (seed - 0.5))
        for d in (4, 8, 16) for L in (4, 8, 16, 32) for seed in range(2)
    ]  # fmt: skip
    store = Store(str(tmp_path))
    store.commit("p", rows)
    assert Results(tmp_path).exponent("L", over="d", at=0.6)["exponent"][0] == pytest.approx(1, abs=0.01)
    store.commit("q", [row("with", L=4, d=4)])
    found = Results(tmp_path)
    assert len(found.cells(where={"gamma": None})) == len(rows)
    assert len(found.cells(where={"gamma": [1, None]})) == len(rows) + 1


def test_no_results(tmp_path):
    with pytest.raises(ResultsError, match="no results directory"):
        Results(tmp_path / "none")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda results: Results(results), "results: a path or a URI, not a Results; say results='{}'"),
        (lambda results: None, "results: a path or a URI, not a NoneType; given nothing; say results='results'"),
        (lambda results: results.encode(), "not a bytes"),
        (lambda results: 3, "results: a path or a URI, not an int; given 3"),
    ],
    ids=["Results", "None", "bytes", "number"],
)
def test_results_are_a_path_or_a_uri(tmp_path, given, words):
    Store(str(tmp_path)).prepare()
    with pytest.raises(ResultsError, match=re.escape(words.format(tmp_path))):
        Results(given(str(tmp_path)))
    assert Results(tmp_path).results == str(tmp_path)


def test_the_threshold_and_exponent_of_the_lazy_law(found):
    """The store is made so that the mean accuracy of lazy networks reaches 0.85 at 0.4 d^1.5."""
    rows = found.threshold("L", at=0.85, by=["d", "gamma"], where={"gamma": "lazy"})
    reached = rows[rows["state"] == "reached"]
    assert len(reached) >= 2
    # A grid of L and a scatter of 0.004 over seeds leave a few per cent of the threshold.
    assert [*reached["threshold"] / (0.4 * reached["d"] ** 1.5)] == pytest.approx([1.0] * len(reached), abs=0.15)
    law = found.exponent("L", over="d", at=0.85, where={"gamma": "lazy"})
    assert law["exponent"][0] == pytest.approx(1.5, abs=0.15)


def test_gamma_is_a_number_where_a_threshold_is_read_off_it(tmp_path):
    """d_lr falls through 0.7 at gamma = 0.1 sqrt(d/8), halfway between two gamma on a logarithmic axis."""
    saved = Metric("d_lr", "laziness", low=0, high=1, better="lower", on_request=True)
    rows = [
        row(f"{d}-{gamma}-{seed}", task="same_different", L=8, d=d, seed=seed, gamma=gamma, gamma_label=f"{gamma:g}",
            d_lr=0.7 - 0.2 * np.log10(gamma / 0.1 / (d / 8) ** 0.5) + 0.001 * (seed - 0.5))
        for d in (8, 32, 128) for gamma in (0.01, 0.1, 1.0) for seed in range(2)
    ]  # fmt: skip
    Store(str(tmp_path)).commit("p", rows, [saved])
    found = Results(tmp_path)
    assert [*found.threshold("gamma", at=0.7, y="d_lr")["threshold"]] == pytest.approx([0.1, 0.2, 0.4])
    law = found.exponent("gamma", over="d", at=0.7, y="d_lr")
    assert law["exponent"][0] == pytest.approx(0.5)
    with pytest.raises(ResultsError, match="say of='gamma', over='d'"):
        found.exponent("d", over="gamma", at=0.7, y="d_lr")


def test_a_threshold_where_noise_lowers_the_accuracy(tmp_path):
    """It falls through 0.8 at sigma2 = 8/sqrt(d), while networks without noise, at no place of a logarithmic axis, have 1."""
    rows = [
        row(f"{d}-{sigma2}-{seed}", task="same_different", L=8, d=d, sigma2=sigma2, seed=seed, gamma=1.0, gamma_label="1",
            best_test_acc=1.0 if sigma2 == 0 else 0.8 - 0.05 * np.log2(sigma2 * d**0.5 / 8) + 0.001 * (seed - 0.5))
        for d in (4, 16, 64) for sigma2 in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0) for seed in range(2)
    ]  # fmt: skip
    Store(str(tmp_path)).commit("p", rows)
    found = Results(tmp_path)
    reached = found.threshold("sigma2", at=0.8, by="d")
    assert [*reached["state"]] == ["reached"] * 3
    assert [*reached["threshold"]] == pytest.approx([4, 2, 1], rel=1e-6)
    assert found.exponent("sigma2", over="d", at=0.8)["exponent"][0] == pytest.approx(-0.5)
    assert set(found.threshold("sigma2", at=0.8, by="d", falling=False)["state"]) == {"not reached", "already at the smallest x"}


def test_an_exponent_where_other_networks_have_a_parameter_of_their_own(tmp_path):
    """The networks of another kind, with a parameter that these lack, once ended in a KeyError."""
    at = [(d, L, seed) for d in (8, 16, 32) for L in (4, 8, 16, 32, 64) for seed in range(2)]
    rows = [
        row(f"{d}-{L}-{seed}", d=d, L=L, seed=seed, best_test_acc=0.75 + 0.1 * np.log2(L / d) + 0.001 * (seed - 0.5))
        for d, L, seed in at
    ]
    own = [row(f"own-{d}-{seed}", d=d, L=8, seed=seed, network="quad", power=d // 8) for d in (8, 16) for seed in range(2)]
    store = Store(str(tmp_path))
    store.commit("p", rows)
    store.commit("q", own, keys(power="whole"))
    with pytest.warns(UserWarning, match="network = relu2 count here; 4 others are left out"):
        law = Results(tmp_path).exponent("L", over="d", at=0.75)
        assert [*Results(tmp_path).threshold("L", at=0.75, by="d")["threshold"]] == pytest.approx([8, 16, 32])
    assert law["exponent"][0] == pytest.approx(1, abs=0.01) and "power" not in law


def test_networks_of_another_setting_that_are_left_out_are_warned_of(tmp_path):
    """Accuracy reaches 0.75 at L = d. A second sweep of the store trains longer, and fewer networks."""
    rows = [
        row(f"{steps}-{d}-{L}-{seed}", task="same_different", L=L, d=d, seed=seed, steps=steps,
            best_test_acc=0.75 + 0.1 * np.log2(L / d) + 0.001 * (seed - 0.5))
        for steps, ds in ((1000, (8, 16, 32)), (2000, (8, 32))) for d in ds for L in (4, 8, 16, 32, 64) for seed in range(2)
    ]  # fmt: skip
    store = Store(str(tmp_path))
    store.commit("p", rows)
    store.write_plan("long", [one["cell_id"] for one in rows if one["steps"] == 2000], whole=True)
    found = Results(tmp_path)
    for ask in (partial(found.threshold, "L", at=0.75, by="d"), partial(found.exponent, "L", over="d", at=0.75)):
        with pytest.warns(UserWarning, match=r"only networks with steps = \d+ count here; \d+ others are left out: choose by"):
            ask()
    assert len(found.threshold("L", at=0.75, by="d", sweep="long")) == 2  # a warning would be an error
    assert len(found.threshold("L", at=0.75, by=["d", "steps"])) == 5
    assert found.exponent("L", over="d", at=0.75, where={"steps": 1000})["exponent"].notna().all()


def test_lazy_networks_are_no_point_on_the_axis_of_gamma(tmp_path):
    """Accuracy reaches 0.75 at L = 16 gamma; the lazy networks, of gamma = 2e-6, at L = 4."""
    at = [(f"{gamma:g}", gamma, 16 * gamma) for gamma in (0.25, 0.5, 1.0)] + [("lazy", 2e-6, 4)]
    rows = [
        row(f"{label}-{L}-{seed}", L=L, d=8, seed=seed, gamma=gamma, gamma_label=label,
            best_test_acc=0.75 + 0.1 * np.log2(L / reached) + 0.001 * (seed - 0.5))
        for label, gamma, reached in at for L in (2, 4, 8, 16, 32) for seed in range(2)
    ]  # fmt: skip
    Store(str(tmp_path)).commit("p", rows)
    law = Results(tmp_path).exponent("L", over="gamma", at=0.75)
    assert law["exponent"][0] == pytest.approx(1, abs=0.01) and law["thresholds"][0] == 3
    assert len(Results(tmp_path).threshold("L", at=0.75, by="gamma")) == 4


def test_an_exponent_over_too_few_gamma_names_one_that_there_is(tmp_path):
    """Accuracy reaches 0.85 at L = d under the one gamma, at L = 2d under the other: a law in d, and none in gamma."""
    rows = [
        row(f"{d}-{gamma}-{L}-{seed}", task="same_different", L=L, d=d, seed=seed, gamma=gamma, gamma_label=f"{gamma:g}",
            best_test_acc=0.85 + 0.1 * np.log2(L / d * gamma) + 0.001 * (seed - 0.5))
        for d in (8, 16, 32) for gamma in (1.0, 0.5) for L in (d // 2, d, 2 * d, 4 * d) for seed in range(2)
    ]  # fmt: skip
    store = Store(str(tmp_path))
    store.commit("p", rows)
    found = Results(tmp_path)
    with pytest.raises(ResultsError) as caught:
        found.exponent("L", over="gamma")
    said = str(caught.value)
    assert said.startswith("no exponent of L over gamma: that needs 3 values of gamma with a threshold in the range of L")
    assert "here it is 2 of 2. There is an exponent of L over d: say of='L', over='d'" in said
    assert found.exponent(of="L", over="d")["exponent"].notna().all()


def test_the_metric_whose_networks_have_the_parameter_is_named(tmp_path):
    store = Store(str(tmp_path))
    store.commit("p", [row(i, L=2**i, seed=0, best_test_acc=0.9) for i in range(1, 4)])
    store.commit("q", [row(10 + i, task="hermite", L=None, P=2**i, seed=0, best_test_acc=None, test_mse=0.1) for i in range(20)])
    with pytest.raises(
        ResultsError, match="the networks with test_mse have no L, those with best_test_acc have: say y='best_test"
    ):
        Results(tmp_path).exponent("L", over="d")
    with pytest.raises(ResultsError, match=r"have no L; the numbers that vary among them are P$"):
        Results(tmp_path).exponent("L", over="d", y="test_mse")


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_charts_are_saved_with_either_library(found, tmp_path, suffix):
    start = {"svg": b"<", "png": b"\x89PNG", "pdf": b"%PDF"}[suffix]
    asked = {"x": "L", "by": "gamma", "wait": False}
    found.plot(**asked).save(tmp_path / f"altair.{suffix}")
    found.plot(**asked, library="matplotlib").savefig(tmp_path / f"matplotlib.{suffix}")
    for library in ("altair", "matplotlib"):
        assert (tmp_path / f"{library}.{suffix}").read_bytes().startswith(start)


def test_the_matplotlib_figure_shows_what_the_chart_shows(found):
    figure = found.plot(x="L", by="gamma", wait=False, library="matplotlib", seeds=True)
    assert isinstance(figure, Figure) and figure._repr_png_().startswith(b"\x89PNG")
    main, residuals = figure.axes
    [legend] = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert "Eq. 3" in names and sum(name.startswith("gamma = ") for name in names) >= 2
    points = found.points(x="L", by="gamma", where={"gamma": 1})
    [rich] = [line for line in main.lines if line.get_label() == "gamma = 1"]
    assert {*rich.get_xdata()} <= {*points["L"].astype(float)}
    assert main.get_ylabel() == "best test accuracy" and "measured" in residuals.get_ylabel()
    assert figure._suptitle.get_text() and residuals.get_xlabel()
    logarithmic = found.plot(x="L", by="gamma", wait=False, library="matplotlib", log_x=True, residuals=False)
    assert [axis.get_xscale() for axis in logarithmic.axes] == ["log"]


def test_exponents_by_several_parameters(tmp_path):
    """Each combination has its own law, as `threshold` and `points` take lists: L* = d^1 at depth 1, d^2 at depth 2."""
    store = Store(str(tmp_path))
    axes = itertools.product((4, 8, 16), (1, 2, 4, 8, 16, 64, 256, 512), (1, 2), (64, 128), range(3))
    rows = [
        row(i, d=d, L=L, depth=depth, width=width, network="mlp", seed=seed,
            best_test_acc=0.5 + 0.5 / (1 + d**depth / L) + 0.001 * (seed - 1))
        for i, (d, L, depth, width, seed) in enumerate(axes)
    ]  # fmt: skip
    store.commit("p", rows, keys(depth="whole"))
    laws = Results(tmp_path).exponent("L", over="d", at=0.75, by=["depth", "width"])
    assert [*laws.columns[:3]] == ["depth", "width", "exponent"]
    assert {*zip(laws["depth"], laws["width"], strict=True)} == {(1, 64), (2, 64), (1, 128), (2, 128)}
    assert [*laws["exponent"]] == pytest.approx([*laws["depth"].astype(float)], abs=0.1)
    one = Results(tmp_path).exponent("L", over="d", at=0.75, by=["depth"], where={"width": 64})
    assert [*one["exponent"]] == pytest.approx([*laws[laws["width"] == 64]["exponent"]])
    with pytest.raises(ResultsError, match="x = L and by = L: name two parameters"):
        Results(tmp_path).exponent("L", over="d", at=0.75, by=["depth", "L"])


def test_an_exponent_says_what_it_holds_at_one_value(tmp_path):
    """Curves of two widths: that of one is fitted, and the table says of which. A width that grows with d has its ratio held."""
    store = Store(str(tmp_path / "two"))
    keys = [(d, L, width, seed) for d in (8, 16, 32) for L in (2, 4, 8, 16, 32, 64) for width in (64, 128) for seed in range(3)]
    rows = [
        row(i, d=d, L=L, width=width, seed=seed, best_test_acc=0.5 + 0.5 / (1 + d / L) + 0.001 * seed)
        for i, (d, L, width, seed) in enumerate(keys)
    ]
    store.commit("p", rows)
    with pytest.warns(UserWarning, match="only networks with width = 64 count here; 54 others are left out"):
        law = Results(tmp_path / "two").exponent("L", over="d", at=0.75)
    assert law["exponent"][0] == pytest.approx(1, abs=0.05) and law["width"][0] in (64, 128)
    store = Store(str(tmp_path / "along"))
    store.commit("p", [one | {"width": 4 * one["d"]} for one in rows if one["width"] == 64])
    law = Results(tmp_path / "along").exponent("L", over="d", at=0.75)
    assert law["exponent"][0] == pytest.approx(1, abs=0.05) and law["width/d"][0] == 4 and "width" not in law
