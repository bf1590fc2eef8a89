"""A sweep is deleted with the networks that it alone has. Whatever interrupts that, all is in the store or can come back."""

import json
import time
from pathlib import Path

import pytest

from sweepkit.store.files import Files, LocalFiles, ResultsError, open_files
from sweepkit.store.leases import Lease
from sweepkit.store.snapshot import Asked
from sweepkit.store.store import Store
from sweepkit.store.upkeep import delete as deleting
from sweepkit.store.upkeep.check import check
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.upkeep.delete import GRAVES, Deleted, delete, forget_expired, graves, leaving, undelete
from sweepkit.store.upkeep.notes import notes_of, tell
from sweepkit.store.upkeep.rename import rename
from sweepkit.store.upkeep.size import sizes
from sweepkit.store.views import VIEWS, connect, fetch
from tests.store_rows import names, row, rows

GRID = Asked("grids: []\n", "sweep run old.yaml")


def ids(first: int, n: int) -> list[str]:
    return [f"{i:020x}" for i in range(first, first + n)]


def contents(store: Store, but: str = "") -> dict[str, list[tuple[object, ...]]]:
    with connect(store.results) as connection:
        return {view: connection.execute(f"FROM {view} ORDER BY ALL").fetchall() for view in VIEWS if view != but}


def fill(store: Store) -> None:
    """Ten networks of `old`, of which four are of `new` too, one with weights; twelve of `new`; one that failed; one of none."""
    path = store.write_weights(ids(0, 1)[0], [{"kind": "weights", "shape": [1], "pixels": [1.0]}])
    kept = store.write_weights(ids(7, 1)[0], [{"kind": "weights", "shape": [1], "pixels": [2.0]}])
    store.commit("a", [row(0, weights_file=path), *rows(1, 5, neurons=2)])
    store.commit("b", [*rows(6, 1), row(7, weights_file=kept), *rows(8, 4)])
    compact(store.files, now=True)
    store.commit("c", rows(10, 8))
    store.commit("d", [row(90)])
    store.commit("e", [row(91, "failed", log_path=store.write_log(ids(91, 1)[0], "boom"))], failed=True)
    store.write_plan("old", [*ids(0, 10), ids(91, 1)[0], "missing"], whole=True, grid=GRID)
    store.write_plan("new", ids(6, 12), whole=True)
    tell(store.files, "old", "a pilot", ["low", "d"])


def gone(store: Store) -> Deleted:
    return delete(store.files, leaving(store.files, "old"))


def test_what_no_other_sweep_asks_for_goes_and_nothing_else(store: Store) -> None:
    fill(store)
    of_new = "SELECT cells.* FROM cells JOIN plans USING (cell_id) WHERE sweep = 'new' ORDER BY cell_id"
    before = fetch(store.results, of_new)
    going = leaving(store.files, "old")
    assert (len(going.cells), going.shared, going.with_sweeps, len(going.weights)) == (7, 4, ("new",), 1)
    done = gone(store)
    assert fetch(store.results, "SELECT DISTINCT sweep FROM plans") == [("new",)]
    assert [cell for (cell,) in fetch(store.results, "SELECT cell_id FROM cells ORDER BY 1")] == [*ids(6, 12), *ids(90, 1)]
    assert fetch(store.results, of_new) == before
    assert [entry.path for entry in store.files.entries("weights")] == [leaving(store.files, "new").weights[0]]
    assert store.files.entries("logs") == []
    assert done.grave and done.grave.networks == 7
    assert check(store.files).bad == {}
    with pytest.raises(ResultsError, match="no sweep"):
        undelete(store.files, "older")


def test_it_comes_back_as_it_was(store: Store) -> None:
    fill(store)
    store.files.delete(store.files.entries("failed")[0].path)  # no grave holds what failed
    before = contents(store)
    gone(store)
    compact(store.files, now=True)
    n, _ = undelete(store.files, "old")
    assert n == 6
    assert contents(store) == before
    assert notes_of(store.files, "old").tags == ("low", "d")
    assert fetch(store.results, "SELECT grid, command, note FROM sweeps WHERE sweep = 'old'") == [(*GRID, "a pilot")]
    assert graves(store.files) == [] and check(store.files).bad == {}


class Killed(Exception):
    pass


@pytest.mark.parametrize("again", ["delete", "undelete"])
def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str) -> None:
    """After each of its writes and deletions the process dies; then the same command goes on, or the sweep is asked back."""
    deeds = moments(tmp_path / "all", monkeypatch)
    assert deeds > 10
    for at in range(deeds):
        store = Store(str(tmp_path / str(at)))
        fill(store)
        before = fetch(store.results, "FROM cells WHERE status = 'ok' ORDER BY cell_id")
        with monkeypatch.context() as patched:
            dies(patched, at)
            with pytest.raises(Killed):
                gone(store)
        if again == "delete":
            left = fetch(store.results, "SELECT DISTINCT sweep FROM plans WHERE sweep = 'old'")
            if left:
                gone(store)
            assert fetch(store.results, "SELECT count(*) FROM plans WHERE sweep = 'old'") == [(0,)]
        if graves(store.files):  # killed before the first deed, there is none, and the store is as it was
            undelete(store.files, "old")
        assert fetch(store.results, "FROM cells WHERE status = 'ok' ORDER BY cell_id") == before
        assert fetch(store.results, "SELECT count(*) FROM plans WHERE sweep = 'old'") == [(12,)]
        assert check(store.files).bad == {}


def moments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of writes and deletions of a deletion."""
    store = Store(str(folder))
    fill(store)
    with monkeypatch.context() as patched:
        done = dies(patched, 10**6)
        gone(store)
    return len(done)


def dies(patched: pytest.MonkeyPatch, at: int) -> list[str]:
    """Let the deed of this number, and all later ones, raise Killed. Returns the deeds, as they are done."""
    done: list[str] = []
    for name in ("write", "delete"):
        real = getattr(LocalFiles, name)

        def counted(self: LocalFiles, path: str, *data: bytes, real=real) -> None:  # type: ignore[no-untyped-def]
            if len(done) >= at:
                raise Killed(path)
            done.append(path)
            real(self, path, *data)

        patched.setattr(LocalFiles, name, counted)
    return done


def test_a_compaction_beside_it_brings_no_row_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process merges the files while their rows are being left out: its file holds the rows, and is cleared as well."""
    fill(store)
    real, merged = deleting.merge, []

    def beside(files: Files, batch, done, without) -> None:  # type: ignore[no-untyped-def]
        if not merged:
            merged.append(compact(files, now=True))
        real(files, batch, done, without)

    monkeypatch.setattr(deleting, "merge", beside)
    gone(store)
    assert merged[0].merged
    assert [cell for (cell,) in fetch(store.results, "SELECT cell_id FROM cells ORDER BY 1")] == [*ids(6, 12), *ids(90, 1)]


def test_a_running_sweep_is_not_deleted(store: Store) -> None:
    fill(store)
    lease = Lease(store, sweep="old")
    for call in (lambda: leaving(store.files, "old"), lambda: rename(store.files, "old", "other")):
        with pytest.raises(ResultsError, match=r"old is running \(process"):
            call()
    lease.release()
    assert leaving(store.files, "old").cells


def test_networks_of_earlier_plans_go_too(store: Store) -> None:
    store.commit("a", rows(0, 6))
    store.write_plan("old", ids(0, 6), whole=True)
    store.write_plan("old", ids(0, 2), whole=True)
    gone(store)
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(0,)]


def test_for_good_leaves_no_grave(store: Store) -> None:
    fill(store)
    delete(store.files, leaving(store.files, "old"), for_good=True)
    assert graves(store.files) == [] and sizes(store.files).waiting == 0
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(13,)]


def test_a_grave_goes_after_thirty_days(store: Store) -> None:
    fill(store)
    gone(store)
    [grave] = graves(store.files)
    place = grave.place(store.files)
    assert forget_expired(store.files) == []
    path = f"{GRAVES}/{grave.name}.json"
    told = json.loads(store.files.read(path))
    store.files.write(path, json.dumps({**told, "at": time.time() - deleting.GRAVE_S - 60}).encode())
    assert [old.sweep for old in forget_expired(store.files)] == ["old"]
    assert names(place.root) == [] and graves(store.files) == []
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(13,)]


def test_a_grave_is_looked_for_beside_its_own_file(tmp_path: Path) -> None:
    """A file of a store may come from a stranger: it names no other place."""
    store, other = Store(str(tmp_path / "results")), Store(str(tmp_path / "other"))
    other.commit("a", rows(0, 3))
    fill(store)
    entry = {"name": "../../other", "sweep": "x", "at": 0.0, "networks": 3, "n_bytes": 9}
    for text in (json.dumps(entry), "[]", "{", json.dumps({**entry, "at": "soon"})):
        store.files.write(f"{GRAVES}/a.json", text.encode())
        forget_expired(store.files)
        assert len(names(other.results)) == 1


def test_a_new_name_keeps_plan_grid_and_notes(store: Store) -> None:
    fill(store)
    store.write_plan("old", ids(0, 2))
    asked = "SELECT cell_id FROM plans WHERE sweep = '{}' ORDER BY 1"
    before = fetch(store.results, asked.format("old"))
    rest = {view: found for view, found in contents(store).items() if view not in ("plans", "sweeps")}
    assert rename(store.files, "old", "a.b") == 2
    assert fetch(store.results, asked.format("a.b")) == before
    assert fetch(store.results, "SELECT grid, command, note, tags FROM sweeps WHERE sweep = 'a.b'") == [
        (GRID.grid, f"{GRID.command} --name a.b", "a pilot", ["low", "d"])
    ]
    assert {view: found for view, found in contents(store).items() if view not in ("plans", "sweeps")} == rest
    n = len(store.files.entries("plans"))
    store.write_plan("a.b", ids(0, 2))  # the same request renews its file
    assert len(store.files.entries("plans")) == n
    with pytest.raises(ResultsError, match="there is a sweep 'new' already"):
        rename(store.files, "a.b", "new")


def test_an_interrupted_renaming_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(4):
        store = Store(str(tmp_path / str(at)))
        fill(store)
        store.write_plan("old", ids(0, 2))
        with monkeypatch.context() as patched:
            dies(patched, 2 + at)  # after the probe that shows the place can be written
            with pytest.raises(Killed):
                rename(store.files, "old", "other")
        rename(store.files, "old", "other")
        assert fetch(store.results, "SELECT sweep, count(*) FROM plans GROUP BY sweep ORDER BY sweep") == [
            ("new", 12),
            ("other", 12),
        ]


def test_each_network_counts_for_its_share_of_the_files(store: Store) -> None:
    fill(store)
    found = sizes(store.files)
    by_name = {size.sweep: size for size in found.sweeps}
    assert (by_name["old"].networks, by_name["old"].alone, by_name["new"].networks, by_name["new"].alone) == (11, 7, 12, 8)
    assert found.unasked[0] == 1
    live = {
        entry.path: entry.size for folder in ("packs", "compacted", "failed", "weights") for entry in store.files.entries(folder)
    }
    every = by_name["old"].n_bytes + by_name["new"].bytes_alone + found.unasked[1]
    assert abs(every - sum(live.values())) <= 3  # each is rounded to whole bytes
    gone(store)
    after = sizes(store.files)
    assert [size.sweep for size in after.sweeps] == ["new"] and after.waiting > 0 and after.deleted > 0


@pytest.mark.parametrize("tag", ["", "a b", "x" * 81, "-x", "\n"])
def test_tags_are_words(store: Store, tag: str) -> None:
    fill(store)
    with pytest.raises(ResultsError, match="tag"):
        tell(store.files, "old", add=[tag])


def test_the_last_note_counts(store: Store) -> None:
    fill(store)
    tell(store.files, "old", " two\nlines ", ["x"], ["low"])
    assert notes_of(store.files, "old")[1:3] == ("two lines", ("d", "x"))
    assert fetch(store.results, "SELECT sweep FROM sweeps WHERE list_contains(tags, 'x')") == [("old",)]
    with pytest.raises(ResultsError, match="has no tag 'low'; its tags: d, x"):
        tell(store.files, "old", remove=["low"])
    with pytest.raises(ResultsError, match="2,000 characters"):
        tell(store.files, "old", "x" * 2001)
    tell(store.files, "old", "")
    assert fetch(store.results, "SELECT note FROM sweeps WHERE sweep = 'old'") == [(None,)]


def test_notes_and_grids_travel_with_a_copy(store: Store, tmp_path: Path) -> None:
    from sweepkit.store.upkeep.copy import copy

    fill(store)
    there = Store(str(tmp_path / "there"))
    copy(store.files, there.files, ["old"])
    assert fetch(there.results, "SELECT note, grid FROM sweeps") == [("a pilot", GRID.grid)]
    tell(store.files, "old", "later")
    copy(store.files, there.files)
    assert fetch(there.results, "SELECT note FROM sweeps WHERE sweep = 'old'") == [("later",)]


def test_notes_that_nobody_wrote_so_are_foreign(tmp_path: Path) -> None:
    from sweepkit.store.schema import NOTES, PLAN_SCHEMA, parquet_bytes

    store = Store(str(tmp_path))
    fill(store)
    for text in ('{"sweep": "old", "tags": "low"}', "[]", '{"sweep": ""}', '{"sweep": "old", "note": "\\u001b[2J"}', "{"):
        path = "plans/odd.parquet"
        store.files.write(path, parquet_bytes(PLAN_SCHEMA.empty_table().replace_schema_metadata({NOTES: text})))
        assert "foreign" in check(store.files).bad[path], text
        assert fetch(store.results, "SELECT note FROM sweeps WHERE sweep = 'old'") == [("a pilot",)]
    assert open_files(store.results).exists()
