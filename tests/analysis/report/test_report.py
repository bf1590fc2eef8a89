"""The report: one file that needs nothing else, with every figure and claim, or what to run for it."""

import base64
import errno
import io
import math
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from analysis.claims.check import load_claims
from analysis.data.choosing import main_measures
from analysis.data.selection import Selection
from analysis.figures.registry import FIGURES
from analysis.report.__main__ import app
from analysis.report.facts import origins
from analysis.report.table import MOST_ROWS
from sweepkit.store.store import Store
from tests.store_rows import keys, row

DRAWN = 14
"""Figures of which the made store has networks."""


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    from tests.measured_store import measured_store

    folder = tmp_path_factory.mktemp("report")
    done = CliRunner().invoke(app, ["--results", measured_store(folder), "--out", str(folder / "r.html"), "--no-wait", "-q"])
    assert done.exit_code == 0, done.output
    return (folder / "r.html").read_text()


def test_it_needs_no_network(html):
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", html)
    assert "@import" not in html and "url(http" not in html


def test_every_figure_is_there_or_says_what_to_run(html):
    drawn, folded = html.split('<details id="figures-without">')
    for name in FIGURES:
        if f'<h3 id="fig-{name}">' in drawn:
            assert re.search("<svg|<img", drawn.split(f'<h3 id="fig-{name}">')[1].split("<h3 ")[0]), name
        else:
            entry = folded.split(f'<li id="fig-{name}">')[1].split("</li>")[0]
            assert "no data" in entry and "python -m orchestrator.sweep" in entry, name
    assert len(re.findall('<h3 id="fig-', drawn)) == DRAWN


def test_every_claim_has_a_verdict_and_those_without_data_are_folded(html):
    shown, folded = html.split('<details id="claims-without">')
    folded = folded.split("</details>")[0]
    for claim in load_claims():
        if f'<tr id="claim-{claim.id}">' in shown:
            row = shown.split(f'<tr id="claim-{claim.id}">')[1].split("</tr>")[0]
            assert re.search("confirmed|contradicted|open|not reproduced|in part|identity|needs files", row.split("</td>")[0]), (
                claim.id
            )
        else:
            row = folded.split(f'<li id="claim-{claim.id}">')[1].split("</li>")[0]
            assert bool(re.search("not measured, |formulas lost, ", row)) == bool(claim.not_measured), claim.id
        assert "open" not in row or claim.grid is None or claim.grid in row, claim.id
        assert "None" not in row, claim.id
    assert f"{folded.count('<li ')} claims of the papers have no data here" in folded


def test_a_statement_stands_above_its_instances_with_where_it_holds(html):
    heads = html.split('<tr class="statement">')[1:]
    assert heads
    for head in heads:
        row, after = head.split("</tr>", 1)
        n, first = int(re.search(r"; (\d+) instances</span>", row)[1]), after.split('<tr class="statement">')[0]
        assert n > 1 and first.lstrip().startswith('<tr id="claim-') and first.count('<tr id="claim-') >= n
        assert ("in part" in row.split("</td>")[0]) <= ("confirmed at " in row)
    assert re.search(r", \d+% of the tolerance away", html)


def test_own_results_come_first(html):
    own, papers = html.index('<section id="sweep-measured">'), html.index('<h2 id="claims">')
    assert own < html.index("<svg") < papers
    section = html[own : html.index("</section>")]
    assert "Best test accuracy against" in section and "Test accuracy along training" in section
    assert "1 diverged" in section and "1 not yet trained" in section
    assert "is not trained again" in section  # what to do about the diverged one


def test_the_table_holds_means_and_intervals_and_its_csv_every_row(html, measured):
    from analysis.data.points import points
    from analysis.data.selection import Selection

    table = html.split("of the papers")[0].split("<summary>Table: ")[1].split("</details>")[0]
    frame = points(measured, Selection("measured")).frame
    assert table.startswith(f"best test accuracy of {len(frame)} configurations")
    data = base64.b64decode(table.split('href="data:text/csv;base64,')[1].split('"')[0]).decode()
    found = pd.read_csv(io.StringIO(data))
    assert sorted(found["mean"]) == pytest.approx(sorted(frame["mean"]), rel=1e-6)  # seven digits
    assert table.count("<tr>") - 1 == min(len(frame), MOST_ROWS)
    first = found.iloc[0]
    assert f"{first['low']:.3f} to {first['high']:.3f}" in table and "Eq. 3" in table


def test_what_was_run_and_by_what(html):
    assert "measured" in html and "diverged at step 1000000" in html
    assert "duckdb" in html and "processors" in html


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--results", "{tmp}/none"], "no results directory"),
        (["--out", "{tmp}"], "is a directory"),
        (["--out", "{tmp}/no/such/r.html"], "no directory"),
        (["--out", "{tmp}/" + 300 * "r"], "File name too long"),
        (["--out", "{tmp}/" + 250 * "r"], "File name too long"),
        (["--out", "/proc/r.html"], "cannot write in /proc: name another file with --out"),
    ],
)
def test_bad_input(tmp_path, monkeypatch, args, words):
    if "--out" in args:
        monkeypatch.setattr("analysis.report.build.build", lambda *arguments: pytest.fail("the work was begun"))
    done = CliRunner().invoke(app, [a.format(tmp=tmp_path) for a in args])
    assert done.exit_code == 2 and words in done.stderr.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_full_leaves_the_last_report_as_it_was(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    (out := tmp_path / "r.html").write_text("the last one")
    monkeypatch.setattr("analysis.report.build.build", lambda *arguments: "<p>")
    monkeypatch.setattr("os.replace", full)
    done = CliRunner().invoke(app, ["--out", str(out), "-q"])
    assert done.exit_code == 2 and "r.html: cannot be written (No space left on device)" in done.stderr.replace("\n", "")
    assert out.read_text() == "the last one" and list(tmp_path.iterdir()) == [out]


@pytest.fixture(scope="module")
def two_sweeps(tmp_path_factory):
    """A user's own task in sweep `mine`, whose parameter is `hops`, and a sweep `other`."""
    store = Store(str(tmp_path_factory.mktemp("two") / "results"))
    store.prepare()
    mine = [
        row(100 * hops + 10 * i + seed, task="maze", L=None, hops=hops, gamma=gamma, gamma_label=label, seed=seed,
            best_test_acc=0.5 + 0.01 * hops + 0.001 * seed)
        for hops in (1, 2, 4) for i, (gamma, label) in enumerate([(1.0, "1"), (0.1, "0.1")]) for seed in range(3)
    ]  # fmt: skip
    of = {"task": "maze", "L": None, "hops": 8, "gamma": 1.0, "gamma_label": "1", "reason": "CUDA out of memory"}
    lost = [row(5000 + seed, "failed", seed=seed, **of) for seed in range(2)]
    store.commit("mine", [*mine, *lost], keys(hops="whole"))
    store.write_plan("mine", [one["cell_id"] for one in (*mine, *lost)], whole=True)
    other = [row(9000 + i, L=2 + i, seed=0) for i in range(4)]
    store.commit("other", other)
    store.write_plan("other", [one["cell_id"] for one in other], whole=True)
    return store.results


def test_a_report_of_one_sweep_shows_that_sweep_alone(two_sweeps, tmp_path):
    done = CliRunner().invoke(app, ["--sweep", "mine", "--results", two_sweeps, "--out", str(tmp_path / "r.html"), "-q"])
    assert done.exit_code == 0, done.output
    html = (tmp_path / "r.html").read_text()
    assert "sweep-mine" in html and "sweep-other" not in html
    assert "Best test accuracy against hops" in html and "<dd>1, 2, 4, 8</dd>" in html
    assert "CUDA out of memory; all 2 have hops = 8; no finished network has" in html
    assert "too little memory" in html and "--retry-failed" in html
    # Nothing of the papers takes room: every claim is folded, and so is every figure.
    assert '<table class="claims">' not in html and '<h3 id="fig-' not in html
    assert html.count("<svg") == 3  # the metric over hops, and two along training


def test_the_networks_of_the_whole_store_are_those_of_its_sweeps_also_if_some_diverged(tmp_path):
    store = Store(str(tmp_path / "results"))
    for first, sweep in ((0, "one"), (10, "two")):
        rows = [row(first + i, "ok" if i else "diverged", seed=i, host="a", seconds=2.0 if i else None) for i in range(3)]
        failed = row(first + 9, "failed", seed=9, reason="CUDA out of memory")
        store.commit(sweep, [*rows, failed])
        store.write_plan(sweep, [one["cell_id"] for one in (*rows, failed)], whole=True)
    whole, parts = origins(store.results), [origins(store.results, sweep)[0] for sweep in ("one", "two")]
    for column, n in (("networks", 3), ("seconds", 4.0)):
        assert [part[column] for part in parts] == [n, n] and [one[column] for one in whole] == [2 * n]


def test_an_unknown_sweep_writes_nothing(two_sweeps, tmp_path):
    done = CliRunner().invoke(app, ["--sweep", "mime", "--results", two_sweeps, "--out", str(tmp_path / "r.html"), "-q"])
    assert done.exit_code == 2 and "did you mean 'mine'?" in done.stderr and not list(tmp_path.iterdir())


def test_a_sweep_of_two_tasks_has_a_chart_and_a_table_of_each(tmp_path):
    """The second task once had neither, and no word said so."""
    store = Store(str(tmp_path / "results"))
    errors = {"best_test_acc": None, "curve_test_acc": None, "test_mse": 0.5, "curve_test_mse": [0.9, 0.6, 0.5]}
    values = {"clusters": {}, "hermite": {**errors, "P": 64}}
    cells = [row(10 * i + j, task=task, L=2 + j, seed=0, **of) for i, (task, of) in enumerate(values.items()) for j in range(3)]
    cells.append(row(99, task="hermite", L=2, seed=0, **errors, P=128))
    store.commit("two", cells)
    store.write_plan("two", [one["cell_id"] for one in cells], whole=True)
    done = CliRunner().invoke(app, ["--sweep", "two", "--results", store.results, "--out", str(tmp_path / "r.html"), "-q"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "r.html").read_text()
    for title, task in (("Best test accuracy", "clusters"), ("Test mean squared error", "hermite")):
        assert f"<h3>{title} against training symbols L, {task}</h3>" in page
    for title, n in (("best test accuracy", 3), ("test mean squared error", 4)):
        assert f"<summary>Table: {title} of {n} configurations</summary>" in page
    of = {"clusters": ("Test accuracy", "Training loss"), "hermite": ("Test mean squared error", "Training loss")}
    for title in (f"{name} along training, {task}" for task, names in of.items() for name in names):
        assert page.count(f">{title}</") == 1, title
    assert "training examples P" in page.split("<h3>")[0], "a parameter of one task is among those that vary"


def test_two_tasks_with_one_metric_have_a_chart_each(tmp_path):
    """The chart of the one setting that is shown first left out the other task, and so did those of training."""
    store = Store(str(tmp_path / "results"))
    cells = [row(10 * i + j, task=task, L=2 + j, seed=0) for i, task in enumerate(("clusters", "halfspace")) for j in range(3)]
    store.commit("two", cells)
    store.write_plan("two", [one["cell_id"] for one in cells], whole=True)
    done = CliRunner().invoke(app, ["--sweep", "two", "--results", store.results, "--out", str(tmp_path / "r.html"), "-q"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "r.html").read_text()
    assert "against training symbols L</" not in page, "what a task's chart has along its axes needs no further one"
    for task in ("clusters", "halfspace"):
        for title in (
            "Best test accuracy against training symbols L",
            "Test accuracy along training",
            "Training loss along training",
        ):
            assert page.count(f">{title}, {task}</") == 1, title


@pytest.mark.parametrize("value", [None, math.inf])
def test_a_measure_that_only_diverged_networks_have_ends_no_report(tmp_path, value):
    """It was tried for the same networks again and again."""
    store = Store(str(tmp_path / "results"))
    cells = [row(i, task="hermite", L=2 + i, seed=0, best_test_acc=None, test_mse=value) for i in range(2)]
    cells.append(row(9, "diverged", task="hermite", L=4, seed=0, best_test_acc=None, test_mse=0.9))
    store.commit("p", cells)
    assert next(iter(main_measures(store.results, Selection()))) == "test_mse"
