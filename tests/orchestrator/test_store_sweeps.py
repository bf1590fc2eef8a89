"""`python -m orchestrator.store` with sweeps, one by one: size, grid, tag, rename, delete, undelete."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

from orchestrator.grid.load import Grid, load_grid
from orchestrator.running.feed import SweepFeed
from orchestrator.store import app
from sweepkit.store.files import ResultsError
from sweepkit.store.leases import Lease
from sweepkit.store.snapshot import Asked
from sweepkit.store.store import Store
from sweepkit.store.upkeep import delete as deleting
from sweepkit.store.views import fetch
from tests.store_rows import row, rows


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(str(tmp_path / "results"))
    made.commit("a", rows(0, 8))
    made.commit("b", [row(9, seconds=1.0)])
    made.write_plan("old", [f"{i:020x}" for i in range(6)], whole=True, grid=Asked("grids: []", "sweep run old.yaml L=3"))
    made.write_plan("new", [f"{i:020x}" for i in range(4, 8)], whole=True)
    return made


def call(store: Store, *words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, [*words, "--results", store.results], input=typed)


def sweeps(store: Store) -> list[str]:
    return [name for (name,) in fetch(store.results, "SELECT DISTINCT sweep FROM plans ORDER BY 1")]


def test_size(store: Store) -> None:
    told = call(store, "size").stdout
    assert told.splitlines()[1] == "sweep,networks,size,of it alone,size alone"
    assert told.splitlines()[2].startswith("old,6,") and ",4," in told.splitlines()[2]
    assert "asked for by no sweep: 1 network" in told
    found = json.loads(call(store, "size", "--json").stdout)
    assert [(one["sweep"], one["networks"], one["alone"]) for one in found["sweeps"]] == [("old", 6, 4), ("new", 4, 2)]


def test_nothing_is_deleted_unasked(store: Store) -> None:
    found = call(store, "delete", "old")
    assert found.exit_code == 2
    assert found.stdout == "old: 4 networks that no other sweep has go; 2 networks stay for new\n"
    assert found.stderr.startswith("nothing was deleted; this deletes it: ") and found.stderr.endswith(" --yes\n")
    for words in ("delete olds", "delete old olds --yes", "rename olds x", "tag olds", "grid olds"):
        found = call(store, *words.split())
        assert found.exit_code == 2 and "no sweep 'olds' in" in found.stderr and "did you mean 'old'?" in found.stderr
    assert sweeps(store) == ["new", "old"]


def test_delete_and_back(store: Store) -> None:
    found = call(store, "delete", "old", "--yes")
    assert found.exit_code == 0, found.stderr
    assert "brings it back:\n" in found.stdout and f"undelete old --results {store.results}\n" in found.stdout
    assert sweeps(store) == ["new"]
    assert "old,4," in call(store, "undelete").stdout
    assert call(store, "undelete", "old").stdout == "old is back, with 6 of 6 networks\n"
    assert sweeps(store) == ["new", "old"]
    found = call(store, "undelete", "old")
    assert found.exit_code == 2 and "no sweep old was deleted from" in found.stderr
    assert call(store, "undelete").stdout == "no sweep was deleted here within 30 days\n"
    assert call(store, "delete", "old", "new", "-y", "--for-good").exit_code == 0
    assert (sweeps(store), fetch(store.results, "SELECT count(*) FROM cells")) == ([], [(1,)])


def test_what_is_asked_for_while_the_question_is_open_stays(store: Store) -> None:
    """A sweep of the same networks ends before the answer."""
    going = deleting.leaving(store.files, "old")
    store.write_plan("later", [f"{i:020x}" for i in range(2)], whole=True)
    deleting.delete(store.files, going)
    assert fetch(store.results, "SELECT count(*) FROM plans JOIN cells USING (cell_id) WHERE sweep = 'later'") == [(2,)]
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(7,)]


@pytest.mark.parametrize("begins", ["runs", "was asked for anew"])
def test_a_sweep_that_is_begun_meanwhile_is_not_deleted(store: Store, begins: str) -> None:
    going = deleting.leaving(store.files, "old")
    if begins == "runs":
        Lease(store, sweep="old")
    else:
        store.write_plan("old", ["another"])
    with pytest.raises(ResultsError, match="is running" if begins == "runs" else begins):
        deleting.delete(store.files, going)
    assert deleting.graves(store.files) == [] and fetch(store.results, "SELECT count(*) FROM cells") == [(9,)]


def test_a_name_that_is_taken_and_networks_that_went_with_another(store: Store) -> None:
    call(store, "delete", "old", "new", "--yes")
    assert call(store, "undelete", "old").stdout.startswith("old is back, with 4 of 6 networks; what another deleted sweep had")
    call(store, "delete", "old", "--yes")
    store.write_plan("old", ["another"], whole=True)
    found = call(store, "undelete", "old")
    assert found.exit_code == 2 and "there is a sweep old now, asked for since" in found.stderr
    assert len(deleting.graves(store.files)) == 2
    call(store, "rename", "old", "other")
    assert call(store, "undelete", "new", "old").stdout.splitlines()[1] == "old is back, with 6 of 6 networks"


def test_rename(store: Store) -> None:
    assert call(store, "rename", "old", "older").exit_code == 0
    assert sweeps(store) == ["new", "older"]
    for name, why in (("new", "there is a sweep 'new' already"), ("a b", "must be a name"), ("older", "older has this name")):
        found = call(store, "rename", "older", name)
        assert found.exit_code == 2 and why in found.stderr
    assert sweeps(store) == ["new", "older"]


def test_tags_and_note(store: Store) -> None:
    assert call(store, "tag", "old").stdout == "old: no tags and no note\n"
    assert call(store, "tag", "old", "a", "b", "--note", "low d").stdout == "old: #a #b low d\n"
    assert call(store, "tag", "old", "c", "--remove", "a").stdout == "old: #b #c low d\n"
    assert call(store, "tag", "old").stdout == "old: #b #c low d\n"
    assert "old: #b #c low d\n" in call(store, "status").stdout
    assert json.loads(call(store, "status", "--json").stdout)["sweeps"][1]["tags"] == ["b", "c"]
    assert call(store, "tag", "old", "--remove", "a").exit_code == 2


def test_grid(store: Store) -> None:
    found = call(store, "grid", "old")
    assert (found.stdout, found.stderr) == ("# sweep run old.yaml L=3\ngrids: []\n", "")
    call(store, "rename", "old", "older")
    assert call(store, "grid", "older").stdout.splitlines()[0] == "# sweep run old.yaml L=3 --name older"
    call(store, "rename", "older", "oldest")
    assert call(store, "grid", "oldest").stdout.splitlines()[0] == "# sweep run old.yaml L=3 --name oldest"
    found = call(store, "grid", "new")
    assert found.exit_code == 1 and "planned by an older version" in found.stderr


def plan(grid: Grid, store: Store, **said: str) -> None:
    """Plan the grid as a sweep does."""
    feed = SweepFeed(grid, store, {}, SimpleNamespace(asked=()), "grid", grid.is_whole, print, **said)  # type: ignore[arg-type]
    feed.write_plan()


def test_a_sweep_keeps_its_grid_and_its_note(small_grid: Path, store: Store) -> None:
    plan(load_grid(small_grid, ["L=3"]), store, command="sweep run small.yaml L=3", note="a pilot")
    assert fetch(store.results, "SELECT networks, note, command, grid FROM sweeps WHERE sweep = 'small'") == [
        (6, "a pilot", "sweep run small.yaml L=3", small_grid.read_text())
    ]
    call(store, "tag", "small", "--note", "later")
    plan(load_grid(small_grid), store, command="sweep run small.yaml")
    assert fetch(store.results, "SELECT networks, note, command FROM sweeps WHERE sweep = 'small'") == [
        (12, "later", "sweep run small.yaml")
    ]


def test_a_grid_of_python_comes_back_as_yaml(small_grid: Path, store: Store) -> None:
    """With the words for what was replaced and chosen, it gives the same networks."""
    block = {"task": "same_different", "L": range(2, 6), "d": (16, 32), "gamma": [1, "lazy"], "seed": 0, "width": 32}
    grid = Grid.load({"sweep": "mine", "grids": [block]}).replace(gamma=[0.5, "lazy"], width=64).only(L=[3, 5], gamma="lazy")
    plan(grid, store, command="-")
    source = grid.source
    assert source is not None
    (text,) = fetch(store.results, "SELECT grid FROM sweeps WHERE sweep = 'mine'")[0]
    words = source.words()
    assert words == ['gamma=[0.5,"lazy"]', "width=64", "--only", "L=[3,5]", "--only", "gamma=lazy"]
    (path := small_grid.with_name("mine.yaml")).write_text(text)
    again = load_grid(path, words[:2], only=[words[3], words[5]])
    assert [one.cell_id for one in again.cells] == [one.cell_id for one in grid.cells]
