"""Pages over a store that holds networks at equilibrium alone."""

import sys

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from sweepkit.studies.rubin25.bound import ONSET
from sweepkit.studies.rubin25.theory.large_deviation import slope

from app.pages import module_of
from orchestrator.grid.load import load_grid
from sweepkit.store.store import Store
from tests.analysis.test_sample_complexity import SD, SIZES, equilibrium_rows, onset
from tests.app.conftest import RUN_S
from tests.orchestrator.running.test_driver import run

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own

GRID = """\
sweep: he3
grids:
  - {task: he3, network: erf2, d: [4, 6], width: [4, 6], zip: [[d, width]], P: [0, 4, 12], kappa: 1, seed: {range: 2}, steps: 40,
     eval_every: 5, chains: 2, test_size: 64, save: [curves, neurons]}
"""


@pytest.fixture(scope="module")
def at_equilibrium(tmp_path_factory):
    folder = tmp_path_factory.mktemp("equilibrium")
    (folder / "he3.yaml").write_text(GRID)
    grid = load_grid(folder / "he3.yaml")
    store = run(grid, str(folder / "results")).store
    store.write_plan("he3", [p.cell_id for p in grid.cells], whole=True)
    return store.results


@pytest.fixture(scope="module")
def by_the_bound(tmp_path_factory):
    """Synthetic: P* twice the bound's at N = d, and what the small grid has too: other widths, scalings, ridges, depths."""
    store = Store(str(tmp_path_factory.mktemp("bound") / "results"))
    store.prepare()
    rows = [
        *equilibrium_rows(mixed=True),
        *equilibrium_rows((16, 32), first=10_000, width=128, mixed=False),
        *equilibrium_rows((24,), first=20_000, scaling="mean_field", mixed=True),
        *equilibrium_rows((16,), first=30_000, width=64, kappa=0.1, mixed=True),
        *equilibrium_rows((16,), first=40_000, width=64, width1=16, network="erf3", mixed=True),
    ]
    store.commit("p", rows)
    store.write_plan("bound", [one["cell_id"] for one in rows], whole=True)
    return store.results


def opened(monkeypatch, name, results, **query):
    monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", results])
    script = f"from app.shared import results_directory\nfrom {module_of(name)} import show\nshow(results_directory())"
    page = AppTest.from_string(script, default_timeout=RUN_S)
    for key, value in query.items():
        page.query_params[key] = value
    return page.run()


def text(page):
    return "\n".join(element.value for kind in (page.markdown, page.caption, page.info) for element in kind)


@pytest.mark.parametrize("name", ["curves", "dimension", "noise", "structure", "scaling", "specialisation", "claims"])
def test_no_page_fails(monkeypatch, at_equilibrium, name):
    page = opened(monkeypatch, name, at_equilibrium)
    assert not page.exception


def test_one_network_is_shown_with_its_chains_and_whether_they_mixed(monkeypatch, at_equilibrium):
    page = opened(monkeypatch, "structure", at_equilibrium)
    assert [element.value for element in page.subheader] == ["Chains", "Measured"]
    assert any("did not mix" in element.value and "of which half start specialised" in element.value for element in page.caption)
    told = str(page.table[0].value)
    assert "alignment A_f" in told and "split R-hat" in told and "readout ratio" not in told


def test_scaling_finds_the_law_and_puts_the_bound_beside_it(monkeypatch, by_the_bound):
    page = opened(monkeypatch, "scaling", by_the_bound)
    assert not page.exception
    assert page.slider[0].value == pytest.approx(ONSET)
    expected = slope(ONSET, np.array(SIZES), np.array(SIZES))
    said = text(page)
    assert (
        f"Predicted: {expected:.2f} [bound over these sizes]" in said
        and "large-deviation bound at the very d and N" in said
        and "the interval contains the prediction" in said
    )
    assert "this level: 5 of 5 curves cross it, as many as cross any level" in said
    assert "width/d = 1" in said and "240 networks, 6 seeds per point" in said, "all mixed, the wider ones left out"
    table = page.dataframe[0].value
    assert table["d"].tolist() == table["width"].tolist() == list(SIZES)
    # A threshold's error: that of a mean of 6 over the slope of A_f in log P.
    error = SD / 6**0.5 / 0.1
    np.testing.assert_allclose(np.log(table["threshold"]), [np.log(onset(d)) for d in SIZES], atol=4 * error)


def test_scaling_rescales_by_the_bound_and_says_how_well_it_does(monkeypatch, by_the_bound):
    page = opened(monkeypatch, "scaling", by_the_bound)
    assert not page.exception and page.selectbox(key="rescaled_by").value == "the bound's P*"
    [said] = [one.value for one in page.caption if one.value.startswith("S = ")]
    rescaled, as_measured = (float(part.split(" = ")[-1].split(",")[-1].split()[0]) for part in said.split(" over ")[:2])
    assert "Rescaled by the bound's P*, nothing fitted" in said
    # For 6 seeds S is about 1.4 where curves collapse; as measured they lie ln(64/16) x 0.1 apart, 28 errors of a mean.
    assert rescaled < 4 and as_measured > 50


def test_at_one_width_other_networks_are_compared(monkeypatch, by_the_bound):
    page = opened(monkeypatch, "scaling", by_the_bound, width_as_d="false", colour="(none)", at_width="128")
    assert not page.exception
    assert page.dataframe[0].value["d"].tolist() == [16, 32]
    assert "width = 128" in text(page) and "96 of which did not mix" in text(page)


def test_a_level_in_the_address_stands(monkeypatch, by_the_bound):
    page = opened(monkeypatch, "scaling", by_the_bound, level_alignment_f="0.2")
    assert page.slider[0].value == 0.2 and "mean alignment_f 0.2" in text(page)


def test_without_several_sizes_scaling_says_what_yields_them(monkeypatch, tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = equilibrium_rows((16,))
    store.commit("p", rows)
    store.write_plan("one", [one["cell_id"] for one in rows], whole=True)
    page = opened(monkeypatch, "scaling", store.results)
    assert not page.exception and "nstar_he3_quick" in page.info[0].value


def test_specialisation_shows_sizes_on_the_map_and_neurons_beside_the_bound(monkeypatch, at_equilibrium):
    page = opened(monkeypatch, "specialisation", at_equilibrium)
    assert [element.value for element in page.subheader] == ["Which pattern", "Hidden neurons"]
    assert len(page.get("vega_lite_chart")) == 2
    patterns, sizes, histogram = (element.value for element in page.dataframe)
    assert patterns["pattern"].tolist() == ["GP", "GFL", "specialisation"]
    assert sizes[["d", "width", "P"]].to_numpy().tolist() == [[4, 4, 12], [6, 6, 12]]
    said = text(page)
    assert (
        "asked for by the bound at this alignment less the share of lazy learning" in said
        and "4 networks, 4 of which did not mix" in said
    )
    width = int(page.selectbox(key="at_width").value)
    assert histogram["neurons"].sum() == pytest.approx(width), "every neuron is in a bin"
    prior = opened(monkeypatch, "specialisation", at_equilibrium, at_P="0")
    assert not prior.exception and "P = 0" in text(prior)


def test_specialisation_of_other_networks_is_theory_alone(monkeypatch, at_equilibrium):
    page = opened(monkeypatch, "specialisation", at_equilibrium, pattern_of="3-layer erf, He_3")
    assert not page.exception
    assert page.dataframe[0].value["pattern"].tolist() == ["GP-GP", "GP-Sp.", "Sp.-Mag."]
    said = text(page)
    alone = "no finished network of kind 3-layer erf, He_3, so that the map is theory alone; `layers_he3_quick`"
    assert "Map at N1 = N, N being N2. The map is theory alone." in said and [alone in one.value for one in page.info] == [True]
    assert "Mag.: the next layer" in said and "Sp.: specialisation, a few" in said and "GFL" not in said
    assert [element.value for element in page.subheader] == ["Which pattern"] and "histogram" not in said
    assert any("layers_he3_quick" in one.value for one in page.code)
    assert "Mag." not in text(opened(monkeypatch, "specialisation", at_equilibrium))


def test_a_sweep_without_such_networks_is_named(monkeypatch, small_results):
    page = opened(monkeypatch, "specialisation", small_results)
    assert [one.value.split(",")[0] for one in page.info] == ["Sweep `tiny` has no finished network of kind 2-layer erf"]
    assert [element.value for element in page.subheader] == ["Which pattern"] and "The map is theory alone." in text(page)


def test_a_histogram_that_was_not_kept_is_asked_for(monkeypatch, by_the_bound):
    page = opened(monkeypatch, "specialisation", by_the_bound)
    assert not page.exception and "save: [curves, neurons]" in page.info[0].value


def test_exponents_are_told_apart_by_proportion(monkeypatch, by_the_bound):
    page = opened(monkeypatch, "scaling", by_the_bound, colour="width/d", at_kappa="1", at_network="erf2", at_scaling="standard")
    assert not page.exception
    table = page.dataframe[0].value
    assert set(table["width/d"]) == {1, 4, 8} and (table["width"] == table["d"] * table["width/d"]).all()


def test_of_three_layers_the_first_has_a_histogram(monkeypatch, tmp_path):
    """64 neurons of the second layer and 16 of the first, all of whose overlaps are in two bins."""
    store = Store(str(tmp_path / "results"))
    store.prepare()
    overlap = [0.0] * 59 + [8.0, 8.0] + [0.0] * 59
    counts = {"n_specialised_1": 0.5, "n_specialised_2": 0.2, "overlap": overlap, "mixed": True}
    rows = equilibrium_rows((10,), width=64, width1=16, network="erf3", **counts)
    store.commit("p", rows)
    store.write_plan("deep", [one["cell_id"] for one in rows], whole=True)
    page = opened(monkeypatch, "specialisation", store.results, pattern_of="3-layer erf, He_3")
    assert not page.exception and "of 16 measured, 0.043 by chance" in text(page)  # 16 x 0.0027


def test_neurons_of_networks_without_an_alignment_have_no_bound_beside_them(monkeypatch, tmp_path):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    overlap = [0.0] * 59 + [8.0, 8.0] + [0.0] * 59
    rows = [one | {"alignment_f": float("nan")} for one in equilibrium_rows((16,), overlap=overlap, mixed=False)]
    store.commit("p", rows)
    store.write_plan("lost", [one["cell_id"] for one in rows], whole=True)
    page = opened(monkeypatch, "specialisation", store.results)
    assert not page.exception and "of 16 measured, 0.043 by chance" in text(page) and "asked for by the bound" not in text(page)
    assert "without an alignment" in text(page)
