"""Pages dimension, noise, scaling and claims over stores whose accuracies follow a known law."""

import itertools
import re
import shutil
import sys

import pytest
from streamlit.testing.v1 import AppTest
from sweepkit.studies.tong25.theory.bayes import generalising_accuracy

from analysis.scaling.charts import exponent_chart
from analysis.scaling.predictions import Prediction
from analysis.scaling.thresholds import Exponent
from app.choices import interval_text
from app.pages import module_of
from app.screens import scaling
from sweepkit.stats.fits import PowerLaw
from sweepkit.stats.intervals import Interval
from sweepkit.store.searches import Question
from sweepkit.store.store import Store
from sweepkit.store.views import fetch
from tests.analysis.test_board import judged
from tests.app.conftest import RUN_S
from tests.store_rows import OWN_KEYS, row

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own

DS, LS = (4, 8, 16), (2, 4, 8, 16, 32, 64, 128, 256)
WIGGLE = 2 * (-0.002, 0.0, 0.002)  # six seeds, which a verdict takes
"""The differences between three seeds."""
LAW = {
    "lazy": lambda L, d: 0.5 + 0.5 * L / (L + d**2 / 4),  # 0.85 at L = 0.58 d^2
    "1": lambda L, d: 0.5 + 0.5 * L / (L + 4),  # 0.85 at L = 9.3, whatever d
}
COMMON = {"width": 1024, "steps": 25000, "batch": 128, "eval_every": 1000, "test_size": 1024, "base_lr": 0.1, "dtype": "float32",
          "prefactor": "sqrt_d", "curves": 0}  # fmt: skip


def cells(**more):
    """A row for each seed."""
    name = "-".join(f"{key}{value}" for key, value in more.items())
    accuracy = more.pop("accuracy")
    values = COMMON | {"gamma_label": "1", "gamma": 1.0} | more
    if values["gamma_label"] == "lazy":
        values["gamma"] = 1e-5 / values["d"] ** 0.5
    return [
        row(f"{name}-{seed}", seed=seed, best_test_acc=accuracy + wiggle, final_test_acc=accuracy - 0.01,
            final_test_auc=min(accuracy + 0.1 + wiggle, 1.0), **values)
        for seed, wiggle in enumerate(WIGGLE)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    store = Store(str(tmp_path_factory.mktemp("filled") / "results"))
    store.prepare()
    rows = [
        one
        for d, L, (label, law) in itertools.product(DS, LS, LAW.items())
        for one in cells(L=L, d=d, gamma_label=label, sigma2=0.0, accuracy=law(L, d))
    ]
    for sigma2, L, label in itertools.product((1.0, 2.0), (4, 16), LAW):
        off = {"lazy": 0.10, "1": 0.03}[label] * (2 if L == 4 else 1)
        accuracy = float(generalising_accuracy(sigma2, 16)) - off
        rows += cells(L=L, d=16, gamma_label=label, sigma2=sigma2, accuracy=accuracy)
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("law", [one["cell_id"] for one in rows], whole=True)
    return store.results


@pytest.fixture(scope="module")
def parity(tmp_path_factory):
    """A user's own task, which has no L."""
    store = Store(str(tmp_path_factory.mktemp("parity") / "results"))
    store.prepare()
    rows = [one for d in (10, 20, 40) for one in cells(task="parity", L=None, d=d, k=2, accuracy=0.9)]
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("parity", [one["cell_id"] for one in rows], whole=True)
    return store.results


@pytest.fixture
def opened(monkeypatch):
    def open_page(name, results, query=None):
        monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", str(results)])
        script = f"from app.shared import results_directory\nfrom {module_of(name)} import show\nshow(results_directory())"
        page = AppTest.from_string(script, default_timeout=RUN_S)
        for key, value in (query or {}).items():
            page.query_params[key] = value
        return page.run()

    return open_page


def values(page):
    return {box.label: box.value for box in page.selectbox}


def text(page):
    return "\n".join(element.value for kind in (page.markdown, page.caption, page.info) for element in kind)


@pytest.mark.parametrize("name", ["dimension", "noise", "scaling"])
def test_a_task_without_L_is_told_what_the_page_needs(opened, parity, name):
    page = opened(name, parity)
    assert not page.exception
    assert "grid" in page.info[0].value
    assert "need" in page.info[0].value
    assert page.code[0].value.endswith(f"quick --results {parity}")


@pytest.mark.parametrize("name", ["dimension", "noise", "scaling"])
def test_an_empty_store_does_not_fail(opened, tmp_path, name):
    page = opened(name, tmp_path / "none")
    assert not page.exception
    assert page.info


def test_a_page_without_data_names_the_sweeps_that_have_some(opened, filled, parity, tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    of_law = [one for d, L in itertools.product(DS, (4, 16)) for one in cells(L=L, d=d, sigma2=1.0, accuracy=0.9)]
    of_parity = cells(task="parity", L=None, d=10, k=2, accuracy=0.9)
    store.commit("p", of_law + of_parity, OWN_KEYS)
    store.write_plan("law", [one["cell_id"] for one in of_law], whole=True)
    store.write_plan("parity", [one["cell_id"] for one in of_parity], whole=True)
    for name in ("dimension", "noise", "scaling"):
        page = opened(name, store.results, {"sweep": "parity"})
        assert not page.exception and "Choose another sweep: `law` has what this page shows" in page.info[0].value
        assert not page.code  # no grid to run
    assert "Nothing to draw" not in text(opened("dimension", store.results, {"sweep": "law"}))


def test_dimension_recovers_the_exponent_2_of_lazy_networks(opened, filled):
    page = opened("dimension", filled)
    assert not page.exception
    assert "d^2.0" in text(page)
    assert "fitted to n = 3 values of d from 4 to 16" in text(page)
    assert "3 of 3 d with a curve reach 0.85" in text(page)
    assert "≤ 2 [Theorem 2]" in text(page)
    table = page.dataframe[0].value
    assert list(table["d"]) == list(DS)
    assert table["L*"].iloc[-1] == pytest.approx(0.7 / 0.3 * 16**2 / 4, rel=0.05)  # interpolated between powers of 2


def test_dimension_says_that_rich_networks_do_not_depend_on_d(opened, filled):
    page = opened("dimension", filled, {"at_gamma_label": "1"})
    assert "d^0.00" in text(page) or "d^-0.00" in text(page)
    assert "does not depend on d; the interval contains the prediction" in text(page)


def test_dimension_by_auc_starts_at_the_level_of_the_figures(opened, filled):
    page = opened("dimension", filled)
    next(box for box in page.selectbox if box.label == "Metric").set_value("final_test_auc").run()
    assert not page.exception
    # The store's AUC reaches 0.95 where the accuracy reaches 0.85.
    assert "3 of 3 d with a curve reach 0.95" in text(page) and "d^2.0" in text(page)
    assert "where the mean final_test_auc reaches 0.95" in text(page)


def test_dimension_counts_what_is_not_reached(opened, filled):
    page = opened("dimension", filled, {"level": "0.95"})
    assert "2 of 3 d with a curve reach 0.95" in text(page)
    assert "1 do not" in text(page)
    page = opened("dimension", filled, {"level": "0.999"})
    assert "No exponent" in page.info[0].value


def test_noise_measures_against_bayes_at_the_largest_L(opened, filled):
    page = opened("noise", filled)
    assert not page.exception
    table = page.dataframe[0].value
    assert list(zip(table["sigma2"], table["gamma"], table["L"], table["n"], strict=True)) == [
        (sigma2, gamma, 16, 6) for sigma2 in (1.0, 2.0) for gamma in ("lazy", "1")
    ]
    assert [float(t.split(" ")[0]) for t in table["minus generalising"]] == pytest.approx([-0.1, -0.03] * 2, abs=1e-3)


def test_scaling_puts_exponents_beside_predictions(opened, filled):
    page = opened("scaling", filled, {"at_sigma2": "0"})
    assert not page.exception
    said = [m.value for m in page.markdown]
    lazy = next(s for s in said if "gamma = lazy" in s)
    rich = next(s for s in said if "gamma = 1:" in s)
    assert "d^2.0" in lazy and "Theorem 2" in lazy and "n = 3" in lazy
    assert "0 [Eq. 3]; the interval contains the prediction" in rich
    assert "6 of 6 curves reach it;" in text(page) and "bands" not in text(
        page
    )  # these exponents' intervals are the thresholds' own
    assert "S = " in text(page)
    best = opened("scaling", filled, {"at_sigma2": "0", "rescaled_by": "the best exponent"})
    assert any("Best: **d^2.0" in m.value for m in best.markdown)


def test_the_table_of_exponents_says_what_was_left_out_beside_the_verdict(monkeypatch):
    told = []
    monkeypatch.setattr(scaling.st, "markdown", told.append)
    interval = Interval(1.11, 1.0, 1.23, 5)
    law = PowerLaw(interval, 1.0, None, 16.0, 64.0, 5, 0.99)
    fits = {"lazy": Exponent(interval, law, 5, 2, 0), "1": Exponent(interval, law, 5, 0, 0)}
    bound = Prediction("L", "d", 2, "Theorem 2", is_bound=True)
    scaling._tell([*fits], "gamma_label", fits, dict.fromkeys(fits, bound), "L", "d")
    _, _, lazy, rich = told[0].splitlines()
    assert lazy.endswith("the interval lies within the bound; 2 not reached (so the exponent may be too small) |")
    assert rich.endswith("the interval lies within the bound |")


def test_a_small_exponent_is_written_with_digits_that_tell_it_from_zero():
    assert interval_text(Interval(1.1, 1.0, 1.23, 5)) == "1.10 (1.00 to 1.23)"
    assert interval_text(Interval(0.0061, 0.0012, 0.0119, 5)) == "0.006 (0.001 to 0.012)"
    assert interval_text(Interval(0.5, float("nan"), float("nan"), 2)) == "0.50"
    assert interval_text(Interval(0.5, 0.5, 0.5, 2)) == "0.50 (0.50 to 0.50)"


def test_collapse_opens_at_the_fitted_exponent_and_says_so(opened, tmp_path):
    """It once opened at the bound of Theorem 2, d^2, whatever was fitted."""
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = [one for d, L in itertools.product(DS, LS) for one in cells(
        L=L, d=d, gamma_label="lazy", sigma2=0.0, accuracy=0.5 + 0.5 * L / (L + d))]  # fmt: skip
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("law", [one["cell_id"] for one in rows], whole=True)
    page = opened("scaling", store.results)
    (caption,) = [one.value for one in page.caption if one.value.startswith("S = ")]
    assert page.number_input(key="exponent").value == pytest.approx(1.0, abs=0.05)
    assert ", the exponent fitted to the thresholds above; predicted: ≤ 2 [Theorem 2]. Means" in caption
    page.number_input(key="exponent").set_value(2.0).run()
    assert "by d^2, the exponent of the bound; predicted: ≤ 2 [Theorem 2]" in text(page)
    page.number_input(key="exponent").set_value(1.5).run()
    assert "by d^1.5, an exponent of your choice, where " in text(page)


def test_collapse_opens_where_curves_overlap(opened, tmp_path):
    """Over gamma, whose lazy value is tiny, it once opened at gamma^1, where none do."""
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = [one for gamma, L in itertools.product((1e-8, 1e-4, 1.0), LS) for one in cells(
        L=L, d=8, gamma=gamma, gamma_label=f"{gamma:g}", sigma2=0.0, accuracy=0.5 + 0.5 * L / (L + 8 * gamma**-0.1))]  # fmt: skip
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("law", [one["cell_id"] for one in rows], whole=True)
    page = opened("scaling", store.results, {"level": "0.99"})  # beyond all curves: nothing is fitted
    assert values(page)["against"] == "gamma" and values(page)["Rescaled by"] == "the best exponent"
    assert any(m.value.startswith("Best: **gamma^-0.1") for m in page.markdown) and not page.info
    assert ", the exponent of the best collapse. Means" in text(page)
    page.selectbox(key="rescaled_by").set_value("an exponent").run()
    assert page.info[-1].value.endswith(
        "no two curves overlap, so there is nothing to compare: choose the best exponent or another."
    )


def test_scaling_of_a_size_and_a_learning_rate_says_what_it_takes(opened, tmp_path):
    """The least width that reaches an error, against the learning rate, is no law; the page once fitted one."""
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = [one for rate, width in itertools.product((0.1, 0.2, 0.4), (16, 64, 256)) for one in cells(
        L=4, d=8, base_lr=rate, width=width, sigma2=0.0, accuracy=0.5 + 0.5 * width / (width + 20 / rate))]  # fmt: skip
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("rates", [one["cell_id"] for one in rows], whole=True)
    page = opened("scaling", store.results)
    assert not page.exception and "and of these networks only width does" in page.info[0].value


def test_collapse_opens_on_curves_of_several_d(opened, tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    ds = {"lazy": DS[:1], "1": DS}
    rows = [one for label, L in itertools.product(LAW, LS) for d in ds[label] for one in cells(
        L=L, d=d, gamma_label=label, sigma2=0.0, accuracy=LAW["lazy"](L, d))]  # fmt: skip
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("law", [one["cell_id"] for one in rows], whole=True)
    page = opened("scaling", store.results)
    assert not page.exception and values(page)["Curves of gamma"] == "1"
    assert "S = " in text(page) and "No collapse" not in text(page)
    page = opened("scaling", store.results, {"collapse_of": "lazy"})
    assert "No collapse: needs 2 values of d with 2 values of L each, there are 1." in text(page)


def test_scaling_takes_any_two_keys_and_says_what_is_missing(opened, filled):
    page = opened("scaling", filled, {"over": "d", "against": "L"})
    assert not page.exception
    page = opened("scaling", filled, {"against": "gamma", "at_sigma2": "0"})
    assert not page.exception
    assert values(page)["Colour"] == "d"
    offset = opened("scaling", filled, {"at_sigma2": "0", "offset": "true"})
    assert "too few points for this fit: 3, needs 4" in text(offset)


def test_scaling_over_gamma_finds_the_gamma_that_suffices(opened, filled):
    page = opened("scaling", filled, {"over": "gamma", "against": "d", "colour": "training symbols L", "at_sigma2": "0"})
    assert not page.exception and not page.info
    table = page.dataframe[0].value
    # 0.85 lies between lazy and rich networks where L is at least 16 but short of what the lazy ones need.
    reached = {(row.L, row.d) for row in table.itertuples() if row.state == "reached"}
    assert reached == {(L, d) for L in LS for d in DS if LAW["lazy"](L, d) < 0.85 < LAW["1"](L, d)}


def test_scaling_opens_on_what_a_sweep_searched_for(opened, filled, tmp_path):
    store = Store(str(shutil.copytree(filled, tmp_path / "results")))
    ids = [one for (one,) in fetch(store.results, "SELECT cell_id FROM cells WHERE sigma2 = 0")]
    for sweep, question in (
        ("searched", Question("d", "final_test_acc", 0.9)),
        ("falling", Question("d", "final_test_acc", 0.9, falling=True)),  # the page asks where accuracies rise
    ):
        store.write_plan(sweep, ids, whole=True, asked=dict.fromkeys(ids, question))
    for sweep, metric, over, level in (
        ("searched", "final_test_acc", "d", 0.9),
        ("law", "best_test_acc", "L", 0.85),
        ("falling", "best_test_acc", "L", 0.85),
    ):
        page = opened("scaling", store.results, {"sweep": sweep})
        assert not page.exception
        shown = values(page)
        assert (shown["Metric"], shown["Threshold in"], page.slider(key="level").value) == (metric, over, level)


def test_networks_that_leave_their_default_name_out_keep_the_level_searched_for_beside_others(opened, filled, tmp_path):
    store = Store(str(shutil.copytree(filled, tmp_path / "results")))
    others = [one for L in (4, 16) for one in cells(L=L, d=16, sigma2=0.0, network="mlp", accuracy=0.9)]
    store.commit("others", others, OWN_KEYS)
    ids = [one for (one,) in fetch(store.results, "SELECT cell_id FROM cells WHERE sigma2 = 0")]
    asked = {one: Question("d", "final_test_acc", 0.9) for one in ids if one not in {row["cell_id"] for row in others}}
    store.write_plan("mixed", ids, whole=True, asked=asked)
    page = opened("scaling", store.results, {"sweep": "mixed"})
    assert not page.exception and values(page)["network"] == "relu2"
    assert page.slider(key="level").value == 0.9


@pytest.mark.parametrize("offset", ["false", "true"])
def test_scaling_shows_one_exponent_in_words_and_in_the_chart(opened, tmp_path, monkeypatch, offset):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = [
        one
        for d, L, label in itertools.product((4, 6, 8, 12, 16), LS, LAW)
        for one in cells(L=L, d=d, gamma_label=label, sigma2=0.0, accuracy=LAW[label](L, d) + (label == "1") * 0.002 * d)
    ]
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("law", [one["cell_id"] for one in rows], whole=True)
    drawn = {}

    def noted(rows, *axes, **more):
        drawn.update(zip(rows["gamma_label"], rows["exponent"], strict=True))
        return exponent_chart(rows, *axes, **more)

    monkeypatch.setattr(scaling, "exponent_chart", noted)
    page = opened("scaling", store.results, {"offset": offset})
    assert not page.exception and set(drawn) == {"lazy", "1"}
    for label, value in drawn.items():
        assert any(f"gamma = {label}: " in m.value and f"d^{value:.2f}" in m.value for m in page.markdown)


@pytest.fixture
def slices(tmp_path):
    """A slice with one d and several gamma at the paper's width, one with three d, and one with most networks."""
    store = Store(str(tmp_path))
    at = {"sigma2": 0.0, "prefactor": "sqrt_d"}
    grids = {1024: ((256,), ("0.1", "1"), 2), 512: ((64, 128, 256), ("1",), 2), 300: ((256,), ("1",), 20)}
    made = [
        row(10**6 * width + 10**3 * d + 100 * int(label == "1") + L + 20 * seed, L=L, d=d, width=width, gamma_label=label,
            gamma=float(label), seed=seed, best_test_acc=min(1.0, 0.5 + L / 20) + seed / 1e4, **at)
        for width, (ds, labels, seeds) in grids.items()
        for d, label, L, seed in itertools.product(ds, labels, (3, 6, 12), range(seeds))
    ]  # fmt: skip
    store.commit("p", [one | {"cell_id": f"{i:020x}"} for i, one in enumerate(made)])
    store.write_plan("all", [f"{i:020x}" for i in range(len(made))], whole=True)
    return store.results


@pytest.mark.parametrize(("name", "width"), [("scaling", "512"), ("curves", "300")])
def test_of_all_sweeps_scaling_opens_on_three_thresholds_and_curves_on_most_networks(opened, slices, name, width):
    page = opened(name, slices, {"sweep": "(all sweeps)"})
    assert not page.exception and values(page)["width"] == width
    assert name == "curves" or (values(page)["against"], len(page.dataframe[0].value)) == ("d", 3)
    assert values(opened(name, slices, {"sweep": "(all sweeps)", "at_width": "1024"}))["width"] == "1024"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Networks of a sweep that have a gamma and no P, and kernels that have P and no gamma."""
    store = Store(str(tmp_path_factory.mktemp("kernels") / "results"))
    store.prepare()
    own, none = {"task": "parity", "L": None, "k": 2}, {"gamma": None, "gamma_label": None, "base_lr": None}
    rows = [one for d, gamma in itertools.product((8, 16), (0.1, 1.0)) for one in cells(
        **own, d=d, gamma=gamma, gamma_label=f"{gamma:g}", network="mlp", base_lr=0.1 * gamma, accuracy=0.8)]  # fmt: skip
    rows += [one for d, P in itertools.product((8, 16, 32), (8, 64, 512)) for one in cells(
        **own, **none, d=d, P=P, network="erf_kernel", accuracy=1 - d / (2 * d + P))]  # fmt: skip
    store.commit("p", [one | {"best_test_acc": None, "test_mse": 1 - one["best_test_acc"]} for one in rows], OWN_KEYS)
    store.write_plan("both", [one["cell_id"] for one in rows], whole=True)
    return store.results


def test_scaling_takes_its_colour_from_the_networks_that_it_shows(opened, kernels):
    page = opened("scaling", kernels)
    assert not page.exception
    assert (values(page)["Threshold in"], values(page)["against"], values(page)["Colour"]) == ("P", "d", "(none)")
    assert len(page.dataframe[0].value) == 3
    page = opened("scaling", kernels, {"over": "P", "colour": "gamma"})
    assert not page.exception
    assert "these networks have no gamma" in text(page)
    page = opened("scaling", kernels, {"over": "P", "against": "base_lr"})
    assert not page.exception and "networks of this configuration have no base_lr" in page.info[0].value


def test_scaling_opens_on_the_task_that_has_thresholds(opened, kernels, tmp_path):
    store = Store(str(shutil.copytree(kernels, tmp_path / "results")))
    alone = [one for d in (8, 16) for one in cells(task="blobs", L=None, d=d, P=d, accuracy=0.9)]
    store.commit("alone", alone, OWN_KEYS)
    ids = [one for (one,) in fetch(store.results, "SELECT cell_id FROM cells")]
    store.write_plan("two", ids, whole=True)
    page = opened("scaling", store.results, {"sweep": "two"})
    assert not page.exception and values(page)["Task"] == "parity" and len(page.dataframe[0].value) == 3


def test_claims_come_as_they_are_checked(opened, filled, monkeypatch, claims_checked_here):
    from analysis.claims import background_check
    from analysis.claims.check import load_claims

    few = [c for c in load_claims() if c.id in ("eq3-best-L4", "lazy-exponent-at-most-2", "attention-expansion")]
    monkeypatch.setattr(background_check, "load_claims", lambda: few)
    from app.screens import claims

    claims._following.clear()
    page = opened("claims", filled)
    assert not page.exception
    claims._following(filled).running.result()
    page.run()
    assert not page.exception and not page.get("progress")
    counts = re.findall(r"<b>(.)</b> (\d+) ([a-z ]+)", html(page))
    assert counts == [("✗", "1", "contradicted"), ("?", "1", "open"), ("–", "1", "not measured")]
    lines = html(page)
    assert "within 0.03 of Eq. 3" in lines and "expected 0 ± 0.03" in lines  # 0.75 at L = 4 where Eq. 3 says 0.949
    assert [one.label for one in page.expander] == ["1 statements are not measured: why not"]
    assert next(box for box in page.selectbox if box.label == "About networks of").options == ["(all sweeps)", "law"]
    page.text_input[0].set_value("lazy exponent").run()
    assert "within 0.03 of Eq. 3" not in html(page) and "lazy-exponent-at-most-2" in html(page)
    one = opened("claims", filled, {"claim": "eq3-best-L4"})
    assert "✗ contradicted" in one.subheader[0].value and "Measured: <b>" in html(one)
    unmeasured = opened("claims", filled, {"claim": "attention-expansion"})
    assert "not measured" in unmeasured.subheader[0].value and "A calculation without training" in html(unmeasured)
    assert "Expected" not in html(unmeasured) and not unmeasured.code  # no command would decide it
    assert "No statement is named `nonsense`" in opened("claims", filled, {"claim": "nonsense"}).warning[0].value
    claims._following.clear()


def test_claims_say_at_once_how_far_the_check_is(opened, filled, monkeypatch):
    from analysis.claims.background_check import Following, State
    from app.screens import claims

    waiting = Following(filled)
    waiting.to_come = {claim.id for claim in waiting.claims[2:]}
    monkeypatch.setattr(waiting, "look", lambda *_, **__: State([], len(waiting.to_come), None))
    monkeypatch.setattr(claims, "_following", lambda results: waiting)
    page = opened("claims", filled)
    n = len(waiting.claims)
    (bar,) = page.get("progress")
    assert not page.exception and bar.proto.text.startswith(f"2 of {n} checked, {n - 2} instances to come")


@pytest.mark.parametrize("n_to_come", [0, 3])
def test_counts_of_verdicts_are_grey_and_so_far_until_all_claims_are_checked(opened, filled, monkeypatch, n_to_come):
    from analysis.claims.background_check import Following, State
    from app.parts.scoreboard import UNSETTLED
    from app.screens import claims

    following = Following(filled)
    following.to_come = {claim.id for claim in following.claims[:n_to_come]}
    found = [judged("eq3-L4"), judged("eq3-L5"), judged("L2-exception", "contradicted", 0.5)]
    monkeypatch.setattr(following, "look", lambda *_, **__: State(found, n_to_come, None))
    monkeypatch.setattr(claims, "_following", lambda results: following)
    text = html(opened("claims", filled))
    counts = re.search(r"font-size:1.25rem.*?1 confirmed.*?1 contradicted.*?</span></span>", text)[0]
    assert ("so far" in counts) == (UNSETTLED in counts) == bool(n_to_come)
    assert text.count("so far") == (3 if n_to_come else 0)  # the page, a section and a line of two statements


def html(page):
    return "".join(element.proto.body for element in page.get("html"))


@pytest.mark.parametrize("name", ["dimension", "noise", "scaling"])
def test_of_several_tasks_one_is_shown(opened, filled, tmp_path, name):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = [one for d in (10, 20, 40) for one in cells(task="parity", L=None, d=d, k=2, accuracy=0.9)]
    for d, L, sigma2 in itertools.product(DS, (4, 16), (0.0, 1.0)):
        rows += cells(L=L, d=d, sigma2=sigma2, accuracy=LAW["1"](L, d))
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("both", [one["cell_id"] for one in rows], whole=True)
    page = opened(name, store.results)
    assert not page.exception
    assert not page.info
    assert next(box.value for box in page.selectbox if box.label == "Task") == "same_different"
    page = opened(name, store.results, {"at_task": "parity"})
    assert not page.exception
    assert "grid" in page.info[0].value


def test_images_are_first_shown_at_the_settings_of_their_task(opened, tmp_path):
    """At width 1024, the paper's of symbols, there are more seeds than at 512, that of images."""
    store = Store(str(tmp_path / "results"))
    rows = []
    for L, patches, width, gamma in itertools.product(LS, (4, 6), (512, 1024), (1.0, 0.1)):
        keys = {
            "task": "psvrt",
            "L": L,
            "d": None,
            "patches": patches,
            "width": width,
            "gamma": gamma,
            "gamma_label": f"{gamma:g}",
        }
        rows += cells(**keys, accuracy=LAW["lazy"](L, patches))[: 2 if width == 512 else 3]
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("p", [one["cell_id"] for one in rows], whole=True)
    page = opened("scaling", store.results, {"over": "L", "against": "patches"})
    assert not page.exception
    assert values(page)["width"] == "512"
    assert "patches a side" in str(page.get("vega_lite_chart")[0].proto.spec)
    page = opened("curves", store.results)
    assert not page.exception and values(page)["width"] == "512"
    across = next(box for box in page.selectbox if box.label == "Across")
    assert {"training patterns L", "patches a side"} <= {*across.options} and "training symbols L" not in across.options
    linked = opened("scaling", store.results, {"over": "patches", "against": "width", "colour": "training patterns L"})
    assert not linked.exception and values(linked)["Colour"] == "L"


@pytest.mark.parametrize("name", ["dimension", "noise"])
def test_a_link_that_names_no_control_of_the_page_says_so(page, filled, name):
    shown = page(name, filled, symbols="4", sweep="law")
    assert [one.value.split(",")[0] for one in shown.warning] == ["The link names `symbols`"]


@pytest.mark.parametrize("name", ["dimension", "noise"])
def test_networks_without_gamma_are_shown(opened, tmp_path, name):
    store = Store(str(tmp_path))
    store.prepare()
    of_all = {"network": "residual", "gamma": None, "gamma_label": None}
    rows = [
        one | of_all
        for d, L, sigma2 in itertools.product((4, 8, 16), (2, 4, 8), (0.0, 1.0))
        for one in cells(L=L, d=d, sigma2=sigma2, accuracy=0.6 + L / 40)
    ]
    store.commit("p", rows, OWN_KEYS)
    page = opened(name, tmp_path)
    assert not page.exception, page.exception
    assert len(page.dataframe) or "exponent" in text(page).lower()
