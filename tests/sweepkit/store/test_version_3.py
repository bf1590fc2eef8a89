"""The store as users have it: what version 3 wrote reads as it did, whatever has been declared since."""

import csv
import shutil
from pathlib import Path

import pytest

from sweepkit.declarations.columns import Key
from sweepkit.store.schema import DECLARED
from sweepkit.store.sql import in_quotes
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.upkeep.export import export
from sweepkit.store.views import VIEWS, connect, declared, declared_in, fetch
from tests.store_rows import keys, row

HERE = Path(__file__).parents[2] / "data" / "store_v3"
OWN = {"k": "whole"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    shutil.copytree(HERE / "results", tmp_path / "results")
    return Store(str(tmp_path / "results"))


def header(name: str) -> list[str]:
    with (HERE / name).open() as source:
        return next(csv.reader(source))


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    found = {}
    for view in VIEWS:
        columns = sorted(name for name, *_ in fetch(store.results, f"DESCRIBE {view}"))  # those of tasks come in any order
        found[view] = fetch(store.results, f"SELECT {', '.join(columns)} FROM {view} ORDER BY ALL")
    return found


def assert_cells(store: Store) -> None:
    """Every value of cells.csv, to the last bit. The network that its rows leave out is named since."""
    with connect(store.results) as connection:
        kinds = {name: kind for name, kind, *_ in connection.execute("DESCRIBE cells").fetchall()}
        told = f"read_csv('{HERE / 'cells.csv'}', all_varchar = true)"
        named = {"network": "coalesce(network, 'relu2')"}
        typed = ", ".join(f'{named.get(name, in_quotes(name))}::{kinds[name]} AS "{name}"' for name in header("cells.csv"))
        was = connection.execute(f"SELECT {typed} FROM {told} ORDER BY cell_id").fetchall()
        names = ", ".join(f'"{name}"' for name in header("cells.csv"))
        assert connection.execute(f"SELECT {names} FROM cells ORDER BY cell_id").fetchall() == was
        assert len(was) == 100


def assert_curves(store: Store) -> None:
    """curves.csv has a row a network that saved its curve: how many evaluations, and sums of two metrics (0: none)."""
    with (HERE / "curves.csv").open() as source:
        was = [(cell, int(n), *map(float, sums)) for cell, n, *sums in csv.reader(source) if n != "n"]
    assert header("curves.csv") == ["cell_id", "n", "test_acc", "train_loss"]
    sql = (
        "SELECT cell_id, count(*), coalesce(sum(test_acc), 0), coalesce(sum(train_loss), 0) FROM curves GROUP BY ALL ORDER BY ALL"
    )
    for found, (cell, n, *sums) in zip(fetch(store.results, sql), was, strict=True):
        assert found[:2] == (cell, n)
        assert found[2:] == pytest.approx(sums, abs=0.51e-6)  # sums are given to six digits


def test_cells_and_curves_are_as_they_were(store: Store) -> None:
    assert_cells(store)
    assert_curves(store)


def test_columns_since_hold_what_they_mean_for_these_networks(store: Store) -> None:
    sql = "SELECT training, kappa IS NULL, count(*) FROM cells GROUP BY ALL ORDER BY ALL"
    assert fetch(store.results, sql) == [("langevin", False, 11), ("sgd", True, 89)]
    kept = fetch(store.results, "SELECT DISTINCT network, prefactor, loss FROM cells WHERE training = 'sgd' ORDER BY ALL")
    assert kept == [("relu2", "none", None), ("relu2", "sqrt_d", None), ("relu2", None, None)]


def test_check_compact_and_export(store: Store, tmp_path: Path) -> None:
    assert check(store.files).bad == {}
    before, held = contents(store), store.statuses()
    compact(store.files, now=True)
    assert (contents(store), store.statuses()) == (before, held)
    assert_cells(store)
    assert_curves(store)
    written = export(store.files, tmp_path / "out")
    assert written[tmp_path / "out" / "cells.csv"] == 100
    assert check(store.files).bad == {}


def test_keys_of_tasks_are_supposed_where_nothing_is_said(store: Store) -> None:
    found = declared(store.results)
    assert {name: found[name] for name in found if name not in DECLARED} == {
        name: Key(name, name, kind, "task", in_streams=True) for name, kind in OWN.items()  # type: ignore[arg-type]
    }  # fmt: skip
    assert {name: found[name] for name in DECLARED} == DECLARED
    with connect(store.results) as connection:
        assert declared_in(connection) == found


def test_a_new_pack_declares_them_for_all(store: Store) -> None:
    store.commit(
        "new", [row(1, k=3, blur=0.5)], [Key("k", "hidden bits k", "whole", of=("parity",), default=2), *keys(blur="number")]
    )
    found = declared(store.results)
    assert (found["k"].title, found["patches"].title) == ("hidden bits k", "patches a side")
    assert fetch(store.results, "SELECT task, k, count(*) FROM cells WHERE k IS NOT NULL GROUP BY ALL ORDER BY ALL") == [
        ("parity", 2, 4), ("same_different", 3, 1),
    ]  # fmt: skip
    n_of_curves = fetch(store.results, "SELECT count(*) FROM curves")
    compact(store.files, now=True)
    assert declared(store.results) == found
    assert fetch(store.results, "SELECT count(*) FROM curves") == n_of_curves
