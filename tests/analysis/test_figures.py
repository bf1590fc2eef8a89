"""Accuracy curves from a store: the numbers, the files, and what a person reads when data are missing."""

import csv
from datetime import UTC, datetime

import pytest
import typer
from typer.testing import CliRunner

from analysis.accuracy import accuracy_points, eq3_table
from analysis.charts import accuracy_chart, accuracy_frame
from analysis.coverage import coverage, failures
from analysis.figures import app
from analysis.terminal import stop
from store import views
from store.compact import compact
from store.store import Store
from store.views import connect, fetch
from tests.store_rows import row


@pytest.fixture
def filled(tmp_path):
    """Three seeds each of L = 3, 4 at gamma = 1 and lazy, one of them failed; a noisy cell that belongs to no curve."""
    store = Store(str(tmp_path / "results"))
    store.prepare()
    rows = []
    for L in (3, 4):
        for label, gamma, base in (("1", 1.0, 0.9), ("lazy", 1e-6, 0.5)):
            for seed in range(3):
                rows.append(
                    {"L": L, "gamma": gamma, "gamma_label": label, "seed": seed, "best_test_acc": base + 0.01 * seed + 0.001 * L}
                )
    rows[0] |= {"status": "failed", "reason": "lost", "best_test_acc": None}
    rows.append(rows[1] | {"sigma2": 1.0, "best_test_acc": 0.1})
    common = {
        "task": "same_different",
        "d": 16,
        "width": 32,
        "sigma2": 0.0,
        "status": "ok",
        "final_test_acc": 0.5,
        "finished_at": datetime(2026, 1, 1, tzinfo=UTC),
        "steps": 100,
        "base_lr": 0.1,
        "batch": 32,
        "dtype": "float32",
        "eval_every": 50,
        "test_size": 64,
    }
    rows = [common | {"cell_id": f"c{i}"} | row for i, row in enumerate(rows)]
    store.commit("p", rows)
    store.write_plan("eq3", [*(r["cell_id"] for r in rows), "never-run"], whole=True)
    return store.results


def test_points_and_table(filled):
    points = accuracy_points(filled, "eq3")
    assert [(p.gamma_label, p.L, p.best.n) for p in points] == [("1", 3, 2), ("1", 4, 3), ("lazy", 3, 3), ("lazy", 4, 3)]
    assert points[1].best.mean == pytest.approx(0.914)
    assert points[1].difference == pytest.approx(0.914 - 0.949, abs=5e-4)
    assert eq3_table(points[:2]).row_count == 2
    assert accuracy_points(filled, "other") == []
    assert {p.setting for p in points} == {""}
    assert "setting" not in [column.header for column in eq3_table(points).columns]
    assert "setting" not in accuracy_frame(points)


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        ({"eval_every": 25}, ["eval_every=25", "eval_every=50"]),
        ({"test_size": 32}, ["test_size=32", "test_size=64"]),
        ({"steps": 200, "dtype": "float64"}, ["steps=100 dtype=float32", "steps=200 dtype=float64"]),
        ({"base_lr": 0.05}, ["base_lr=0.05", "base_lr=0.1"]),
        ({"batch": 8}, ["batch=8", "batch=32"]),
    ],
)
def test_networks_that_differ_in_more_than_their_seed_are_told_apart(filled, other, shown):
    rows = fetch(filled, "select * from cells where status = 'ok' and L = 4 and gamma = 1 and sigma2 = 0")
    store = Store(filled)
    with connect(filled) as connection:
        names = [name for name, *_ in connection.execute("describe cells").fetchall()]
    rows = [dict(zip(names, row, strict=True)) for row in rows]
    rows = [row | other | {"cell_id": f"other{i}", "finished_at": datetime(2026, 1, 2, tzinfo=UTC)} for i, row in enumerate(rows)]
    store.commit("q", rows)
    store.write_plan("eq3", [row["cell_id"] for row in rows])
    points = accuracy_points(filled, "eq3")
    twice = [p for p in points if (p.gamma_label, p.L) == ("1", 4)]
    assert [(p.setting, p.best.n) for p in twice] == [(setting, 3) for setting in shown]
    assert len({(*p[:4], p.setting) for p in points}) == len(points) == 5
    assert "setting" in [column.header for column in eq3_table(points).columns]
    assert set(accuracy_frame(points).setting) == set(shown)
    panels = [row["panel"] for rows in accuracy_chart(points).to_dict()["datasets"].values() for row in rows if "panel" in row]
    assert set(panels) == {f"d = 16, width = 32, {setting}" for setting in shown}


@pytest.mark.parametrize("measure", [lambda results: accuracy_points(results, "eq3"), coverage])
def test_a_compaction_between_connecting_and_reading_does_no_harm(filled, monkeypatch, measure):
    before, connect_to, connections = measure(filled), views.connect_to, []
    store = Store(filled)

    def connect_then_compact(files, snapshot):
        connections.append(connect_to(files, snapshot))
        compact(store.files, now=True)  # the files of the first connection are gone after this
        return connections[-1]

    monkeypatch.setattr(views, "connect_to", connect_then_compact)
    store.commit("more", [row("unplanned")])
    assert measure(filled) == before
    assert len(connections) > 1


def test_coverage_counts_every_planned_cell(filled):
    assert coverage(filled) == {"eq3": {"planned": 14, "ok": 12, "diverged": 0, "failed": 1, "missing": 1}}


def test_failures_are_grouped_by_reason(filled):
    assert failures(filled, "eq3") == [("lost", 1, None)]


def test_each_panel_draws_its_own_points(filled):
    """Vega-Lite facets only layers without data of their own."""
    points = accuracy_points(filled, "eq3")
    spec = accuracy_chart([*points, *(p._replace(d=32) for p in points)]).to_dict()
    measured = [layer for layer in spec["spec"]["layer"] if "color" in layer["encoding"]]
    assert len(measured) == 3
    assert not any("data" in layer for layer in measured)


def test_writes_svg_png_and_csv(filled, tmp_path):
    done = CliRunner().invoke(app, ["1c", "--results", filled, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "1c.svg").read_text().startswith("<svg")
    assert (tmp_path / "out" / "1c.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader((tmp_path / "out" / "1c.csv").read_text().splitlines()))
    assert {r["gamma"] for r in rows} == {"1", "lazy"}
    assert float(rows[1]["eq3"]) == pytest.approx(0.949, abs=5e-4)


@pytest.mark.parametrize("n_panels", [1, 2])
def test_chart_facets_by_d_and_width(filled, n_panels):
    points = accuracy_points(filled, "eq3")
    points += [p._replace(d=32) for p in points] if n_panels == 2 else []
    assert ("facet" in accuracy_chart(points).to_dict()) == (n_panels == 2)


@pytest.mark.parametrize(
    ("args", "words"), [(["9z"], "no figure '9z': there are 1c"), (["1c", "--sweep", "x"], "'x' has no data")]
)
def test_bad_input(filled, tmp_path, args, words):
    done = CliRunner().invoke(app, [*args, "--results", filled, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_empty_store_says_what_to_type(tmp_path):
    done = CliRunner().invoke(app, ["1c", "--results", str(tmp_path / "none")])
    assert done.exit_code == 2
    assert "python -m orchestrator.sweep grid.yaml" in done.stderr


def test_stop_says_a_message_as_it_is(capsys):
    with pytest.raises(typer.Exit) as left:
        stop("no [bold]markup[/bold], no :x: pictures, " + "no folding " * 30)
    assert left.value.exit_code == 2
    assert capsys.readouterr().err == "no [bold]markup[/bold], no :x: pictures, " + "no folding " * 30 + "\n"
