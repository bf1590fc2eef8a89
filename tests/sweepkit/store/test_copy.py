"""A copy adds what the target lacks: nothing is lost, nothing is there twice, and no file of rows that is there changes."""

from pathlib import Path

import pytest

from sweepkit.store.files import Entry, Files, ResultsError, open_files
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.upkeep.copy import copy
from sweepkit.store.views import VIEWS, connect, fetch
from tests.store_rows import flip_bits, keys, names, row, rows


@pytest.fixture
def target(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "kept"))


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    with connect(store.results) as connection:
        return {view: connection.execute(f"FROM {view} ORDER BY ALL").fetchall() for view in VIEWS}


def fill(store: Store) -> None:
    for i in range(6):
        store.commit(f"p{i}", rows(10 * i, 10, neurons=4 * (i % 2), git_sha="a" * 40))
    store.commit("again", rows(0, 10, minute=5))  # later, holding as much
    store.commit("curveless", rows(20, 10, minute=5, curves=0, neurons=4))  # neurons where the first has none
    store.commit("diverged", [row(4, "diverged", minute=9), row(501, "diverged")])
    path = store.write_weights("w", [])
    store.commit("mine", [row(600, hops=3), row("w", hops=4, weights_file=path)], keys(hops="whole"))
    store.write_plan("eq3", ["a", "b"], whole=True)


def test_readers_of_the_copy_see_what_readers_of_the_source_see(store: Store, target: Store) -> None:
    fill(store)
    done = copy(store.files, target.files)
    assert contents(target) == contents(store)
    assert target.statuses() == store.statuses()
    assert check(target.files).bad == {}
    assert (done.plans, done.weights, len(done.written)) == (1, 1, 2)  # a user's key has columns of its own
    assert names(target.results) == sorted(done.written)


def test_a_second_copy_finds_nothing_even_after_a_compaction(store: Store, target: Store) -> None:
    fill(store)
    assert copy(store.files, target.files).rows > 0
    for compacted in (False, True):
        if compacted:
            store.commit("later", rows(10, 5, minute=7))
            copy(store.files, target.files)
            compact(target.files, now=True)
        before = names(target.results)
        done = copy(store.files, target.files)
        assert (done.rows, done.plans, done.weights, names(target.results)) == (0, 0, 0, before)
        back = copy(target.files, store.files)
        assert (back.rows, contents(store)) == (0, contents(target))


def test_only_files_with_lacking_rows_are_read_whole(store: Store, target: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)
    copy(store.files, target.files)
    read = []
    monkeypatch.setattr("sweepkit.store.upkeep.compact.verify", lambda files, entry: read.append(entry.path))
    copy(store.files, target.files)
    assert read == []
    path = store.commit("later", rows(700, 5))
    assert copy(store.files, target.files).rows == 5
    assert read == [path]


def test_many_plans_are_listed_once(store: Store, target: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(5):
        store.write_plan(f"sweep {i}", ["a"])
    listed, entries = [], type(target.files).entries

    def counted(files: Files, folder: str) -> list[Entry]:
        listed.extend([folder] * (files is target.files))
        return entries(files, folder)

    counts = []
    for n_new in (5, 0, 1):
        if n_new == 1:
            store.write_plan("sweep 5", ["a"])
        with monkeypatch.context() as patched:
            patched.setattr(type(target.files), "entries", counted)
            assert copy(store.files, target.files).plans == n_new
        counts.append(listed.count("plans"))
        listed.clear()
    assert len(set(counts)) == 1, counts


def test_what_is_new_comes_in_a_file_of_its_own(store: Store, target: Store) -> None:
    store.commit("p", rows(0, 5))
    copy(store.files, target.files)
    before = {name: target.files.read(name) for name in names(target.results)}
    store.commit("q", rows(5, 3))
    store.write_plan("eq3", ["a"])
    done = copy(store.files, target.files)
    assert (done.rows, done.plans) == (3, 1)
    assert {name: target.files.read(name) for name in before} == before
    assert fetch(target.results, "SELECT count(*), count(DISTINCT cell_id) FROM cells") == [(8, 8)]


def test_what_only_the_target_has_stays_and_the_better_row_wins(store: Store, target: Store) -> None:
    target.commit("old", [*rows(0, 3, host="target"), *rows(100, 2)])
    store.commit("less", [row(0, "diverged", minute=9), row(1, curves=0, minute=9), row(2, minute=9, host="source")])
    assert copy(store.files, target.files).rows == 1  # the later of two whole rows; no less replaces more
    assert fetch(target.results, "SELECT status, host FROM cells WHERE seed < 3 ORDER BY seed") == [
        ("ok", "target"), ("ok", "target"), ("ok", "source")
    ]  # fmt: skip
    assert fetch(target.results, "SELECT count(*) FROM cells") == [(5,)]


def test_failed_cells_stay_behind(store: Store, target: Store) -> None:
    store.commit("p", [row(0), row(1, "diverged")])
    store.commit("f", [row(0, "failed", minute=3), row(2, "failed", log_path="/tmp/log")], failed=True)
    done = copy(store.files, target.files)
    assert (done.rows, done.failed) == (2, 2)
    assert fetch(target.results, "SELECT status FROM cells ORDER BY seed") == [("ok",), ("diverged",)]


def test_a_damaged_file_is_told_and_comes_once_it_is_mended(store: Store, target: Store) -> None:
    path = store.commit("rotten", rows(100, 50, neurons=20))
    store.commit("p", rows(0, 5))
    whole = store.files.read(path)
    flip_bits(store.files, path, 0.5)
    done = copy(store.files, target.files)
    assert (done.rows, list(done.bad)) == (5, [path])
    store.files.delete(path)
    store.files.write(path, whole)
    mended = open_files(store.results)
    assert copy(mended, target.files).rows == 50
    assert len(target.statuses()) == 55


@pytest.mark.parametrize("where", [0.2, 0.4, 0.6, 0.8])
def test_a_damaged_file_hides_no_other_row_of_its_cells(store: Store, target: Store, where: float) -> None:
    store.commit("early", rows(0, 50))
    path = store.commit("late", rows(0, 50, minute=5, neurons=20))
    flip_bits(store.files, path, where)
    assert copy(store.files, target.files).rows == 50
    assert len(target.statuses()) == 50


def test_a_plan_that_was_asked_for_again_is_renewed_and_never_aged(store: Store, target: Store) -> None:
    store.write_plan("eq3", ["a"], whole=True)
    copy(store.files, target.files)
    target.write_plan("eq3", ["b"], whole=True)
    assert copy(store.files, target.files).plans == 0
    assert fetch(target.results, "FROM plans") == [("eq3", "b")]
    store.write_plan("eq3", ["a"], whole=True)
    assert copy(store.files, target.files).plans == 1
    assert fetch(target.results, "FROM plans") == [("eq3", "a")]


def test_a_sweep_alone_is_copied_with_its_files(store: Store, target: Store) -> None:
    fill(store)
    asked = [f"{i:020x}" for i in range(5, 25)]
    store.write_plan("mine", [*asked, "w"], whole=True)
    store.write_plan("mine", [*asked[:-1], "w"], whole=True)  # the last whole grid counts
    store.commit("torn", [row(7, "failed", minute=9), row(50, "failed", minute=9)], failed=True)
    done = copy(store.files, target.files, ["mine"])
    assert (done.weights, done.failed, set(target.statuses())) == (1, 1, {*asked[:-1], "w"})
    held = contents(target)
    for view, condition in (("plans", "sweep = 'mine'"), ("neurons", "true"), ("curves", "true")):
        where = f"{condition} AND cell_id IN (SELECT cell_id FROM plans WHERE sweep = 'mine')"
        assert held[view] == fetch(store.results, f"FROM {view} WHERE {where} ORDER BY ALL")
    assert check(target.files).bad == {}
    again = copy(store.files, target.files, ["mine"])
    assert (again.rows, again.plans, again.weights) == (0, 0, 0)
    copy(store.files, target.files, ["mine", "eq3"])
    assert fetch(target.results, "SELECT DISTINCT sweep FROM plans ORDER BY ALL") == [("eq3",), ("mine",)]
    copy(store.files, target.files)
    assert contents(target) == contents(store)


def test_a_directory_is_not_copied_into_itself(store: Store) -> None:
    store.commit("p", rows(0, 5))
    with pytest.raises(ResultsError, match="into itself"):
        copy(store.files, open_files(store.results))
    within = open_files(f"{store.results}/within")
    for source, target in ((store.files, within), (within, store.files)):
        with pytest.raises(ResultsError, match="one holds the other"):
            copy(source, target)
