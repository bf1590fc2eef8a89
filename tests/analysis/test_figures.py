"""Accuracy curves from a store: the numbers, the files, and what a person reads when data are missing."""

import csv
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from analysis.accuracy import accuracy_points, eq3_table
from analysis.charts import accuracy_chart
from analysis.coverage import coverage
from analysis.figures import app
from store.store import Store
from store.views import connect


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
    }
    rows = [common | {"cell_id": f"c{i}"} | row for i, row in enumerate(rows)]
    store.commit("p", rows)
    store.write_plan("eq3", [*(r["cell_id"] for r in rows), "never-run"], whole=True)
    return store.results


def test_points_and_table(filled):
    points = accuracy_points(connect(filled), "eq3")
    assert [(p.gamma_label, p.L, p.best.n) for p in points] == [("1", 3, 2), ("1", 4, 3), ("lazy", 3, 3), ("lazy", 4, 3)]
    assert points[1].best.mean == pytest.approx(0.914)
    assert points[1].difference == pytest.approx(0.914 - 0.949, abs=5e-4)
    assert eq3_table(points[:2]).row_count == 2
    assert accuracy_points(connect(filled), "other") == []


def test_coverage_counts_every_planned_cell(filled):
    assert coverage(connect(filled)) == {"eq3": {"planned": 14, "ok": 12, "diverged": 0, "failed": 1, "missing": 1}}


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
    points = accuracy_points(connect(filled), "eq3")
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
