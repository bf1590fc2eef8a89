"""A sweep without Ray: only what is missing, failures as rows, and rows that say where they come from."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.cost.model import CostModel
from orchestrator.grid.load import load_grid
from orchestrator.plan.machine import Machine
from orchestrator.plan.missing import missing_cells, ordered
from orchestrator.plan.packing import PackQueue
from orchestrator.running.driver import ProcessRunner, Sweep
from orchestrator.running.worker import PackWork, Provenance, row_bytes
from sweepkit.store.files import ResultsError
from sweepkit.store.leases import Lease
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.views import Held, connect
from sweepkit.store.weights import read_pictures
from tests.sweeps import wait_for
from trainables.engines import DescentEngine
from trainables.pictures import OF_EACH_LABEL
from trainables.tasks import SameDifferent
from trainables.trainers.run import PackRun


def run(grid, results, cells=None, engine=None, pack_seconds=1e-9, fail_fast=False):
    store = Store(results)
    store.prepare()
    queue = PackQueue(grid.cells, Machine(1, 2**32), CostModel(), engine, pack_seconds)
    with Lease(store) as lease:
        sweep = Sweep(grid, queue, store, lease, Provenance(store.results, "abc"), fail_fast)
        queue.add(range(len(grid.cells)) if cells is None else cells)
        ProcessRunner().run(sweep)
    return sweep


def rows(results, columns="*"):
    return connect(results).execute(f"select {columns} from cells order by cell_id").fetchall()


def test_each_cell_lands_once_with_its_keys_and_origin(small_grid, results):
    grid = load_grid(small_grid)
    run(grid, results)
    found = (
        connect(results)
        .execute("select cell_id, L, gamma_label, seed, status, engine, git_sha, device, seconds from cells")
        .fetchall()
    )
    assert sorted(r[0] for r in found) == sorted(p.cell_id for p in grid.cells)
    by_id = {p.cell_id: p.cell for p in grid.cells}
    for cell_id, L, label, seed, status, engine, sha, device, seconds in found:
        cell = by_id[cell_id]
        assert (L, label, seed) == (cell.task.L, cell.gamma_label, cell.seed)
        assert (status, engine, sha) == ("ok", "gram", "abc")
        assert device.startswith("cpu (") and seconds > 0
    curves = connect(results).execute("select cell_id, count(*), max(step), max(test_acc) from curves group by 1").fetchall()
    assert len(curves) == 12 and {c[1:3] for c in curves} == {(2, 200)}
    best = dict(connect(results).execute("select cell_id, best_test_acc from cells").fetchall())
    assert all(best[c[0]] == c[3] for c in curves)


def test_result_does_not_depend_on_packs(small_grid, results, tmp_path):
    grid = load_grid(small_grid)
    run(grid, results, pack_seconds=1e-9)
    run(grid, str(tmp_path / "other"), pack_seconds=1e9)
    one, other = (rows(r, "cell_id, best_test_acc, final_train_loss, readout_ratio") for r in (results, str(tmp_path / "other")))
    assert [r[0] for r in one] == [r[0] for r in other]
    # float32: curves agree to the rounding of one network trained alone or beside others.
    np.testing.assert_allclose([r[1:] for r in one], [r[1:] for r in other], rtol=1e-5)


def test_missing_is_what_the_store_lacks(small_grid):
    cells = load_grid(small_grid).cells
    a, b, c = (p.cell_id for p in cells[:3])
    held = {a: Held("ok", frozenset({"curves"})), b: Held("failed", frozenset()), c: Held("diverged", frozenset())}
    assert missing_cells(cells, held) == list(range(3, 12))
    assert missing_cells(cells, held, retry_failed=True) == [1, *range(3, 12)]
    assert missing_cells(cells, held, force=True) == list(range(12))
    held[a] = Held("ok", frozenset())  # stored by a grid that did not save curves
    assert missing_cells(cells, held) == [0, *range(3, 12)]


def test_orders(small_grid):
    cells = load_grid(small_grid).cells
    assert ordered(cells, range(12), "grid") == list(range(12))
    seeds = [cells[i].cell.seed for i in ordered(cells, range(12), "seed-first")]
    assert seeds == sorted(seeds)
    shuffled = ordered(cells, range(12), "shuffled")
    assert sorted(shuffled) == list(range(12)) != shuffled


def test_a_crash_is_a_row_and_the_sweep_goes_on(small_grid, results, monkeypatch):
    grid = load_grid(small_grid)
    poison = grid.cells[5].cell_id
    make = DescentEngine.make

    def fragile(engine, cells, device):
        if poison in {c.cell_id for c in cells}:
            raise RuntimeError("the dog ate it")
        return make(engine, cells, device)

    monkeypatch.setattr(DescentEngine, "make", fragile)
    run(grid, results, pack_seconds=1e9)
    found = {r[0]: r[1:] for r in rows(results, "cell_id, status, reason, log_path")}
    assert {k for k, v in found.items() if v[0] == "failed"} == {poison}
    assert re.fullmatch(r"RuntimeError: the dog ate it \(test_driver\.py:\d+\)", found[poison][1])  # with the line that raised it
    assert "Traceback" in Path(found[poison][2]).read_text()
    assert sum(v[0] == "ok" for v in found.values()) == 11

    monkeypatch.undo()
    again = missing_cells(grid.cells, Store(results).statuses(), retry_failed=True)
    assert again == [5]
    run(grid, results, cells=again)
    assert [r[0] for r in rows(results, "status")] == ["ok"] * 12


def test_fail_fast_stops(small_grid, results, monkeypatch):
    monkeypatch.setattr(DescentEngine, "make", lambda *a: (_ for _ in ()).throw(RuntimeError("no")))
    sweep = run(load_grid(small_grid), results, fail_fast=True)
    assert len(sweep.queue.ended) == 1


def test_out_of_memory_halves_the_pack(small_grid, results, monkeypatch):
    make = DescentEngine.make

    def greedy(engine, cells, device):
        if len(cells) > 2:
            raise MemoryError("not enough memory: you tried to allocate 9 GB")
        return make(engine, cells, device)

    monkeypatch.setattr(DescentEngine, "make", greedy)
    sweep = run(load_grid(small_grid), results, pack_seconds=1e9)
    assert [r[0] for r in rows(results, "status")] == ["ok"] * 12
    assert sweep.queue.memory_factor["cpu"] > 1


def test_a_full_disk_ends_the_sweep_and_fails_no_cell(small_grid, results, monkeypatch):
    def full(self, provenance):
        raise ResultsError("no room left on the disk")

    monkeypatch.setattr(PackWork, "commit", full)
    sweep = run(load_grid(small_grid), results)
    assert "no room" in sweep.queue.fatal
    assert rows(results) == []


def test_divergence_is_a_row_with_a_reason(small_grid, results):
    grid = load_grid(small_grid, ["base_lr=1e30", "gamma=1", "L=3"])
    run(grid, results)
    for status, reason, best in rows(results, "status, reason, best_test_acc"):
        assert status == "diverged"
        assert reason.startswith("loss became NaN or infinite at step")
        assert best is None


def test_a_cell_in_flight_is_leased(small_grid, results, monkeypatch):
    from sweepkit.store.leases import others_in_flight

    grid = load_grid(small_grid)
    seen: set[str] = set()
    commit = PackWork.commit

    def look_and_commit(work, provenance):
        ids = {p.cell_id for p in work.members}
        wait_for(lambda: ids <= set(others_in_flight(Store(results))))
        seen.update(ids)
        return commit(work, provenance)

    monkeypatch.setattr(PackWork, "commit", look_and_commit)
    run(grid, results, pack_seconds=1e9)
    assert seen == {p.cell_id for p in grid.cells}
    assert others_in_flight(Store(results)) == {}


@pytest.mark.parametrize("engine", ["reference", "batched", "gram"])
def test_any_engine_runs_a_sweep(small_grid, results, engine):
    run(load_grid(small_grid, ["steps=100", "seed=0"]), results, engine=engine, pack_seconds=1e9)
    assert connect(results).execute("select distinct engine, status from cells").fetchall() == [(engine, "ok")]


@pytest.mark.parametrize("fails", ["shown_examples", "as_shown"])
def test_a_task_that_cannot_be_shown_fails_before_it_is_trained(small_grid, results, monkeypatch, fails):
    def broken(*args):
        raise IndexError("no such\npicture")

    monkeypatch.setattr(SameDifferent, fails, broken)
    monkeypatch.setattr(PackRun, "advance", lambda *args: pytest.fail("trained for nothing"))
    run(load_grid(small_grid, ["save=weights", "seed=0", "L=3"]), results, pack_seconds=1e9)
    for status, reason in rows(results, "status, reason"):
        assert status == "failed"
        assert "task same_different, and its shown_examples or as_shown fails: IndexError: no such" in reason


def test_what_was_trained_is_kept_whatever_its_pictures_raise(small_grid, results, monkeypatch):
    trained, advance = [], PackRun.advance

    def and_break(pack, seconds):
        advance(pack, seconds)
        trained.append(len(pack.cells))
        if len(trained) == 1:
            monkeypatch.setattr(SameDifferent, "shown_examples", lambda *args: 1 / 0)

    monkeypatch.setattr(PackRun, "advance", and_break)
    grid = load_grid(small_grid, ["save=weights,curves", "seed=0", "L=3"])
    with monkeypatch.context():
        run(grid, results, pack_seconds=1e9)
    assert trained == [2]
    reason = "no weights saved: ZeroDivisionError: division by zero"
    assert rows(results, "status, reason") == [("ok", reason)] * 2
    assert connect(results).execute("select count(*) from curves").fetchone() == (4,)
    monkeypatch.undo()
    again = missing_cells(grid.cells, Store(results).statuses())
    assert len(again) == 2  # their weights are still wanted
    run(grid, results, cells=again)
    assert rows(results, "status, reason") == [("ok", None)] * 2


def test_a_row_says_of_both_what_was_not_measured_and_what_was_not_saved(small_grid, results, monkeypatch):
    advance = PackRun.advance

    def and_break(pack, seconds):
        advance(pack, seconds)
        monkeypatch.setattr(SameDifferent, "shown_examples", lambda *args: 1 / 0)

    monkeypatch.setattr(PackRun, "advance", and_break)
    monkeypatch.setattr("trainables.metrics.measuring.probe_of", lambda *args: {}["no probe"])
    run(load_grid(small_grid, ["save=weights,participation", "seed=0", "L=3"]), results, pack_seconds=1e9)
    reason = "metric participation failed: KeyError: 'no probe'; no weights saved: ZeroDivisionError: division by zero"
    assert rows(results, "status, reason") == [("ok", reason)] * 2


def test_room_for_pictures_is_what_the_task_shows(small_grid):
    class InColours(SameDifferent):
        @property
        def shown_size(self):
            return 3 * 1000

    (small, *_) = load_grid(small_grid, ["save=weights"]).cells
    task = InColours(**small.cell.task.identity())
    large = replace(small, cell=small.cell.model_copy(update={"task": task}))
    assert row_bytes(large) - row_bytes(small) == 4 * 2 * OF_EACH_LABEL * (3000 - 2 * 16)


def test_weights_lie_beside_the_pack_and_are_trained_again_where_they_are_gone(small_grid, results):
    grid = load_grid(small_grid, ["save=weights", "seed=0"])
    run(grid, results, pack_seconds=1e9)
    store = Store(results)
    files = store.files.entries("weights")
    assert len(files) == len(grid.cells) == 4
    for planned in grid.cells:
        (entry,) = [e for e in files if planned.cell_id in e.path]
        kept = read_pictures(store.files, entry.path)
        assert [p["pixels"].shape for p in kept] == [(2, 16)] * 12  # 4 + 4 neurons, 2 + 2 examples
        assert entry.size + len(repr(rows(results)[0])) < row_bytes(planned)
    assert missing_cells(grid.cells, store.statuses()) == []

    store.files.delete(files[2].path)
    again = missing_cells(grid.cells, store.statuses())
    assert [grid.cells[i].cell_id in files[2].path for i in again] == [True]
    run(grid, results, cells=again)
    assert missing_cells(grid.cells, store.statuses()) == []
    assert check(store.files).bad == {}


def test_weights_asked_for_later_keep_what_is_there(small_grid, results):
    curves, weights = (load_grid(small_grid, [f"save={what}", "seed=0", "L=3"]) for what in ("curves,neurons", "weights"))
    run(curves, results)
    assert missing_cells(weights.cells, Store(results).statuses()) == [0, 1]
    run(weights, results)
    assert {held.extras for held in Store(results).statuses().values()} == {frozenset({"curves", "neurons", "weights"})}


def test_diverged_networks_keep_no_weights(small_grid, results):
    run(load_grid(small_grid, ["base_lr=1e30", "gamma=1", "L=3", "save=weights"]), results)
    assert Store(results).files.entries("weights") == []
