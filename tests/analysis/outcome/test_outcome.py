"""The table at the end of a sweep: rich networks beside what theory says of them."""

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console
from sweepkit.studies.tong25.theory.rich import test_accuracy as eq3

from analysis.data.measures import MEASURES, last_of
from analysis.outcome import __main__ as outcome
from analysis.outcome import kept
from analysis.outcome.attained import attaining
from analysis.outcome.configurations import means_of
from orchestrator.running.outcome_table import print_outcome
from sweepkit.store.leases import Lease
from sweepkit.store.searches import Question
from sweepkit.store.store import Store
from tests.store_rows import OWN_KEYS, keys, row
from trainables.metrics import requested_metric


def text(frame, width=200, terminal=False):
    shown = io.StringIO()
    answer = {"theory": outcome.records(frame), "tables": []}
    print_outcome(answer, Console(width=width, file=shown, force_terminal=terminal, color_system=None))
    return shown.getvalue()


def test_rich_networks_beside_eq3_and_bayes(measured):
    frame = attaining(measured, "measured")
    assert set(frame["theory"]) == {"Eq. 3", "Bayes, generalising"}
    noiseless = frame[frame["theory"] == "Eq. 3"]
    assert list(noiseless["expected"]) == pytest.approx([float(eq3(n)) for n in noiseless["L"]])
    assert (abs(noiseless["difference"]) < 0.01).all() and (frame["n"] == 6).all()
    assert list(frame["last"]) == pytest.approx(list(frame["mean"] - 0.01), abs=1e-9)
    shown = text(frame)
    assert "Bayes, generalising" in shown and "sigma2" in shown


def test_one_theory_heads_its_own_column(measured):
    frame = attaining(measured, "measured").query("theory == 'Eq. 3'")
    shown = text(frame)
    assert "beside Eq. 3 [Tong25]" in shown and "expected" not in shown


@pytest.mark.parametrize(
    ("other", "values"), [({"eval_every": 25}, {1000, 25}), ({"base_lr": 0.05}, {0.1, 0.05}), ({"dtype": "float64"}, None)]
)
def test_networks_that_differ_in_more_than_their_seed_are_told_apart(tmp_path, other, values):
    common = {"sigma2": 0.0, "prefactor": "sqrt_d", "eval_every": 1000, "base_lr": 0.1, "dtype": "float32", "final_test_acc": 0.9}
    rows = [row(i, L=3, seed=i % 3, best_test_acc=0.9 + i / 1000, **(common | (other if i >= 3 else {}))) for i in range(6)]
    store = Store(str(tmp_path))
    store.prepare()
    store.commit("p", rows)
    store.write_plan("s", [r["cell_id"] for r in rows], whole=True)
    frame = attaining(store.results, "s")
    (key,) = other
    assert list(frame["n"]) == [3, 3] and set(frame[key]) == (values or {"float32", "float64"})
    assert key in text(frame)


def test_networks_under_another_loss_are_not_set_beside_eq3(tmp_path):
    common = {"sigma2": 0.0, "prefactor": "sqrt_d", "base_lr": 0.1, "final_test_acc": 0.9, "loss": None}
    rows = [
        row(i, L=3, seed=i % 3, best_test_acc=0.9 + i / 1000, **(common | ({"loss": "mse"} if i >= 3 else {}))) for i in range(6)
    ]
    store = Store(str(tmp_path))
    store.prepare()
    store.commit("p", rows)
    store.write_plan("s", [r["cell_id"] for r in rows], whole=True)
    frame = attaining(store.results, "s")
    assert list(frame["n"]) == [3] and frame["mean"].iloc[0] == pytest.approx(0.901)
    assert "loss" not in text(frame) and "nan" not in text(frame)


def test_keys_that_only_diverged_networks_have(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    same = [row(i, L=3, seed=i % 2, base_lr=0.1 * (1 + i // 2), best_test_acc=0.9, final_test_acc=0.8) for i in range(4)]
    other = [row(i, "diverged", task="step", network="mlp", layer="deep", L=None, best_test_acc=None) for i in (4, 5)]
    store.commit("p", same + other, OWN_KEYS)
    store.write_plan("s", [r["cell_id"] for r in same + other], whole=True)
    frame = means_of(store.results, "s", "best_test_acc", ["task", "layer", "base_lr"]).frame
    assert sorted(frame["n"]) == [0, 2, 2]
    assert list(frame.sort_values("n")["last"].fillna(-1)) == pytest.approx([-1, 0.8, 0.8])


def test_a_key_that_no_row_has_is_no_column(measured):
    frame = attaining(measured, "measured").assign(n=lambda f: f["n"])
    frame.insert(0, "loss", None)
    assert "loss" not in text(frame)


def test_nothing_to_say(measured, tmp_path):
    assert attaining(measured, "other").empty
    store = Store(str(tmp_path))
    store.prepare()
    store.commit("p", [row(i, task="parity", L=None, gamma=1.0, seed=i) for i in range(2)])
    store.write_plan("s", ["0" * 20])
    assert attaining(store.results, "s").empty


def test_a_narrow_terminal_and_a_pipe_lose_no_number(measured):
    frame = attaining(measured, "measured")
    assert "…" not in text(frame, 80) and "95% interval" in text(frame, 80)
    narrow = text(frame, 80, terminal=True)
    assert "…" not in narrow and "95% interval" not in narrow and "difference" in narrow


def test_the_command_prints_the_records_as_json_and_nothing_else(measured, capsys):
    done = subprocess.run(
        [sys.executable, "-m", "analysis.outcome", "--sweep", "measured", "--results", measured],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    told = json.loads(done.stdout)["theory"]
    frame = attaining(measured, "measured")
    assert [one["n"] for one in told] == frame["n"].tolist() and list(told[0]) == list(frame)
    by_command, by_frame = io.StringIO(), text(frame)
    print_outcome(json.loads(done.stdout), Console(width=200, file=by_command, color_system=None))
    assert by_command.getvalue() == by_frame
    assert outcome.main(["--sweep", "other", "--results", measured]) == 0
    assert json.loads(capsys.readouterr().out) == {"keys": [], "theory": [], "tables": [], "figures": [], "pages": []}


def test_a_number_that_is_not_there_is_null_and_shown_as_before(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    keys = {"L": 3, "sigma2": 0.0, "prefactor": "sqrt_d", "eval_every": 1000, "base_lr": 0.1, "dtype": "float32"}
    store.commit("p", [row(1, seed=0, best_test_acc=0.9, final_test_acc=0.9, **keys)])
    store.write_plan("s", [f"{1:020x}"])
    answer = outcome.outcome(store.results, "s", ["best_test_acc"])
    (told,) = answer["theory"]
    assert answer["tables"] == []  # beside the theory is enough
    assert told["low"] is None and told["last"] == 0.9 and told["n"] == 1
    shown = io.StringIO()
    print_outcome(answer, Console(width=200, file=shown, color_system=None))
    assert shown.getvalue() == text(attaining(store.results, "s")) and "one seed" in shown.getvalue()


def test_the_figure_of_thresholds_and_the_pages_that_suit_are_named(tmp_path):
    store = Store(str(tmp_path))
    levels = {3: 0.6, 6: 0.8, 12: 0.95}
    of = {"prefactor": "sqrt_d", "sigma2": 0.0, "base_lr": 0.1, "seed": 0, "final_test_acc": 0.5}
    cells = [row(100 * d + L, L=L, d=d, best_test_acc=acc, **of) for d in (64, 128) for L, acc in levels.items()]
    strings = [row(9000 + P, task="template", L=None, P=P, seed=0) for P in (8, 16)]
    store.commit("p", [*cells, *strings], keys(P="whole"))
    ids, question = [one["cell_id"] for one in cells], Question("L", "best_test_acc", 0.9)
    store.write_plan("searched", ids, asked=dict.fromkeys(ids, question))
    store.write_plan("plain", ids)
    store.write_plan("strings", [one["cell_id"] for one in strings])
    shown = {sweep: outcome.outcome(store.results, sweep, ["best_test_acc"]) for sweep in ("searched", "plain", "strings")}
    assert [one["figures"] for one in shown.values()] == [["Lstar"], [], []]
    assert [one["pages"] for one in shown.values()] == [["dimension", "scaling"]] * 2 + [["relations"]]


def test_the_figure_meant_for_a_sweep_and_the_metric_that_its_grid_asks_for(tmp_path):
    store = Store(str(tmp_path))
    common = {"L": 3, "sigma2": 0.0, "prefactor": "sqrt_d", "eval_every": 500, "dtype": "float32", "final_test_acc": 0.9}
    rates = (0.1, 0.1, 0.05, 0.05)
    rows = [row(i, seed=i % 2, base_lr=rate, best_test_acc=0.9, balance_drift=rate, **common) for i, rate in enumerate(rates)]
    store.commit("p", rows, [requested_metric("balance_drift").metric])
    store.write_plan("balance-quick", [one["cell_id"] for one in rows])
    answer = outcome.outcome(store.results, "balance-quick", ["best_test_acc", "balance_drift", "sharpness"])
    assert answer["figures"] == ["Balance"] and answer["theory"]
    (drift,) = answer["tables"]  # accuracies are beside the theory, and no network has a sharpness
    assert [(one["base_lr"], one["mean"]) for one in drift["rows"]] == [(0.05, 0.05), (0.1, 0.1)]
    shown = io.StringIO()
    print_outcome(answer, Console(width=200, file=shown, color_system=None))
    assert "Largest drift of a neuron's balance of weights, mean over n seeds" in shown.getvalue()


def test_failed_networks_are_counted_beside_those_that_finished(tmp_path):
    store = Store(str(tmp_path))
    rows = [row(i, "ok" if i in (0, 4, 5) else "failed", L=3 + i // 4, seed=i, task="parity") for i in range(6)]
    store.commit("p", rows)
    store.write_plan("s", [one["cell_id"] for one in rows])
    answer = outcome.outcome(store.results, "s", ["best_test_acc"])
    ((few, all_of_them),) = [one["rows"] for one in answer["tables"]]
    assert (few["n"], few["failed"], all_of_them["n"], all_of_them["failed"]) == (1, 3, 2, 0)
    shown = io.StringIO()
    print_outcome(answer, Console(width=200, file=shown, color_system=None))
    assert "failed" in shown.getvalue() and "diverged" not in shown.getvalue() and "nan" not in shown.getvalue()


def test_small_means_show_three_significant_digits_one_below_the_other():
    one = {"d": 4, "n": 2, "low": None, "high": None, "last": None, "diverged": 0, "failed": 0}
    rows = [{**one, "mean": mean} for mean in (0.003, 0.5, 1.2e-5)]
    for is_accuracy, means in ((True, ["0.00300", "0.500", "1.20e-05"]), (False, ["0.00300", "0.500", "1.20e-05"])):
        table = {"measure": "m", "title": "share", "is_accuracy": is_accuracy, "n_rows": 3, "rows": rows}
        shown = io.StringIO()
        print_outcome({"theory": [], "tables": [table]}, Console(width=100, file=shown, color_system=None))
        found = [line for line in shown.getvalue().splitlines() if any(mean in line.split() for mean in means)]
        assert [mean for line in found for mean in line.split() if mean in means] == means
        assert len({line.index(mean) + len(mean) for line, mean in zip(found, means, strict=True)}) == 1  # right-aligned


def test_the_loss_that_rows_leave_out_is_named(tmp_path):
    """Rows hold the loss only where it is not the default of their task: beside mse, the default is cross_entropy."""
    store = Store(str(tmp_path))
    store.prepare()
    store.commit("p", [row(i, seed=i % 2, loss="mse" if i < 2 else None) for i in range(4)])
    store.write_plan("s", [f"{i:020x}" for i in range(4)])
    _, frame = means_of(store.results, "s", "best_test_acc", ["loss"])
    assert {*frame["loss"]} == {"cross_entropy", "mse"}
    store.commit("q", [row(4, seed=0, task="parity", L=None)])  # nothing says which loss that is
    store.write_plan("t", [f"{i:020x}" for i in range(5)])
    _, frame = means_of(store.results, "t", "best_test_acc", ["task", "loss"])
    assert {*frame["loss"]} == {"cross_entropy", "mse", "the task's own"}


def test_the_last_evaluation_of_a_best_metric():
    assert last_of("best_test_acc", MEASURES) == "final_test_acc"
    assert last_of("best_test_acc", ["best_test_acc"]) is None  # no network has it
    assert last_of("test_mse", MEASURES) is None and last_of("final_test_acc", MEASURES) is None


def test_an_answer_is_kept_until_the_store_changes(tmp_path, monkeypatch, capsys):
    """A finished sweep that is run again is answered by the last answer; new rows, or another question, make another."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store, computed = Store(str(tmp_path / "results")), []
    store.commit("p", [row(0, seed=0), row(1, seed=1)])
    store.write_plan("s", [f"{i:020x}" for i in range(3)], whole=True)
    monkeypatch.setattr(outcome, "outcome", lambda *question: computed.append(question) or {"tables": len(computed)})

    def told(*words):
        assert outcome.main(["--sweep", "s", "--results", store.results, *words]) == 0
        return json.loads(capsys.readouterr().out)["tables"]

    assert [told(), told(), told("--measure", "test_mse"), told()] == [1, 1, 2, 3]  # the last answer alone is kept
    store.commit("q", [row(2, seed=0)])
    assert [told(), told()] == [4, 4]
    (file,) = (tmp_path / "cache").rglob("outcomes/*")
    file.write_text("{")
    assert told() == 5
    with Lease(store):  # the sweep that asks while Ray closes
        assert told() == 5
    monkeypatch.setattr(outcome, "outcome", lambda *question: {"tables": 7, "waits": True})
    store.commit("r", [row(3, seed=0)])
    assert told() == 7  # without theory that is not computed yet: not kept
    monkeypatch.setattr(outcome, "outcome", lambda *question: {"tables": 8})
    assert told() == 8


def test_a_file_that_an_editor_replaces_costs_no_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    study = tmp_path / "law"
    study.mkdir()
    (study / ".#study.py").symlink_to("nobody@nowhere.1")  # the lock of Emacs
    monkeypatch.setattr("analysis.outcome.kept.folders", lambda: {"law": study})
    store = Store(str(tmp_path / "results"))
    store.commit("p", [row(0)])
    assert kept.asked(store.results, "s", []).name
    (study / "gone.py").symlink_to("nowhere")
    question = kept.asked(store.results, "s", [])
    question.keep("{}")
    assert question.recall() is None


def test_a_network_that_diverged_or_failed_stands_in_the_table_of_its_task_alone(tmp_path):
    """Tables of two tasks counted each of them twice."""
    store = Store(str(tmp_path))
    of = {"clusters": {"best_test_acc": 0.9}, "hermite": {"best_test_acc": None, "test_mse": 0.5}}
    rows = []
    for k, (task, values) in enumerate(of.items()):
        there = {"task": task, "seed": 0}
        rows += [row(10 * k, L=2, **there, **values), row(10 * k + 1, "diverged", L=3, **there, best_test_acc=None)]
    store.commit("p", rows)
    lost = [row(100 + k, "failed", L=2, task=task, seed=1, best_test_acc=None) for k, task in enumerate(of)]
    store.commit("f", lost, failed=True)
    store.write_plan("s", [one["cell_id"] for one in [*rows, *lost]], whole=True)
    tables = outcome.outcome(store.results, "s", ["best_test_acc", "test_mse"])["tables"]
    counts = [[(one["n"], one["diverged"], one["failed"]) for one in table["rows"]] for table in tables]
    assert counts == [[(1, 0, 1), (0, 1, 0)]] * 2
