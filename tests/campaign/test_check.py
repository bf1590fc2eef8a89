"""That the campaign's checks see what they are for: each thing that must not be is made, and noticed."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sweepkit.declarations.columns import Metric
from sweepkit.store.files import open_files
from sweepkit.store.store import Store
from tests.campaign import check
from tests.campaign.faults import FAULTS
from tests.campaign.trial import drawn
from tests.store_rows import flip_bits, keys, rows


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A finished sweep: 6 cells in 2 packs, and its plan."""
    return _stored(tmp_path / "whole")


def _stored(results: Path, **change: object) -> Path:
    """The same, where `change` gives other values to the last cell; `last=False` leaves it out."""
    store, made = Store(str(results)), rows(0, 6, neurons=4, hops=2, sparsity=0.5)
    if change.pop("last", True):
        made[5] |= change
    else:
        del made[5]
    declared = [*keys(hops="whole"), Metric("sparsity", "share of inactive neurons", on_request=True)]
    store.commit("a", made[:3], declared)
    store.commit("b", made[3:], declared)
    store.write_plan("s", [row["cell_id"] for row in rows(0, 6)], whole=True)
    return results


def _kinds(violations: list[check.Violation]) -> list[str]:
    return [violation.kind for violation in violations]


def _against(whole: Path, **change: object) -> list[str]:
    other = _stored(whole.parent / "other", **change)
    return _kinds(check.compare(check.content(other), check.content(whole)))


def test_equal_results_are_right(whole):
    assert _against(whole) == []


def test_a_lost_cell(whole):
    assert _against(whole, last=False) == ["lost"]


def test_a_cell_that_is_no_longer_planned(whole):
    (plan,) = (whole / "plans").iterdir()
    wanted = check.content(whole)
    plan.unlink()
    assert _kinds(check.compare(check.content(whole), wanted)) == ["lost"] * 6


def test_a_cell_in_two_rows_of_the_view(whole):
    wanted = check.content(whole)
    twice = replace(wanted, rows=wanted.rows + Counter([next(iter(wanted.rows))]))
    assert _kinds(check.compare(twice, wanted)) == ["duplicated"]


def test_a_cell_of_another_grid(whole):
    assert sorted(_against(whole, cell_id="f" * 20)) == ["duplicated", "lost"]


@pytest.mark.parametrize(
    "change",
    [
        {"curve_train_loss": [0.5, 0.5, 0.5 + 2**-53]},  # the last bit
        {"curve_train_loss": [0.5, 0.5, float("nan")]},
        {"neuron_readout": [1.0, 1.0, 1.0, 2.0]},
        {"best_test_acc": 0.75},
        {"final_train_loss": 0.5},  # where the other has none
        {"status": "diverged"},
        {"training": "adam"},
        {"hops": 3},
        {"sparsity": 0.25},
    ],
)
def test_a_cell_that_differs(whole, change):
    assert _against(whole, **change) == ["differing"]


def test_batched_cells_may_differ_by_rounding_only(whole):
    wanted = check.content(_stored(whole.parent / "w", engine="batched"))
    near = check.content(_stored(whole.parent / "n", engine="batched", curve_train_loss=[0.5, 0.5, 0.5 + 1e-12]))
    far = check.content(_stored(whole.parent / "f", engine="batched", curve_train_loss=[0.5, 0.5, 0.5 + 1e-8]))
    assert _kinds(check.compare(near, wanted)) == []
    assert _kinds(check.compare(far, wanted)) == ["differing"]


def test_a_committed_file_that_vanishes_or_changes(whole):
    before = check.committed(whole)
    first, second = sorted(before)
    (whole / first).unlink()
    flip_bits(open_files(str(whole)), second, 0.5)
    assert _kinds(check.vanished(before, check.committed(whole), set())) == ["lost", "lost"]
    assert _kinds(check.vanished(before, check.committed(whole), {first})) == ["lost"]


def test_a_cell_that_was_trained_again(whole):
    before = check.committed(whole)
    Store(str(whole)).commit("c", rows(4, 3))
    assert _kinds(check.trained_again(before, check.committed(whole))) == ["again", "again"]  # and 6, which was not there
    # What was damaged is trained again with reason.
    (damaged,) = (path for path, data in before.items() if f"{4:020x}" in check.cells_in(data))
    ids = pq.ParquetFile(whole / damaged).metadata.row_group(0).column(0)
    last = ids.dictionary_page_offset + ids.total_compressed_size - 1  # of the data, which have a checksum; headers have none
    flip_bits(open_files(str(whole)), damaged, last / len(before[damaged]))
    before = {path: (whole / path).read_bytes() for path in before}
    assert _kinds(check.trained_again(before, check.committed(whole))) == []


def test_leftovers(whole, tmp_path):
    temporary = tmp_path / "t"
    temporary.mkdir()
    (temporary / "ray").mkdir()
    assert check.leftovers(whole, temporary) == []
    for left in ("packs/.a.parquet.0.inprogress", "leases/x.json", ".probe-1", "packs/note.txt"):
        (whole / left).parent.mkdir(exist_ok=True)
        (whole / left).touch()
    (temporary / "sweep-host-1-abc").mkdir()
    assert _kinds(check.leftovers(whole, temporary)) == ["leftover"] * 5


@pytest.mark.parametrize(
    "said",
    [
        "well\nTraceback (most recent call last):\n  File x\nOSError: no",
        "[2026-11-21 23:53:03,586 E 19725 19781] rpc_client.h:204: Failed to connect",
        "(raylet) A worker died or was killed",
        "2026-11-21 23:53:03,586\tWARNING worker.py:1 -- The node is dead",
        "a.py:3: FutureWarning: this changes",
    ],
)
def test_words_that_are_not_for_users(said):
    assert _kinds(check.words(said, 0, {0})) == ["unreadable"]


def test_ordinary_words_and_exit_codes():
    assert check.words("draining: 2 packs in flight finish, about 3 s\nerror: no disk", 1, {0, 1}) == []
    assert _kinds(check.words("", -6, {0, 1})) == ["unreadable"]


def test_an_end_that_is_not_explained():
    assert check.explained("campaign: 32 cells: 30 ok, 2 missing. Results: r")
    assert not check.explained("campaign: 32 cells, 0 in the store, 32 to train\nstarting Ray ...")


def test_failures_without_a_reason(whole):
    store = Store(str(whole))
    log = store.write_log("0" * 20, "what happened")
    failed = [row | {"status": "failed"} for row in rows(10, 3)]
    failed[0] |= {"reason": "no memory", "log_path": log}
    failed[1] |= {"reason": "", "log_path": log}
    failed[2] |= {"reason": "no memory", "log_path": f"{log}.gone"}
    store.commit("f", failed, failed=True)
    assert _kinds(check.unexplained(whole)) == ["unreadable", "unreadable"]


def test_every_kind_is_drawn_and_the_same_ones_again():
    found = drawn(3, 2 * len(FAULTS), list(FAULTS))
    assert found == drawn(3, 2 * len(FAULTS), list(FAULTS))
    assert set(found[: len(FAULTS)]) == FAULTS.keys()
    assert found != drawn(4, 2 * len(FAULTS), list(FAULTS))
