"""Charts of richness: what they read of a store, and which numbers they draw."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.nam26.charts import along_chart, n_leading, spectra, spectrum_chart

from analysis.data.networks.listing import network
from analysis.data.networks.reading import training
from sweepkit.store.store import Store
from tests.rich_rows import RICH, K, rich
from tests.store_rows import row

LEADS = {0: 0.7, 1: 0.8, 2: 0.9}
"""By network, the share of its output that the first eigenfunctions hold."""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    store = Store(str(tmp_path_factory.mktemp("rich") / "results"))
    one_output = [row(i, seed=i, L=3, **rich(lead)) for i, lead in LEADS.items()]
    classes = row(5, seed=0, **rich(0.9, classes=5))
    real = row(6, seed=0, **{"curve_train_acc": None, "curve_test_acc": None, "curve_test_mse": [0.9, 0.5, 0.2]}, **rich(0.9))
    plain = row(7, seed=0)
    store.commit("p", [*one_output, classes, real, plain], RICH)
    return store.results


def ids(*numbers):
    return [f"{n:020x}" for n in numbers]


def drawn(panel, mark):
    """Names of the data that the layers of a panel with this mark draw; a panel of one layer has the data itself."""
    return [layer.get("data", panel.get("data"))["name"] for layer in panel["layer"] if layer["mark"]["type"] == mark]


def rows_of(chart, panel, mark="line"):
    told = chart.to_dict()
    column = told["hconcat"][0] if "hconcat" in told else told
    return pd.concat([pd.DataFrame(told["datasets"][name]) for name in drawn(column["vconcat"][panel], mark)])


def test_spectra_are_read_in_order_and_without_what_was_not_saved(results, tmp_path):
    found = spectra(results, ids(1, 0, 7))
    assert found.groupby("cell_id")["eigenfunction"].apply(list).to_dict() == {cell: [*range(1, K + 1)] for cell in ids(0, 1)}
    assert found.query("seed == 1")["utilisation"].sum() == pytest.approx(1, abs=1e-6)  # kept in single precision
    store = Store(str(tmp_path))
    store.commit("p", [row(0, rho=[1.0, 0.5], measured=["rho"]), row(1)], [one for one in RICH if one.name == "rho"])
    found = spectra(store.results, ids(0, 1))
    assert list(found["rho"]) == [1, 0.5] and found[["quality", "utilisation"]].isna().all(axis=None)
    assert len(spectrum_chart(found).to_dict()["vconcat"]) == 1
    Store(str(tmp_path / "none")).commit("p", [row(1)])
    assert spectra(str(tmp_path / "none"), ids(1)).empty


@pytest.mark.parametrize(("cell", "rank", "first"), [(0, None, 2), (5, 4.0, 5), (5, 5.0, 5), (7, None, None)])
def test_the_eigenfunctions_of_the_richest_network_are_as_many_as_outputs(results, cell, rank, first):
    """Rank 5 without a lost one: targets that are vectors, no classes."""
    (cell_id,) = ids(cell)
    assert n_leading(network(results, cell_id) | {"d_lr_rank": rank}, spectra(results, [cell_id])) == first


def test_more_outputs_than_eigenfunctions_that_are_kept_have_no_line(results):
    (cell_id,) = ids(5)
    assert n_leading(network(results, cell_id) | {"d_lr_rank": 99.0}, spectra(results, [cell_id])) is None


def test_shares_add_up_to_those_of_the_first_k(results):
    frame = spectra(results, ids(0))
    together, alone = (rows_of(spectrum_chart(frame, 2, cumulative, ids(0)), 1) for cumulative in (True, False))
    for shown, second, last in ((together, 0.7, 1.0), (alone, 0.35, 0.03)):
        output = shown[shown["of"] == "of the output"].set_index("eigenfunction")["value"]
        target = shown[shown["of"] == "of the target"].set_index("eigenfunction")["value"]
        assert output[2] == pytest.approx(second) and output[K] == pytest.approx(last, abs=1e-6)
        np.testing.assert_allclose(target, output / 2, rtol=1e-5)


def test_means_of_networks_have_intervals_that_stay_on_the_axis(results):
    chart = spectrum_chart(spectra(results, ids(*LEADS)), 2)
    shares = rows_of(chart, 1)
    at = shares[(shares["of"] == "of the output") & (shares["eigenfunction"] == 2)].iloc[0]
    # Student's t for 3 networks, 0.1 apart: 4.303 x 0.1/sqrt(3) on either side, and no share is above 1.
    assert [at["value"], at["low"], at["high"], at["n"]] == pytest.approx([0.8, 0.8 - 0.2484, 1.0, 3], abs=1e-4)
    rho = rows_of(chart, 0)
    low, high = chart.to_dict()["vconcat"][0]["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert rho["value"].min() == pytest.approx(10.0 ** (1 - K)) and (rho["low"] >= low).all() and (rho["high"] <= high).all()


def test_one_network_is_strong_among_its_seeds(results):
    told = spectrum_chart(spectra(results, ids(*LEADS)), 2, strong=ids(1)).to_dict()
    thin, strong = (pd.DataFrame(told["datasets"][name]) for name in drawn(told["vconcat"][0], "line"))
    assert set(thin["seed"]) == {0, 2} and set(strong["seed"]) == {1}


def test_networks_side_by_side_have_their_own_titles_and_lines(results):
    frame = spectra(results, ids(0, 5)).assign(column=lambda f: f["cell_id"].map(dict(zip(ids(0, 5), "ab", strict=True))))
    told = spectrum_chart(frame, {"a": 2, "b": None}).to_dict()
    assert [column["title"] for column in told["hconcat"]] == ["a", "b"]
    rules = [drawn(column["vconcat"][1], "rule") for column in told["hconcat"]]
    assert [len(of) for of in rules] == [1, 0] and told["datasets"][rules[0][0]] == [{"eigenfunction": 2, "words": "k = 2"}]


@pytest.mark.parametrize(
    ("cell", "log", "titles"),
    [
        (0, False, ["D_LR, accuracy", "effective dimension"]),
        (0, True, ["D_LR, accuracy", "effective dimension"]),
        (6, False, ["D_LR", "test mean squared error", "effective dimension"]),
    ],
)
def test_along_training_stand_accuracies_or_the_error_beside_d_lr(results, cell, log, titles):
    chart = along_chart(training(results, ids(cell)).assign(column=""), ids(cell), log_step=log)
    panels = chart.to_dict()["vconcat"]
    assert [panel["layer"][0]["encoding"]["y"]["title"] for panel in panels] == titles
    d_lr = rows_of(chart, 0).query("of == 'laziness D_LR'")
    assert list(d_lr["step"]) == [1000, 2000]  # at step 0 the output is constant
    lead = {0: 0.7, 6: 0.9}[cell]
    assert list(d_lr["value"]) == pytest.approx([1 - lead / 3, 1 - lead * 2 / 3], rel=1e-6)  # kept in single precision
