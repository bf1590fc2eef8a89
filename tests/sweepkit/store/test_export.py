"""The exported files hold what the views show."""

import csv
import os
from pathlib import Path

import duckdb
import pytest

from sweepkit.store.files import ResultsError
from sweepkit.store.store import Store
from sweepkit.store.upkeep.export import export
from sweepkit.store.views import VIEWS, fetch
from tests.store_rows import keys, row, rows


@pytest.fixture
def store(results: str) -> Store:
    store = Store(results)
    store.commit("p", rows(0, 5, neurons=3))
    store.commit("q", [row(0, "failed", minute=9), row(9, "diverged", curves=0, hops=2)], keys(hops="whole"))
    store.write_plan("eq3", ["a", "b"])
    return store


def test_database_equals_the_views(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):  # the second replaces
        written = export(store.files, out)
    assert written[out / "results.duckdb"] == 6 + 15 + 15 + 2 + 1
    views = ["cells.csv", "curves.csv", "neurons.csv", "outputs.csv", "plans.csv", "spectra.csv", "sweeps.csv"]
    assert sorted(os.listdir(out)) == sorted([*views, "results.duckdb"])
    with duckdb.connect(str(out / "results.duckdb"), read_only=True) as exported:
        assert [name for (name,) in exported.execute("SHOW TABLES").fetchall()] == sorted(VIEWS)
        for view in VIEWS:
            query = f"FROM {view} ORDER BY ALL"
            assert exported.execute(query).fetchall() == fetch(store.results, query)
            assert exported.execute(f"DESCRIBE {view}").fetchall() == fetch(store.results, f"DESCRIBE {view}")


def test_csv_equals_the_views(store: Store, tmp_path: Path) -> None:
    export(store.files, tmp_path / "out")
    with (tmp_path / "out" / "cells.csv").open() as source:
        read = list(csv.DictReader(source))
    assert [r["cell_id"] for r in read] == [cell for (cell,) in fetch(store.results, "SELECT cell_id FROM cells ORDER BY 1")]
    assert [r["hops"] for r in read] == ["", "", "", "", "", "2"]


def test_an_empty_store_exports_empty_tables(results: str, tmp_path: Path) -> None:
    store = Store(results)
    written = export(store.files, tmp_path / "out", csv=False)
    assert written == {tmp_path / "out" / "results.duckdb": 0}
    assert os.listdir(tmp_path / "out") == ["results.duckdb"]


def test_a_place_that_cannot_be_written(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError, match="cannot export to"):
        export(store.files, tmp_path / "file" / "out")


def test_failure_keeps_the_old_export(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(store.files, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResultsError, match="No space left on device"):
        export(store.files, tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
