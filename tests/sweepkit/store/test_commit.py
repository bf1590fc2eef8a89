"""A commit is all or nothing, once or twice the same, whoever else commits and whenever it is killed."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sweepkit.declarations.columns import Column, Key, Metric
from sweepkit.declarations.metrics import METRICS
from sweepkit.store.schema import SCHEMA, parquet_bytes, table_of
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.views import fetch
from tests.store_rows import keys, names, row, rows
from tests.sweeps import wait_for

WRITER = """
import os, sys, time
sys.path.insert(0, sys.argv[2])
from tests.store_rows import rows
from sweepkit.store.store import Store
store, first, hang = Store(sys.argv[1]), int(sys.argv[3]), sys.argv[4] == "hang"
if hang:
    replace = os.replace
    def stop(*paths):
        print("before rename", flush=True)
        time.sleep(1e6)
    os.replace = stop
else:
    store.commit(f"pack{first}", rows(1000 * first, 20, neurons=50))  # imports and first use take a while
print("ready", flush=True)
n_packs = int(sys.argv[5])
for i in range(n_packs):
    store.commit(f"pack{first + i}", rows(1000 * (first + i), 20, neurons=50))
"""


def writer(results: str | Path, first: int, how: str = "", n_packs: int = 100_000) -> "subprocess.Popen[str]":
    tests = str(Path(__file__).parent.parent)
    command = [sys.executable, "-c", WRITER, str(results), tests, str(first), how, str(n_packs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def test_twice_is_once(results: str) -> None:
    store = Store(results)
    path = store.commit("p", rows(0, 3))
    assert store.commit("p", rows(0, 3)) == path
    assert names(results) == [path]
    assert fetch(store.results, "SELECT count(*), min(pack_id) FROM cells") == [(3, "p")]


def test_same_pack_computed_again_counts_once(results: str) -> None:
    store = Store(results)
    store.commit("p", rows(0, 3))
    store.commit("p", rows(0, 3, minute=1, best_test_acc=0.9))
    assert fetch(store.results, "SELECT count(*), min(best_test_acc) FROM cells") == [(3, 0.9)]


def test_failed_pack_never_hides_a_good_one(results: str) -> None:
    store = Store(results)
    failed = [row(0, "failed", minute=9, curves=0)]
    store.commit("p", failed, failed=True)
    assert store.statuses()["0" * 20] == ("failed", frozenset())
    store.commit("p", [row(0)])
    store.commit("p", failed, failed=True)
    assert store.statuses()["0" * 20] == ("ok", frozenset({"curves"}))


@pytest.mark.parametrize("pack_id", ["", "../escape", "a/b", ".hidden", "a b", "x" * 200])
def test_pack_id_must_name_a_file(results: str, pack_id: str) -> None:
    with pytest.raises(ValueError, match="cannot name a file"):
        Store(results).commit(pack_id, [row(0)])


@pytest.mark.parametrize(
    "bad, message",
    [
        ([], "has no rows"),
        ([{"status": "ok"}], "needs a cell_id"),
        ([row(0, status="done")], "status of ok, diverged, failed"),
        ([row(0, L="two")], "two"),
        ([row(0, L=2.9)], "2.9 does not fit column 'L', which is int64"),
        ([row(0, L=3), row(1, L=3.5)], "3.5 does not fit"),
        ([row(0, L=True)], "True does not fit"),
        ([row(0, gamma=True)], "True does not fit"),
        ([row(0, task=5)], "5 does not fit column 'task'"),
        ([row(0, L=2**63)], "does not fit"),
        ([row(0, mixed=1)], "1 does not fit column 'mixed', which is bool"),
        ([row(0, measured=[1])], "does not fit"),
        ([row(0, holds_nothing=True)], "'holds_nothing' is not declared"),
        ([row(0, mine=None)], "'mine' is not declared: .* must be declared, as a key or as a metric"),
        ([row(0, MINE=1), row(1, mine=1)], "'MINE' is not declared"),
    ],
)
def test_bad_rows_are_named_and_not_written(results: str, bad: list[dict[str, object]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Store(results).commit("p", bad)
    assert names(results) == []


@pytest.mark.parametrize(
    "bad, declared, message",
    [
        ([row(0, status="ok", p=1)], keys(p="whole"), "'p' has the name of another column"),
        ([row(0, k=1), row(1, K=1)], keys(k="whole", K="whole"), "'K' has the name of another column"),
        ([row(0, k=1)], [*keys(k="whole"), Metric("k", "k", "whole")], "metric 'k' has the name of another column"),
        ([row(0, k=1)], [*keys(k="whole"), *keys(k="text")], "'k' has the name of another column"),
        ([row(0)], [Metric("width", "width")], "metric 'width' has the name of another column"),
        ([row(0)], [Metric("test_mse", "mine of that name")], "metric 'test_mse' has the name of another column"),
        ([row(0)], [Metric("median", "median")], "'median' has the name of another column"),
        ([row(0)], keys(status="text"), "'status' has the name of another column"),
        ([row(0)], keys(L="number"), "'L' is declared as number, and the results have it as whole"),
        ([row(0, mine=[1])], keys(mine="whole"), r"\[1\] does not fit column 'mine', which is int64"),
        ([row(0, mine=1), row(1, mine="one")], keys(mine="whole"), "'one' does not fit column 'mine', which is int64"),
        ([row(0, mine=1)], keys(mine="truth"), "1 does not fit column 'mine', which is bool"),
        ([row(0, mine="x")], [Metric("mine", "mine", "single")], "'x' does not fit column 'mine', which is float"),
        ([row(0, mine=0.5)], [Metric("mine", "mine", per="neuron")], "a value does not fit its column"),
        ([row(0)], keys(mine="time"), "key 'mine' cannot be declared so: its kind is time, not one of text, whole"),
        ([row(0)], [Key("mine", "mine", "whole", default=0.5)], "its default 0.5 is not whole"),
        ([row(0)], [Key("mine", "mine", "whole", default=True)], "its default True is not whole"),
        ([row(0)], [Metric("mine", "mine", expression="1")], "an expression and a column are for the metrics in sweepkit"),
        ([row(0)], [Metric("mine", "mine", per="neuron", column="x")], "an expression and a column"),
        ([row(0)], [Metric("my own", "mine")], "the name of a metric is letters, digits and '_'"),
    ],
)  # fmt: skip
def test_declarations_that_do_not_fit(bad: list[dict[str, object]], declared: list[Column], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        table_of(bad, declared)


def test_users_keys_are_typed_by_their_declarations() -> None:
    declared = keys(depth="whole", slope="number", kind="text", deep="truth", nothing="text", never="whole")
    rows = [row(0, depth=None, slope=1, kind="a", deep=True), row(1, slope=0.5, nothing=None)]
    extra = {field.name: field.type for field in table_of(rows, declared).schema if field.name not in SCHEMA.names}
    assert extra == {"slope": pa.float64(), "kind": pa.string(), "deep": pa.bool_()}


def test_every_column_tells_its_declaration() -> None:
    mine = [*keys(hops="whole"), Metric("margin", "margin", better="higher", low=-1), Metric("rank", "rank", per="evaluation")]
    made = parquet_bytes(table_of([row(0, hops=3, margin=0.5, rank=[1, 2.0, 3])], mine))
    told = {field.name: json.loads(field.metadata[b"declaration"]) for field in pq.read_schema(pa.BufferReader(made))}
    assert told["L"]["role"] == told["hops"]["role"] == "key"
    assert told["margin"] == {"role": "metric", "title": "margin", "low": -1, "better": "higher"}
    assert told["curve_test_acc"]["role"] == told["evaluation:rank"]["role"] == "metric"
    assert {told[name]["role"] for name in ("cell_id", "status", "measured", "holds_curves")} == {"fact"}


def test_parts_share_the_ground_floors_keys_and_each_others() -> None:
    twice = [Key("depth", "depth", "whole", default=1, of=("a",)), Key("depth", "layers", "whole", default=2, of=("b",))]
    shared = Key("L", "my L", "whole")
    names = table_of([row(0, depth=3)], [*METRICS.values(), shared, *twice]).schema.names
    assert names == [*SCHEMA.names, "depth"]


def test_store_travels_to_workers(results: str) -> None:
    pickle.loads(pickle.dumps(Store(results))).commit("p", [row(0)])
    assert len(Store(results).statuses()) == 1


def test_killed_before_the_rename_nobody_reads_it(tmp_path: Path) -> None:
    process = writer(tmp_path, 0, "hang")
    assert process.stdout is not None
    assert process.stdout.readline() == "before rename\n"
    end(process)
    (left,) = os.listdir(tmp_path / "packs")
    assert left.startswith(".pack0-") and left.endswith(".inprogress")
    assert Store(str(tmp_path)).statuses() == {}
    assert check(Store(str(tmp_path)).files).bad == {}


def test_killed_at_any_moment(results: str) -> None:
    store = Store(results)
    for i in range(3):
        process, first = writer(results, 1000 * i), len(names(results))
        wait_for(lambda most=first + i: len(names(results)) > most, process)
        end(process)
        whole = len(names(results))
        assert fetch(store.results, "SELECT count(*), count(DISTINCT cell_id) FROM cells") == [(20 * whole, 20 * whole)]
        assert whole > i
    assert check(store.files).bad == {}


def test_two_processes_commit_at_once(results: str) -> None:
    # Packs 5..14 are committed by both.
    both = [writer(results, 0, n_packs=15), writer(results, 5, n_packs=15)]
    for process in both:
        process.communicate()
    assert fetch(results, "SELECT count(*), count(DISTINCT cell_id) FROM cells") == [(400, 400)]
    assert len(names(results)) == 20
    assert check(Store(results).files).bad == {}
