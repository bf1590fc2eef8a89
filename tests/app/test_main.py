"""Logic of the pages, without a browser: empty, small and running stores, selections that live in the URL."""

import json
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

import app
from app.choices import format_of
from app.parts.papers_figures import drawings
from app.screens.home import N_LINES
from app.script import PAGES
from sweepkit.console.commands import command
from sweepkit.declarations.columns import Key
from sweepkit.store.leases import Lease
from sweepkit.store.schema import PLAN_SCHEMA, PLANNED_FIND, parquet_bytes
from sweepkit.store.snapshot import Asked
from sweepkit.store.store import Store
from sweepkit.store.upkeep.notes import tell
from sweepkit.store.views import fetch
from tests.analysis.test_board import judged
from tests.app.conftest import RUN_S, script_of_page
from tests.pictured_store import pictured_store
from tests.store_rows import OWN_KEYS, START, row, rows

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own


def said(shown):
    return "\n".join(caption.value for caption in shown.caption)


def values(shown):
    return {box.label: box.value for box in shown.selectbox}


def test_the_script_opens_the_first_page_and_an_empty_store_says_what_to_type(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", str(tmp_path / "none")])
    shown = AppTest.from_file(str(Path(app.__file__).parent / "script.py"), default_timeout=RUN_S).run()
    assert not shown.exception
    assert shown.header[0].value == PAGES["home"][0]
    assert "python -m orchestrator.sweep grid.yaml" in shown.info[0].value


def test_theory_is_computed_apart_from_the_server_and_its_errors_are_on_the_page():
    def script():
        from functools import partial
        from operator import truediv
        from os import getppid

        from analysis.overlays.overlays import Later
        from app.theory import compute_later

        compute_later([Later("parent", getppid), Later("wrong", partial(truediv, 1, 0))])

    from app.theory import _theory_worker

    shown = AppTest.from_function(script, default_timeout=RUN_S).run()
    assert "theory of 2 more points" in said(shown) or shown.warning
    worker = _theory_worker()
    assert worker.asked["parent"].result(300) == os.getpid()
    assert worker.asked["wrong"].exception(300)
    shown.run()
    assert "Theory could not be computed: ZeroDivisionError" in shown.warning[0].value
    assert "more point" not in said(shown)


def test_theory_that_becomes_known_makes_no_page_read_the_store_anew(monkeypatch):
    from app import shared

    read = []

    def work(results, of):
        return read.append((results, of))

    for moment in (("a", 0), ("a", 1), ("b", 1)):  # the state of the store, and how much theory is known
        monkeypatch.setattr(shared.st, "session_state", {shared._SEEN: moment})
        shared.remembered(work, "results", "store")
        shared.remembered_with_theory(work, "results", "theory")
    assert [of for _, of in read] == ["store", "theory", "theory", "store", "theory"]


def test_a_page_does_not_run_by_itself_while_a_file_is_made_and_fetched(monkeypatch, tmp_path):
    from time import monotonic

    from app import downloads

    def script():
        import streamlit as st

        from app import shared

        st.session_state["runs"] = st.session_state.get("runs", 0) + 1
        if st.session_state["runs"] < 4:  # else a page that is to run again would do so for ever
            shared._follow(st.session_state["results"])

    pause = downloads.Pause()
    shown = AppTest.from_function(script, default_timeout=RUN_S)
    shown.session_state["results"], shown.session_state[downloads._PAUSE] = str(tmp_path), pause
    during = []
    assert pause.during(lambda: during.append(shown.run().session_state["runs"]) or 7)() == 7
    assert during == [1]
    assert shown.run().session_state["runs"] == 2 and pause.until > monotonic()  # the browser fetches it
    pause.until = 0.0
    assert shown.run().session_state["runs"] == 4

    def fails():
        raise ValueError("no image")

    with pytest.raises(ValueError, match="no image"):
        pause.during(fails)()
    assert pause.n_at_work == 0


@pytest.mark.parametrize(("n", "at_once"), [(3, True), (30_000, False)])
def test_the_csv_of_a_small_table_is_there_with_the_page(monkeypatch, n, at_once):
    def script(n):
        import pandas as pd

        from app.downloads import downloads

        downloads("some", pd.DataFrame({"x": range(n)}), sql="SELECT 1")

    files = {}
    monkeypatch.setattr("streamlit.download_button", lambda label, data, *_, **__: files.update({label: data}))
    assert not AppTest.from_function(script, default_timeout=RUN_S, args=(n,)).run().exception
    assert files["SQL"] == "SELECT 1\n" and callable(files["CSV"]) != at_once
    csv = files["CSV"] if at_once else files["CSV"]()
    assert csv.startswith("x\n0\n1\n2\n") and csv.count("\n") == n + 1


def test_a_results_uri_that_cannot_be_read_is_an_error_on_the_page(page):
    assert "not supported" in page("home", "gs://somewhere").error[0].value


@pytest.mark.parametrize("options", [["--result-dir", "x"], ["elsewhere"], ["--results"]])
def test_a_wrong_option_is_an_error_on_the_page(monkeypatch, options):
    monkeypatch.setattr(sys, "argv", ["app/main.py", *options])
    shown = AppTest.from_function(script_of_page, default_timeout=RUN_S, args=("home",)).run()
    assert not shown.exception
    assert "-- --results DIR" in shown.error[0].value and "--results" in shown.error[0].value


def _failing(module, error):
    from app.shared import guarded

    def show(results):
        import duckdb

        kinds = {"duckdb": duckdb.CatalogException("no table named cells"), "value": ValueError("two values are needed")}
        exec("raise error", {"__name__": module, "error": kinds[error]})

    guarded("Failing", "", show)


@pytest.mark.parametrize(
    ("module", "error", "box"),
    [
        ("analysis.data.points", "value", "two values are needed"),
        ("sweepkit.stats.fits", "value", "two values are needed"),
        ("analysis.data.points", "duckdb", "no table named cells"),
        ("duckdb", "duckdb", "no table named cells"),
        ("numpy.linalg", "value", None),
    ],
)
def test_what_is_said_to_people_is_a_box_and_a_mistake_keeps_its_traceback(
    monkeypatch, capsys, small_results, module, error, box
):
    monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", str(small_results)])
    shown = AppTest.from_function(_failing, default_timeout=RUN_S, args=(module, error)).run()
    assert [one.value for one in shown.error] == ([box] if box else [])
    assert [one.message for one in shown.exception] == ([] if box else ["two values are needed"])
    if error == "value" and box:  # C functions have no frame: what they raise looks like this project's own words
        assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_no_network_is_said_to_run_once_its_lease_has_ended(page, small_results, monkeypatch):
    # A lease taken between the look at the store's state and the reading of progress, and given back: the state is as before.
    monkeypatch.setattr("app.shared.state", lambda results: "as before")
    with Lease(Store(small_results)) as lease:
        lease.update([f"{0:020x}"])
        lease.beat()  # now, not in the thread that writes soon
        shown = page("home", small_results)
        assert "1 network is being trained" in said(shown)
    assert "being trained" not in said(shown.run())


def test_home_counts_what_is_done_failed_running_and_not_yet(page, small_results):
    with Lease(Store(small_results)) as lease:
        lease.update([f"{0:020x}"])
        lease.beat()  # now, not in the thread that writes soon
        shown = page("home", small_results)
    bar = next(html.proto.body for html in shown.get("html"))
    assert "16 done" in bar and "1 failed" in bar and "1 running" in bar and "2 not yet" in bar
    assert "80.0% of 20" in shown.markdown[0].value
    assert "networks per minute, about" in said(shown)
    assert "1 network is being trained" in said(shown)
    assert "1 of tiny diverged or failed" in shown.expander[0].label
    assert any("--retry-failed" in text.value for text in shown.markdown)
    assert len(shown.get("vega_lite_chart")) == 1
    assert "failed at step 0" in shown.get("html")[1].proto.body
    assert "traceback" not in said(shown).lower()


def test_home_says_once_that_statements_are_still_to_be_checked(page, tmp_path, monkeypatch):
    from app.parts import headlines

    monkeypatch.setattr(headlines, "checked", lambda results, may_start: ([], "9 statements still to be checked"))
    store = Store(str(tmp_path))
    store.commit("one", rows(0, 2))
    for i in range(2):
        store.write_plan(f"sweep{i}", [f"{i:020x}"], whole=True)
    shown = page("home", tmp_path)
    assert said(shown).count("9 statements still to be checked") == 1 and "Verdicts" not in said(shown)


@pytest.mark.parametrize("to_come", ["", "9 statements still to be checked"])
def test_home_counts_verdicts_so_far_while_others_are_to_come(page, small_results, monkeypatch, to_come):
    from app.parts import headlines

    found = [judged("eq3-L4")._replace(sweeps=("tiny",))]
    monkeypatch.setattr(headlines, "checked", lambda results, may_start: (found, to_come))
    shown = page("home", small_results)
    assert ("about this sweep's networks so far" in said(shown)) == bool(to_come)
    labels = [link.proto.label for link in shown.get("page_link")]
    assert (":gray[✓ 1 confirmed]" if to_come else "✓ 1 confirmed") in labels


@pytest.mark.parametrize("name", ["home", "scaling"])
def test_a_plan_with_a_question_that_is_none_is_left_out_and_told(page, tmp_path, name):
    store = Store(str(tmp_path))
    cells = [row(10 * L + d, L=L, d=d, seed=0) for L in (3, 4) for d in (5, 6)]
    store.commit("one", cells)
    columns = [["odd"] * 4, [one["cell_id"] for one in cells], [START] * 4, [True] * 4]
    table = pa.table(columns, schema=PLAN_SCHEMA).append_column(PLANNED_FIND, [["L >= 3"] * 4])
    store.files.write("plans/other.parquet", parquet_bytes(table))
    shown = page(name, tmp_path)
    told = [one.value for one in shown.warning]
    assert not shown.error
    assert name == "scaling" or told[0].startswith("Not read: `plan of odd`, foreign: 'L >= 3' is no question")


@pytest.mark.parametrize("whole", [True, False])
def test_home_says_that_not_the_whole_grid_was_asked_for(page, tmp_path, whole):
    store = Store(str(tmp_path / "results"))
    store.commit("p", rows(0, 4, seed=0))
    store.write_plan("s", [one["cell_id"] for one in rows(0, 4)], whole)
    assert ("Not its whole grid was asked for" in said(page("home", store.results))) != whole


def test_home_says_what_failed_networks_share(page, tmp_path):
    store = Store(str(tmp_path / "results"))
    lost = [row(10 + i, "failed", L=16, reason="<b>boom", seed=0) for i in range(2)]
    store.commit("p", [*rows(0, 4, seed=0), *lost])
    store.write_plan("s", [one["cell_id"] for one in (*rows(0, 4), *lost)])
    texts = [html.proto.body for html in page("home", store.results).get("html")]
    assert any("2 failed (&lt;b&gt;boom): all 2 have L = 16; no finished network has." in text for text in texts)


@pytest.mark.parametrize("sweep", ["fig1c_1f", "fig1c-1f"])
def test_home_draws_the_figures_that_a_sweep_is_meant_for_once_they_are_asked_for(page, tmp_path, sweep):
    store = Store(str(tmp_path))
    cells = [row(10 * L + seed, L=L, d=8, seed=seed, prefactor="sqrt_d", sigma2=0.0) for L in (3, 4) for seed in (0, 1)]
    store.commit("one", cells)
    for name in (sweep, "before"):  # Home opens with the figure of the first alone
        store.write_plan(name, [cell["cell_id"] for cell in cells], whole=True)
    shown = page("home", tmp_path)
    (fold,) = [one for one in shown.expander if "figure" in one.label]
    assert fold.label == "3 figures of the papers from these networks"  # with that of a finding
    (named,) = [one.value for one in shown.caption if one.value.startswith("Trained for")]
    assert named == (
        "Trained for figure **1c**, Test accuracy against the number of training symbols, lazy to rich, and for 2 other figures: "
        "open one below. This chart is another one."
    )
    assert len(shown.get("vega_lite_chart")) == 2  # the main chart of each sweep
    shown.session_state[f"figures_{sweep}"] = True
    shown.run()
    assert not shown.exception and len(shown.get("vega_lite_chart")) == 3
    assert "[Tong25 Fig. 1c]" in said(shown)
    shown.selectbox(key=f"figure_{sweep}").set_value("1f: Test accuracy against the input dimension, lazy to rich").run()
    assert not shown.exception and "Figure 1f cannot be drawn of these networks yet: no two values of d." in said(shown)


def test_home_opens_with_the_figure_of_the_newest_sweep_which_is_drawn_apart(page, tmp_path, monkeypatch):
    asked, may_draw = [], threading.Event()

    def compute(work):
        asked.append(work.args)
        assert may_draw.wait(60)
        return work()

    monkeypatch.setattr(drawings(str(tmp_path)).apart, "compute", compute)
    store = Store(str(tmp_path))
    cells = [row(10 * L + seed, L=L, d=8, seed=seed, prefactor="sqrt_d", sigma2=0.0) for L in (3, 4) for seed in (0, 1)]
    store.commit("one", cells)
    store.write_plan("fig1c_1f", [cell["cell_id"] for cell in cells], whole=True)
    shown = page("home", tmp_path)
    assert "Drawing the figure" in said(shown) and len(shown.get("vega_lite_chart")) == 1
    may_draw.set()
    assert drawings(str(tmp_path)).newest["1c", "fig1c_1f"][1].exception(60) is None
    shown.run()
    assert not shown.exception and len(shown.get("vega_lite_chart")) == 2 and "[Tong25 Fig. 1c]" in said(shown)
    assert asked == [(str(tmp_path), "1c", "fig1c_1f")]  # once: nothing has changed


def test_the_map_of_networks_opens_on_sizes_rather_than_on_how_networks_are_evaluated(page, tmp_path):
    """It once opened on `eval_at` and the momentum: keys of one task or training came first."""
    store = Store(str(tmp_path))
    own = {"steps": 100, "eval_every": 10}
    cells = [row(i, L=3 + i % 3, P=8 << (i % 4), seed=0, **{key: n * (1 + i) for key, n in own.items()}) for i in range(12)]
    evaluated = [row(20 + i, L=3, P=8, seed=0, eval_at=text, patches=1) for i, text in enumerate(("even", "log 4"))]
    store.commit("one", [*cells, *evaluated], OWN_KEYS)
    store.write_plan("s", [one["cell_id"] for one in (*cells, *evaluated)], whole=True)
    shown = page("home", tmp_path, there="true")
    assert (values(shown)["Across"], values(shown)["Down"]) == ("P", "L")


def test_home_of_many_sweeps(page, tmp_path):
    store = Store(str(tmp_path))
    store.commit("one", rows(0, 30))
    for i in range(30):
        store.write_plan(f"sweep{i}", [f"{i:020x}", f"{i + 1000:020x}"], whole=True)
    shown = page("home", tmp_path)
    assert sum("50.0% of 2" in text.value for text in shown.markdown) == 3  # the others are a line each
    assert sum("50% of 2" in fold.label for fold in shown.expander) == N_LINES
    assert "27 earlier sweeps" in [one.value for one in shown.subheader]
    [every] = [one for one in shown.toggle if one.label == f"Show the other {27 - N_LINES}"]
    assert sum("50% of 2" in fold.label for fold in every.set_value(True).run().expander) == 27
    shown = page("home", tmp_path, sweep="sweep7")
    assert next(text.value for text in shown.markdown if "50.0% of 2" in text.value).startswith("**sweep7**")
    assert not shown.warning
    assert [one.value for one in page("home", tmp_path, sweep="sweeep7").warning] == [
        "No sweep `sweeep7` here; did you mean 'sweep7'?"
    ]


def test_home_shows_notes_and_grids_and_finds_sweeps_by_their_words(page, tmp_path):
    store = Store(str(tmp_path))
    for i, name in enumerate(["alpha", "beta", "gamma", "delta"]):
        store.commit(name, rows(10 * i, 2))
        asked = Asked(f"grids: [] # of {name}", f"sweep run {name}.yaml d=8")
        store.write_plan(name, [f"{10 * i + j:020x}" for j in range(3)], whole=True, grid=asked)
    tell(store.files, "beta", "a <pilot> run", ["low", "d"])
    home = page("home", tmp_path)
    assert "#low #d a &lt;pilot&gt; run" in " ".join(one.body for one in home.get("html"))
    asked = command("run", "beta.yaml", "d=8", "--results", str(tmp_path))
    assert f"1 not trained yet. `{asked}` again trains only those." in [caption.value for caption in home.caption]
    for words, there in (("PILOT low", ["beta"]), ("of delta", ["delta"]), ("alpha", ["alpha"]), ("nowhere", [])):
        found = page("home", tmp_path, find=words)
        shown = [text.value for text in found.markdown if text.value.startswith("**")]
        assert [name for name in ("alpha", "beta", "gamma", "delta") if any(f"**{name}**" in text for text in shown)] == there
        assert any("No sweep has these words" in caption.value for caption in found.caption) == (not there)


def test_curves_of_many_sweeps_opens_on_the_newest(page, tmp_path):
    store = Store(str(tmp_path))
    store.commit("one", [row(i, minute=i, L=3 + i % 2, seed=0, d=8 if i < 2 else 16) for i in range(4)])
    for name, cells in (("z-old", (0, 1)), ("a-new", (2, 3))):
        store.write_plan(name, [f"{cell:020x}" for cell in cells], whole=True)
    assert values(page("curves", tmp_path))["Sweep"] == "a-new"
    assert values(page("curves", tmp_path, sweep="(all sweeps)"))["Sweep"] == "(all sweeps)"


def test_curves_shows_accuracy_against_L_by_gamma_beside_theory(page, small_results):
    shown = page("curves", small_results)
    assert values(shown) == {"Sweep": "tiny", "Metric": "best_test_acc", "Across": "L", "Colour": "gamma_label",
                             "Panels": "(none)", "Centre": "mean"}  # fmt: skip
    table = shown.dataframe[0].value
    assert list(zip(table.L, table.gamma_label, table.n, strict=True)) == [
        (3, "lazy", 4),
        (3, "1", 4),
        (4, "lazy", 4),
        (4, "1", 4),
    ]
    assert table["Eq. 3"].notna().sum() == 2
    assert "mean over 4 seeds per point with its 95% interval; 16 networks" in said(shown)


def test_a_link_reproduces_the_view(page, small_results):
    shown = page("curves", small_results, measure="last test accuracy", colour="(none)", at_gamma_label="1", centre="median",
                 theory="false", log_L="true")  # fmt: skip
    assert values(shown)["Metric"] == "final_test_acc" and values(shown)["gamma"] == "1"
    table = shown.dataframe[0].value
    assert "gamma_label" not in table and "final" not in table
    assert list(table.n) == [4, 4]
    assert "gamma = 1; median over 4 seeds" in said(shown)
    assert "no interval where there are fewer than six seeds" in said(shown)
    assert shown.toggle(key="log_L").value and not shown.toggle(key="theory").value


def test_switches_that_draw_nothing_are_told(page, small_results):
    """Theory and Residuals were on where no theory applies, and nothing said so."""
    assert "No theory is known" not in said(page("curves", small_results))
    shown = page("curves", small_results, measure="last training accuracy")
    assert "so that **Theory** and **Residuals** draw nothing." in said(shown)
    shown.toggle(key="theory").set_value(False).run()
    assert "so that **Residuals** draws nothing." in said(shown)
    shown.toggle(key="residuals").set_value(False).run()
    assert "No theory is known" not in said(shown)


def test_a_link_with_unknown_values_shows_the_usual_view(page, small_results):
    shown = page("curves", small_results, measure="nonsense", colour="(none)", at_gamma_label="7")
    assert values(shown)["Metric"] == "best_test_acc" and values(shown)["gamma"] in ("1", "lazy")
    assert [one.value.split(" here")[0] for one in shown.warning] == ["No metric `nonsense`", "No gamma `7`"]


def test_a_link_that_names_no_control_of_the_page_says_so(page, small_results):
    shown = page("curves", small_results, color="d")
    [told] = [one.value for one in shown.warning]
    assert told == "The link names `color`, which this page does not have; did you mean 'colour'?"
    shown.selectbox(key="measure").set_value("final_test_acc").run()
    assert len(shown.warning) == 1  # until the page is left


@pytest.mark.parametrize(
    ("name", "link", "there"),
    [("curves", "across", "x"), ("structure", "L", "at_L"), ("structure", "gamma", "at_gamma_label"),
     ("curves", "Metric", "measure"), ("networks", "L", "only_L"), ("sql", "query", "sql")],
)  # fmt: skip
def test_a_link_that_names_a_control_by_its_label_is_told_the_name_in_links(page, small_results, name, link, there):
    """The page once said that it does not have what the reader sees on it."""
    [told] = [one.value for one in page(name, small_results, **{link: "99"}).warning]
    assert told == f"The link names `{link}`, which in a link is `{there}`."


@pytest.mark.parametrize("link", ["L", "at_L", "gamma", "at_gamma_label"])
def test_a_link_that_names_a_value_of_an_axis_is_told_that_all_are_shown(page, small_results, link):
    [told] = [one.value for one in page("curves", small_results, **{link: "99"}).warning]
    assert told == f"The link names `{link}`, of which this chart shows all values: it tells its points, colours or panels apart."


@pytest.mark.parametrize("name", ["home", "claims", "specialisation", "sql"])
def test_a_control_that_no_page_has_is_told_of(page, small_results, name):
    shown = page(name, small_results, nonsense="1")
    assert "The link names `nonsense`, which this page does not have." in [one.value for one in shown.warning]


def test_a_link_to_an_unknown_sweep_says_so_and_names_the_nearest(page, small_results):
    shown = page("curves", small_results, sweep="tinny")
    assert shown.warning[0].value == "No sweep `tinny` here; did you mean 'tiny'? This page shows `tiny` instead."
    shown.run()
    assert shown.warning  # until another is chosen
    shown.selectbox(key="sweep").set_value("(all sweeps)").run()
    assert not shown.warning


def test_pages_without_data_are_named_with_the_grid_that_fills_them(page, small_results):
    shown = page("more", small_results)
    text = "".join(one.value for one in shown.markdown)
    assert "**Dimension**" in text and "**Specialisation**" in text and "**Curves**" not in text
    assert any("overlaps_he3_quick" in one.value for one in shown.code)


def test_colour_none_asks_for_one_gamma_and_never_averages_over_it(page, small_results):
    shown = page("curves", small_results)
    shown.selectbox(key="colour").set_value("(none)").run()
    assert not shown.exception
    assert set(shown.dataframe[0].value.n) == {4}
    shown.selectbox(key="at_gamma_label").set_value("lazy").run()
    assert "gamma = lazy" in said(shown)


def test_a_value_that_goes_with_no_other_moves_the_others(page, tmp_path):
    store = Store(str(tmp_path))
    cells = rows(0, 44)
    for i, cell in enumerate(cells):
        cell["d"], cell["width"] = (64, 16) if i < 11 else (128, 32)
    store.commit("one", cells)
    store.write_plan("two", [cell["cell_id"] for cell in cells], whole=True)
    shown = page("curves", tmp_path, colour="(none)")
    assert (values(shown)["d"], values(shown)["width"]) == ("128", "32")
    shown.selectbox(key="at_width").set_value("16").run()
    assert not shown.exception
    assert (values(shown)["d"], values(shown)["width"]) == ("64", "16")


def test_curves_of_several_networks_open_on_a_key_that_they_have_and_ask_for_no_other(page, tmp_path):
    store = Store(str(tmp_path))
    mlps = [{"network": "mlp", "depth": depth, "gamma": None, "gamma_label": None} for depth in (1, 2, 3)]
    kinds = [{}, {"gamma": 0.1, "gamma_label": "0.1"}, *mlps]
    cells = [row(100 * i + L, L=L, seed=0, **more) for i, more in enumerate(kinds) for L in (3, 4)]
    store.commit("one", cells, [Key("depth", "hidden layers", "whole", "network")])
    store.write_plan("several", [cell["cell_id"] for cell in cells], whole=True)
    shown = page("curves", tmp_path)
    assert [values(shown)[label] for label in ("Across", "Colour", "network")] == ["L", "gamma_label", "relu2"]
    assert "depth" not in values(shown) and len(shown.dataframe[0].value) == 4
    shown.selectbox(key="x").set_value("depth").run()
    assert not shown.exception and not shown.info
    assert "gamma" not in values(shown) and list(shown.dataframe[0].value.depth) == [1, 2, 3]
    shown.selectbox(key="x").set_value("L").run()
    shown.selectbox(key="colour").set_value("network").run()
    assert set(shown.dataframe[0].value.network) == {"mlp", "relu2"}


def test_structure_shows_the_network_of_the_link_and_its_origin(page, small_results):
    from analysis.data.networks.reading import networks
    from analysis.data.selection import Selection

    found = networks(small_results, Selection("tiny"), "neurons")
    setting = found.frame[(found.frame.L == 4) & (found.frame.gamma_label == "lazy")].iloc[0]
    shown = page("structure", small_results, cell=setting.cells[2])
    assert values(shown) == {"Sweep": "tiny", "L": "4", "gamma": "lazy", "seed": "2"}
    assert "one of 4 seeds" in said(shown)
    origin = shown.expander[-1].table[0].value
    assert setting.cells[2] in str(origin) and "abc" in str(origin)


def test_structure_first_shows_a_rich_network(page, small_results):
    shown = page("structure", small_results)
    assert values(shown)["gamma"] == "1"
    assert "[Tong25 Theorem 1]" in str(shown.table[0].value)
    assert "[Tong25 Eq. C.18]" in str(shown.table[0].value)


@pytest.fixture(scope="session")
def pictured(tmp_path_factory):
    return pictured_store(tmp_path_factory.mktemp("pictured"))


def drawn(shown):
    """How many images each chart of the page has, in its order."""
    return [chart.proto.spec.count('"image"') for chart in shown.get("vega_lite_chart")]


def test_structure_shows_what_a_network_sees_and_its_weights_beside_the_lazy_ones(page, pictured):
    shown = page("structure", pictured, at_task="psvrt")
    # No box of alignments where there are no halves, and no columns of theory where there is none.
    assert [one.value for one in shown.subheader] == ["Hidden weights as images", "What it sees", "Training", "Measured"]
    assert not shown.info and "its only seed" in said(shown)
    measured = shown.table[0].value
    assert list(measured.columns) == ["metric", "this network", "mean over seeds"] and "alignment" not in str(measured)
    assert values(shown)["gamma"] == "1" and values(shown)["Beside it, the same network at gamma"] == "lazy"
    assert "the 2 most positive readouts above, the 2 most negative below" in said(shown)
    assert drawn(shown) == [2, 1, 0]
    shown.selectbox(key="beside").set_value("(none)").run()
    assert not shown.exception and drawn(shown) == [1, 1, 0]
    shown.selectbox(key="at_gamma_label").set_value("lazy").run()
    assert not shown.exception and drawn(shown) == [1, 1, 0]  # what was chosen stays chosen
    shown.selectbox(key="beside").set_value("1").run()
    assert not shown.exception and drawn(shown) == [2, 1, 0]


def test_structure_of_a_pair_shows_alignments_first(page, pictured):
    shown = page("structure", pictured, at_task="cifar100")
    heads = ["Hidden weights", "Training", "What it sees", "Hidden weights as images", "Measured"]
    assert [one.value for one in shown.subheader] == heads


def test_weights_that_are_no_picture_are_left_out_with_a_sentence(page, tmp_path):
    store = Store(str(tmp_path))
    of = {"shape": (2, 2000), "pixels": np.ones(4000)}
    seen = {"kind": "example", "same": True, "shape": (2, 2, 3), "pixels": np.ones(12)}
    path = store.write_weights("0" * 20, [{"kind": "weights", "neuron": 0, "readout": 1.0, **of}, seen])
    cell = row(0, task="cifar100", d=None, layer="relu4_3", weights_file=path, neurons=2)
    store.commit("p", [cell], OWN_KEYS)
    store.write_plan("p", [cell["cell_id"]], whole=True)
    shown = page("structure", store.results)
    assert [one.value for one in shown.subheader] == ["Hidden weights", "Training", "What it sees", "Measured"]
    assert "not shown as images: each neuron has 2 x 2,000 numbers" in said(shown)


def test_structure_first_shows_an_image_task_at_its_own_settings_and_names_them(page, tmp_path):
    """Beside networks of symbols, and more of them at what is the paper's width and rate of symbols."""
    store = Store(str(tmp_path / "results"))
    common = {"gamma": 1.0, "gamma_label": "1"}
    sizes = [(2, 512, 0.5, 1), (5, 512, 0.5, 1), (5, 1024, 0.1, 3), (8, 1024, 0.1, 3)]
    rows = [
        row(10 * i + seed, task="psvrt", L=256, d=None, patches=n, patch_size=5, width=width, base_lr=rate, seed=seed, **common)
        for i, (n, width, rate, seeds) in enumerate(sizes) for seed in range(seeds)
    ]  # fmt: skip
    layers = ("id", "relu1_1", "relu4_3")
    rows += [row(100 + i, task="cifar100", L=8, d=None, layer=layer, seed=0, **common) for i, layer in enumerate(layers)]
    rows += [row(150, task="psvrt", L=32, d=None, patches=2, patch_size=5, width=512, base_lr=0.5, seed=0, **common)]
    rows += [row(200 + L, L=L, seed=0, **common) for L in (3, 32)]
    store.commit("p", rows, OWN_KEYS)
    store.write_plan("p", [one["cell_id"] for one in rows], whole=True)
    shown = page("structure", store.results, at_task="psvrt")
    assert "task = psvrt, L = 256, patches = 5, patch_size = 5, gamma = 1, width = 512" in said(shown)
    shown = page("structure", store.results, at_task="cifar100")
    assert "task = cifar100, L = 8, layer = relu4_3" in said(shown)
    assert "task = same_different, L = 32" in said(page("structure", store.results, at_task="same_different"))
    linked = page("structure", store.results, cell_id=next(r["cell_id"] for r in rows if r.get("layer") == "relu1_1"))
    assert "layer = relu1_1" in said(linked)


def test_structure_says_what_saves_weights(page, small_results):
    shown = page("structure", small_results)
    assert "`save: [weights]` in the grid does that" in said(shown)
    assert "Hidden weights as images" not in [one.value for one in shown.subheader]


@pytest.mark.parametrize(
    ("more", "advised"),
    [({"network": "mlp"}, []), ({}, ["[curves, neurons]", "[weights]"]), ({"readout_ratio": 1.5}, ["[weights]"])],
)
def test_structure_advises_to_save_what_a_grid_can_save_of_the_network(page, tmp_path, more, advised):
    store = Store(str(tmp_path))
    store.commit("p", [row(0, **more)])
    store.write_plan("p", ["0" * 20], whole=True)
    shown = page("structure", store.results)
    text = said(shown) + "".join(one.value for one in shown.info)
    assert [saved for saved in ("[curves, neurons]", "[weights]") if f"save: {saved}" in text] == advised
    assert ("Hidden weights" in [one.value for one in shown.subheader]) == ("[curves, neurons]" in advised)


@pytest.mark.parametrize(("more", "log"), [({}, False), ({"eval_at": "even"}, False), ({"eval_at": "log 8"}, True)])
def test_training_is_shown_on_a_log_axis_where_it_was_evaluated_by_decades(page, tmp_path, more, log):
    store = Store(str(tmp_path))
    store.commit("p", [row(0, **more)], OWN_KEYS)
    store.write_plan("p", ["0" * 20], whole=True)
    shown = page("structure", store.results)
    assert [box.value for box in shown.toggle if box.label == "Log step"] == [log]


def test_structure_of_real_targets_says_no_accuracy_and_no_nats(page, tmp_path):
    store = Store(str(tmp_path))
    real = {"curve_train_acc": None, "curve_test_acc": None, "curve_test_mse": [0.9, 0.5, 0.248], "network": "mlp"}
    store.commit("p", [row(0, task="he3", best_test_acc=None, final_train_loss=0.248, **real)])
    store.write_plan("p", ["0" * 20], whole=True)
    shown = page("structure", store.results)
    assert "this seed; the loss is a mean since" in said(shown)
    assert "nats" not in str(shown.table[0].value) + said(shown)


def test_a_damaged_file_of_weights_is_an_error_on_the_page(page, tmp_path):
    results = pictured_store(tmp_path, only=[("psvrt", "1")])
    (entry,) = Store(results).files.entries("weights")
    Store(results).files.write(entry.path, b"PAR1")
    shown = page("structure", results)
    assert "cannot be read: torn or flipped bits" in shown.error[0].value and "run the sweep again" in shown.error[0].value
    # The rest of the page is there.
    assert [one.value for one in shown.subheader] == ["Hidden weights as images", "Training", "Measured"]
    assert shown.expander[-1].label == "Where it comes from" and shown.expander[-1].table


def test_a_lost_file_of_the_network_beside_leaves_the_chosen_one(page, tmp_path):
    results = pictured_store(tmp_path, only=[("psvrt", "1"), ("psvrt", "lazy")])
    store = Store(results)
    ((path,),) = fetch(results, "SELECT weights_file FROM internal.weights JOIN cells USING (cell_id) WHERE gamma_label = 'lazy'")
    store.files.delete(path)
    shown = page("structure", results, at_gamma_label="1")
    assert f"{path} are gone; run the sweep again" in shown.error[0].value
    assert drawn(shown) == [1, 1, 0] and shown.subheader[-1].value == "Measured"


def test_structure_of_a_network_that_is_not_there(page, small_results):
    for link in ("cell", "cell_id"):
        assert "No network `nowhere` in these results" in page("structure", small_results, **{link: "nowhere"}).warning[0].value


def test_sql_answers_and_shows_errors_in_the_words_of_duckdb(page, small_results):
    shown = page("sql", small_results, sql="SELECT count(*) AS n FROM cells WHERE status = 'ok'")
    assert list(shown.dataframe[0].value.n) == [16]
    shown.text_area[0].set_value("SELECT nothing FROM cells").run()
    assert 'Referenced column "nothing" not found' in shown.error[0].value
    shown.text_area[0].set_value("DROP VIEW cells").run()
    assert "reads results only" in shown.error[0].value


def test_sql_examples_can_be_clicked(page, small_results):
    shown = page("sql", small_results)
    shown.button[1].click().run()
    assert not shown.error and "status <> 'ok'" in shown.text_area[0].value


def test_sql_stops_what_needs_too_much_memory_and_cuts_long_values(page, small_results, caplog):
    shown = page("sql", small_results, sql="SELECT list(range) FROM range(500000000)")
    assert "more than 1 GB: ask for less" in shown.error[0].value or "stopped after 10 s" in shown.error[0].value
    shown.text_area[0].set_value(
        "SELECT 1 AS a, 2 AS a, repeat('x', 2000) AS x, [1] AS l, {'a': now()} AS s, sum(L) AS n FROM cells"
    ).run()
    assert not shown.error and not shown.exception
    assert "1 row, values cut to 1,000 characters" in said(shown)
    assert "unsuccessful" not in caplog.text


def test_sql_says_when_rows_are_left_out(page, small_results):
    shown = page("sql", small_results, sql="FROM range(5000)")
    assert len(shown.dataframe[0].value) == 1000
    assert "the first 1,000 rows" in said(shown)


def test_tiny_values_are_shown_with_their_digits(page, tmp_path):
    """The table has losses of 1e-13 to four digits, and a slider has such a level as a power of ten."""
    store = Store(str(tmp_path))
    keys = [(L, d, seed) for L in (2, 4, 8, 16) for d in (8, 16, 32) for seed in range(3)]
    rows = [row(i, L=L, d=d, seed=seed, final_train_loss=1e-13 * d / L * (1 + 0.1 * seed)) for i, (L, d, seed) in enumerate(keys)]
    store.commit("p", rows)
    store.write_plan("tiny", [one["cell_id"] for one in rows], whole=True)
    shown = page("curves", store.results, measure="last training accuracy")
    formats = json.loads(shown.dataframe[0].proto.columns)
    assert formats["mean"]["type_config"]["format"] == "%.4g" and "L" not in formats
    assert [format_of(step) for step in (0.01, 0.05, 1, 1e-15)] == ["%.2f", "%.2f", "%.0f", "%.2e"]
