"""Files of weights beside the packs: written first, named by rows, whole or told of; none that is there is lost."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweepkit.store.files import ResultsError
from sweepkit.store.schema import parquet_bytes, table_of
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.upkeep.export import export
from sweepkit.store.upkeep.summary import summarise
from sweepkit.store.views import fetch
from sweepkit.store.weights import check_pictures, read_pictures
from tests.store_rows import flip_bits, row, rows
from tests.sweepkit.store.conftest import Age

KEPT = "SELECT cell_id, weights_file FROM internal.weights ORDER BY ALL"


def pictures(value: float = 1.0) -> list[dict[str, Any]]:
    weights = {"kind": "weights", "neuron": 7, "readout": 2.5, "shape": (2, 3), "pixels": np.full(6, value), "rulings": 5}
    return [weights, {"kind": "example", "same": True, "shape": (1, 2, 3), "pixels": np.arange(6.0)}]


def commit(store: Store, cell: int, value: float = 1.0, **more: Any) -> str:
    path = store.write_weights(f"{cell:020x}", pictures(value))
    store.commit(f"p{cell}", [row(cell, weights_file=path, **more)])
    return path


OLD_S = 7200


def test_what_is_written_is_read_and_named_by_its_row(store: Store) -> None:
    path = commit(store, 0)
    store.commit("without", rows(1, 2))
    assert store.write_weights("0" * 20, pictures()) == path  # twice is once
    assert fetch(store.results, KEPT) == [("0" * 20, path)]
    assert path.startswith(f"weights/{'0' * 20}-")
    weights, example = read_pictures(store.files, path)
    np.testing.assert_array_equal(weights["pixels"], np.ones((2, 3), np.float32))
    assert (weights["neuron"], weights["readout"], weights["same"], weights["rulings"]) == (7, 2.5, None, 5)
    np.testing.assert_array_equal(example["pixels"], np.arange(6).reshape(1, 2, 3))
    assert (example["same"], example["rulings"], example["neuron"]) == (True, None, None)
    assert store.statuses() == {
        "0" * 20: ("ok", {"curves", "weights"}), f"{1:020x}": ("ok", {"curves"}), f"{2:020x}": ("ok", {"curves"}),
    }  # fmt: skip
    assert "weights_file" not in [name for name, *_ in fetch(store.results, "DESCRIBE cells")]
    report = check(store.files)
    assert (report.n_files, report.bad, report.stale) == (3, {}, [])
    assert summarise(store.files).n_bytes == report.n_bytes


def test_killed_between_weights_and_pack(store: Store, age: Age) -> None:
    """Nobody reads what is left, nor takes it for damage; after an hour it is a leftover, unless the pack came after all."""
    left = store.write_weights("0" * 20, pictures())
    assert store.statuses() == {} and fetch(store.results, KEPT) == []
    assert (check(store.files).bad, check(store.files).stale) == ({}, [])  # its pack may be about to be committed
    age(store, left, OLD_S)
    assert (check(store.files).bad, check(store.files).stale) == ({}, [left])
    commit(store, 0)  # the same again
    age(store, left, OLD_S)
    assert check(store.files, clean=True).removed == []
    orphan = store.write_weights(f"{1:020x}", pictures())
    age(store, orphan, OLD_S)
    assert check(store.files, clean=True).removed == [orphan]
    assert store.files.entries("weights")[0].path == left


@pytest.mark.parametrize("committed", [False, True])
def test_a_leftover_that_a_sweep_takes_up_meanwhile_is_not_removed(
    store: Store, age: Age, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """Its cell is trained anew while all files are read, which takes long: the same content has the same name."""
    other = store.write_weights(f"{1:020x}", pictures())
    left = store.write_weights("0" * 20, pictures())
    for path in (left, other):
        age(store, path, OLD_S)
    read, checked = [], check_pictures

    def resumed_meanwhile(*args: Any) -> dict[str, str]:
        bad = checked(*args)
        if not read:
            read.append(commit(store, 0) if committed else store.write_weights("0" * 20, pictures()))
            if committed:
                age(store, left, OLD_S)  # by its age alone nothing tells
        return bad

    monkeypatch.setattr("sweepkit.store.upkeep.check.check_pictures", resumed_meanwhile)
    report = check(store.files, clean=True)
    assert (report.removed, report.stale) == ([other], [other])
    assert [entry.path for entry in store.files.entries("weights")] == [left] == read


def test_progress_counts_files_of_weights(store: Store) -> None:
    for cell in range(3):
        commit(store, cell)
    heard: list[tuple[int, int]] = []
    check(store.files, seen=lambda done, total: heard.append((done, total)))
    assert heard == [(i, 6) for i in range(6)]


def test_a_file_that_is_gone_is_told_and_its_cell_wanted_again(store: Store) -> None:
    path = commit(store, 0)
    store.files.delete(path)
    assert check(store.files).bad == {path: "missing: a row of results names it"}
    assert store.statuses()["0" * 20].extras == {"curves"}
    with pytest.raises(ResultsError, match=r"are gone; run the sweep again: it trains the network$"):
        read_pictures(store.files, path)
    again = commit(store, 0, value=2.0, minute=5)  # trained again, other to rounding
    assert again != path
    assert (check(store.files).bad, store.statuses()["0" * 20].extras) == ({}, {"curves", "weights"})
    assert fetch(store.results, KEPT) == [("0" * 20, again)]


def test_torn_foreign_and_rotten_files_are_named(store: Store) -> None:
    path = commit(store, 0)
    whole = store.files.read(path)
    for spoil in (
        lambda: store.files.write(path, whole[: len(whole) // 2]),
        lambda: store.files.write(path, b""),
        lambda: flip_bits(store.files, path, 0.3),
    ):
        spoil()
        assert "flipped bits" in check(store.files).bad[path]
        with pytest.raises(ResultsError, match="flipped bits"):
            read_pictures(store.files, path)
        assert fetch(store.results, "SELECT count(*) FROM cells") == [(1,)]
        store.files.write(path, whole)
    store.files.write("weights/notes.txt", b"mine")
    foreign = store.write_weights("x", [{**pictures()[0], "shape": (5, 5)}])
    assert check(store.files).bad == {
        "weights/notes.txt": "foreign: its name is not that of a weights file",
        foreign: "foreign: its arrays do not have the shape that it says",
    }


def test_a_pack_is_not_taken_for_weights(store: Store) -> None:
    store.commit("p", rows(0, 2))
    data = store.files.read(store.files.entries("packs")[0].path)
    name = store.files.entries("packs")[0].path.replace("packs/", "weights/")
    store.files.write(name, data)
    assert check(store.files).bad == {name: "foreign: its columns are not those of a weights file"}


@pytest.mark.parametrize("turned", [False, True])
def test_a_row_with_weights_hides_no_curve_and_none_hides_them(store: Store, turned: bool) -> None:
    for minute, what in enumerate(["weights", "neurons", "curves"][:: -1 if turned else 1]):
        if what == "weights":
            path = commit(store, 0, curves=0, minute=minute)
        else:
            store.commit(what, [row(0, minute=minute, **({"curves": 0, "neurons": 3} if what == "neurons" else {}))])
    for _ in range(2):
        assert fetch(store.results, KEPT) == [("0" * 20, path)]
        assert fetch(store.results, "SELECT (SELECT count(*) FROM cells), (SELECT count(*) FROM curves)") == [(1, 3)]
        assert fetch(store.results, "SELECT count(*) FROM neurons") == [(3,)]
        assert store.statuses()["0" * 20].extras == {"curves", "neurons", "weights"}
        assert compact(store.files, now=True).bad == {}


def test_compaction_keeps_what_rows_name_and_leaves_the_rest_as_leftovers(store: Store, age: Age) -> None:
    paths = [commit(store, i, value=i) for i in range(3)]
    newer = commit(store, 2, value=9, minute=9)
    compact(store.files, now=True)
    for path in (*paths, newer):
        age(store, path, OLD_S)
    assert [path for _, path in fetch(store.results, KEPT)] == [*paths[:2], newer]
    assert (check(store.files).bad, check(store.files).stale) == ({}, [paths[2]])  # of the row that was not kept


def test_files_without_the_column_are_read_beside_those_with_it(store: Store) -> None:
    store.files.write("packs/older.parquet", parquet_bytes(table_of(rows(10, 2)).drop_columns(["weights_file"])))
    path = commit(store, 0)
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]
    assert fetch(store.results, KEPT) == [("0" * 20, path)]
    assert store.statuses()[f"{10:020x}"].extras == {"curves"}


def test_an_export_holds_the_views_as_ever(store: Store, tmp_path: Path) -> None:
    commit(store, 0)
    export(store.files, tmp_path / "out")
    assert "weights" not in (tmp_path / "out" / "cells.csv").read_text()
