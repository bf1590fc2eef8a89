"""The Tune runner from inside: checkpoints that spare work, GPU shares, and packs that fail."""

import os
import pickle
import threading
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = [
    pytest.mark.ray,
    # Ray and Tune warn about themselves: deprecations, sockets closed late.
    pytest.mark.filterwarnings("ignore"),
]

ray = pytest.importorskip("ray")

from ray import tune  # noqa: E402
from ray.tune.search import Searcher  # noqa: E402

from orchestrator.cost.model import CostModel  # noqa: E402 - after the marks, so that Ray's import warnings are theirs
from orchestrator.grid.load import load_grid  # noqa: E402
from orchestrator.grid.top import Resources  # noqa: E402
from orchestrator.plan.machine import Machine  # noqa: E402
from orchestrator.plan.packing import PackQueue  # noqa: E402
from orchestrator.ray.cluster import ClusterError, joined  # noqa: E402
from orchestrator.ray.controller import tuned  # noqa: E402
from orchestrator.ray.runner import (  # noqa: E402
    CHUNK,
    PackSearcher,
    PackTrainable,
    Reporter,
    TuneRunner,
    _after_memory_kill,
    _placement,
    runs,
)
from orchestrator.running.driver import Sweep  # noqa: E402
from orchestrator.running.worker import Failure, Provenance  # noqa: E402
from sweepkit.store.leases import Lease  # noqa: E402
from sweepkit.store.store import Store  # noqa: E402
from sweepkit.store.views import connect  # noqa: E402
from tests.sweeps import wait_for  # noqa: E402
from trainables.basics import CardFault  # noqa: E402

NOISY = """\
sweep: noisy
grids:
  - {task: same_different, L: 16, d: 64, sigma2: 1, width: 256, gamma: 1, seed: {range: 2}, steps: STEPS, eval_every: 500}
"""


@pytest.fixture(autouse=True)
def nodes_take_their_time(monkeypatch):
    """Ray gives a node 30 s to start and 30 s to be seen, which is too little on a busy machine."""
    from ray._private import services

    get_node, wait_for_node = services.get_node, services.wait_for_node

    def found(*args):
        nodes = []

        def is_there():
            with suppress(RuntimeError):
                nodes.append(get_node(*args))
            return bool(nodes)

        wait_for(is_there)
        return nodes[0]

    monkeypatch.setattr(services, "get_node", found)
    monkeypatch.setattr(services, "wait_for_node", lambda address, socket, timeout: wait_for_node(address, socket, 1e6))


@pytest.fixture
def noisy_grid(tmp_path):
    def make(steps):
        path = tmp_path / "noisy.yaml"
        path.write_text(NOISY.replace("STEPS", str(steps)))
        return load_grid(path)

    return make


def sweep_of(grid, results, runner, pack_seconds=1e9, engine=None):
    store = Store(results)
    store.prepare()
    queue = PackQueue(grid.cells, runner.machine(), CostModel(), engine, pack_seconds)
    queue.add(range(len(grid.cells)))
    return Sweep(grid, queue, store, Lease(store), Provenance(store.results, ""))


def pack_of(grid):
    shared = {"chunks": [], "user_files": grid.user_files, "threads": 1, "checkpoint_s": 30.0, "step_s": 1.0, "lease": ""}
    config = {"pack_id": "p", "cells": ((0, len(grid.cells)),), "engine": "batched", "device": "cpu", "bytes": 2**20}
    trainable = object.__new__(PackTrainable)  # Tune's own bookkeeping is not under test
    trainable.setup(config, shared)
    trainable.chunk = (0, grid.cells)  # as loaded from the object store
    return trainable


def test_a_checkpoint_carries_the_pack_to_another_worker(noisy_grid, tmp_path):
    grid = noisy_grid(1000)
    first, second, whole = pack_of(grid), pack_of(grid), pack_of(grid)
    first._work().run.advance(0.05)
    assert 0 < first.work.fraction < 1
    first.save_checkpoint(str(tmp_path))
    second.load_checkpoint(str(tmp_path))
    assert second._work().fraction == first.work.fraction
    for trainable in (second, whole):
        trainable._work().run.advance(float("inf"))
    assert (second.work.run.curves == whole.work.run.curves).all()


def test_a_sweep_that_cannot_write_ends_though_all_its_packs_failed_to(noisy_grid, results):
    grid = noisy_grid(1000)
    queue = PackQueue(grid.cells, Machine(2, 2**32), CostModel(), None, pack_seconds=1e-9)  # a cell a pack
    queue.add(range(len(grid.cells)))
    sweep = Sweep(grid, queue, Store(results), Lease(Store(results)), Provenance(results, ""))
    searcher = PackSearcher(sweep, waiting=0, place=range(len(grid.cells)))
    assert all(searcher.suggest(trial) for trial in "ab")
    assert searcher.suggest("c") is None  # Tune asks again
    for trial in "ab":
        Reporter(sweep, searcher).on_trial_result(0, [], Mock(trial_id=trial), {"fatal": "no space"})
    assert searcher.suggest("c") == Searcher.FINISHED
    assert sweep.queue.fatal == "no space"
    assert not queue.in_flight and queue.n_pending == 2


def test_packs_wait_for_a_card_beside_those_for_processors(tmp_path, results):
    """One pack trains on the card and one waits for it, so that its worker is kept; processors get packs meanwhile, and a core
    stays free for the card's pack."""
    (tmp_path / "grid.yaml").write_text("""
sweep: both
defaults: {steps: 25000, eval_every: 1000, seed: {range: 400}}
grids: [{task: same_different, L: 12, d: 256, width: 1024, gamma: [1, 2, 3]}, {task: psvrt, L: 16, width: 512, gamma: 1}]
""")
    grid = load_grid(str(tmp_path / "grid.yaml"))
    queue = PackQueue(grid.cells, Machine(16, 2**34, cards=1, card_bytes=2**36), CostModel(), None, pack_seconds=1e-9)
    queue.add(range(len(grid.cells)))
    sweep = Sweep(grid, queue, Store(results), Lease(Store(results)), Provenance(results, ""), tell=lambda text: None)
    searcher = PackSearcher(sweep, waiting=1, place=range(len(grid.cells)))
    given = [searcher.suggest(f"{k}") for k in range(20)]
    devices = [config["device"] for config in given if config]
    assert devices[:2] == ["cuda", "cuda"] and devices[2:] == ["cpu"] * 16  # of 16 cores one for the card, and one pack waits
    assert given[18:] == [None, None]
    trial = next(k for k, config in enumerate(given) if config["device"] == "cpu")
    Reporter(sweep, searcher).on_trial_result(0, [], Mock(trial_id=str(trial)), {"failure": Failure("no", "no")})
    assert searcher.suggest("next")["device"] == "cpu"


@pytest.mark.parametrize("args", [("CUDA error: gone", "node"), ("CUDA error: gone",)])
def test_a_pack_whose_card_failed_three_times_goes_back(noisy_grid, results, args, monkeypatch):
    """Also where the error comes from a place that knows no machine."""
    grid, said = noisy_grid(1000), []
    queue = PackQueue(grid.cells, Machine(2, 2**32, cards=1, card_bytes=2**36), CostModel(), "batched", pack_seconds=1e-9)
    queue.add(range(len(grid.cells)))
    sweep = Sweep(grid, queue, Store(results), Lease(Store(results)), Provenance(results, ""), tell=said.append)
    searcher = PackSearcher(sweep, waiting=0, place=range(len(grid.cells)))
    assert searcher.suggest("a")["device"] == "cuda"
    monkeypatch.setattr("orchestrator.ray.runner._cards_of", lambda node: 1)
    error = Mock(cause=CardFault(*args))
    Reporter(sweep, searcher).on_trial_error(0, [], Mock(trial_id="a", ended_by=error))
    assert queue.machine.cards == 0 and queue.n_pending == 2 and not queue.ended
    assert len(said) == 1 and "3 times: CUDA error: gone" in said[0]
    assert searcher.suggest("b")["device"] == "cpu"


def test_a_killed_worker_goes_on_from_its_checkpoint(noisy_grid, results, monkeypatch):
    grid = noisy_grid(24000)
    with joined(None):
        runner = TuneRunner(Resources(), checkpoint_s=1.0)
        sweep = sweep_of(grid, results, runner)
        seen, saved, killed_at = [], [], []
        progressed = sweep.progressed

        def note(pack_id, fraction):
            seen.append((pack_id, fraction))
            progressed(pack_id, fraction)

        sweep.progressed = note
        monkeypatch.setattr(Reporter, "on_checkpoint", lambda *of, **info: saved.append(seen[-1]))

        def kill_in_the_middle():
            wait_for(lambda: any(f > 0.4 for _, f in saved))
            for p in psutil.Process().children(recursive=True):
                if "Trainable" in " ".join(p.cmdline()):
                    killed_at.append(len(seen))
                    p.kill()
                    return

        thread = threading.Thread(target=kill_in_the_middle, daemon=True)
        thread.start()
        runner.run(sweep)
        thread.join()
    assert killed_at
    victim, fraction = next((pack_id, f) for pack_id, f in saved if f > 0.4)
    assert min(f for pack_id, f in seen[killed_at[0] :] if pack_id == victim) >= fraction
    assert connect(results).execute("select count(*), count(distinct cell_id) from cells where status = 'ok'").fetchone() == (
        2,
        2,
    )


def test_a_gpu_that_pytorch_does_not_see_is_set_aside(noisy_grid, results):
    """Ray counts a card, and CUDA finds none: said once, with what to look at; every cell trains on processors."""
    grid, said = noisy_grid(500), []
    ray.init(address="local", num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False, logging_level=40)
    try:
        runner = TuneRunner(Resources(gpus_per_pack=0.25))
        machine = runner.machine()
        assert (machine.cards, machine.asked_share) == (1, 0.25)
        sweep = sweep_of(grid, results, runner, pack_seconds=1e-9, engine="batched")
        sweep.tell = said.append
        runner.run(sweep)
        with pytest.raises(ClusterError, match="gpus_per_pack is 2"):
            TuneRunner(Resources(gpus_per_pack=2)).machine()
    finally:
        ray.shutdown()
    assert sweep.queue.ended == {0: "ok", 1: "ok"} and sweep.queue.machine.cards == 0
    assert len([text for text in said if "nvidia-smi" in text]) == 1


def test_the_cards_of_one_machine_are_set_aside_and_another_goes_on(noisy_grid, results):
    """Two machines with a card each; those of one cannot be used. Packs then go to the other's, told apart by Ray's labels."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        nodes = [cluster.add_node(num_cpus=1, num_gpus=1) for _ in range(2)]
        with joined(cluster.address):
            place = _placement(Resources(), Machine(1, 2**32))
            config = {"device": "cuda", "share": 1.0, "avoided": (nodes[0].node_id,)}
            for _ in range(2):  # there is one such card, and none beside it
                group = place(config).to_placement_group()
                ray.get(group.ready())
                (node,) = ray.util.placement_group_table(group)["bundles_to_node_id"].values()
                assert node == nodes[1].node_id
                ray.util.remove_placement_group(group)
    finally:
        cluster.shutdown()


@pytest.mark.guard
def test_two_nodes_share_the_results_and_the_checkpoints(noisy_grid, results):
    grid = noisy_grid(4000)
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        with joined(cluster.address):
            runner = TuneRunner(Resources(), checkpoint_s=0.5)
            assert runner.machine().slots == 2
            sweep = sweep_of(grid, results, runner, pack_seconds=1e-9)
            runner.run(sweep)
    finally:
        cluster.shutdown()
    assert sweep.queue.ended == {0: "ok", 1: "ok"}
    assert not list(Path(results, ".scratch").iterdir())
    assert not list(Path(results).glob(".probe*"))


def test_tune_forgets_trials_that_ended_and_writes_no_state_of_them(noisy_grid, tmp_path, monkeypatch):
    """What a pack leaves with the driver would grow with their number, and be written again at each checkpoint."""
    from orchestrator.ray.controller import SweepController

    held, written = [], []
    step, save = SweepController.step, SweepController.save_to_dir

    def step_and_look(controller):
        step(controller)
        held.append(controller)

    def save_and_look(controller):
        save(controller)
        written.append(Path(controller.experiment_state_path).stat().st_size)

    monkeypatch.setattr(SweepController, "step", step_and_look)
    monkeypatch.setattr(SweepController, "save_to_dir", save_and_look)
    grid = noisy_grid(500)
    with joined("local"):
        runner = TuneRunner(Resources(), checkpoint_s=0.0)
        sweep = sweep_of(grid, str(tmp_path / "results"), runner, pack_seconds=1e-9)
        runner.run(sweep)
    assert list(sweep.queue.ended.values()) == ["ok", "ok"]
    last = held[-1]
    assert not last.get_trials() and not last.get_live_trials() and not last._stopped_trials
    assert len(written) == 1 and written[0] < 20_000


class Workers(tune.Callback):
    """How many trials each worker ended."""

    def __init__(self):
        self.trials = Counter()

    def on_trial_result(self, iteration, trials, trial, result, **info):
        self.trials[result["worker"]] += 1


class SecondStartsLate(tune.Trainable):
    """One step. The first worker is ready at once, each other one when the first has ended 30 trials; the first ends its last
    trials only when another is ready or has been ended."""

    n_ended = 0

    def setup(self, config, made=None):
        self.made = made
        (made / str(os.getpid())).touch()
        if len(list(made.iterdir())) > 1:
            wait_for((made.parent / "many ended").exists)
            (made.parent / "another is ready").touch()

    def reset_config(self, config):
        return True

    def step(self):
        SecondStartsLate.n_ended += 1
        if self.n_ended == 30:
            (self.made.parent / "many ended").touch()
        if self.n_ended == 100:
            wait_for(lambda: (self.made.parent / "another is ready").exists() or len(list(self.made.iterdir())) > 2)
        return {"done": True, "worker": os.getpid()}


def test_a_worker_that_starts_comes_to_train_though_another_falls_free_before(tmp_path):
    """Tune alone ends each worker on a machine that joins before it is ready, and starts the next."""
    made, seen = tmp_path / "made", Workers()
    made.mkdir()
    with joined("local"), tuned(local=True):
        trainable = tune.with_parameters(SecondStartsLate, made=made)
        trainable = tune.with_resources(trainable, {"cpu": ray.cluster_resources()["CPU"] / 2})
        tuning = tune.TuneConfig(num_samples=150, reuse_actors=True, max_concurrent_trials=3)
        run = tune.RunConfig(
            storage_path=str(tmp_path / "tune"),
            callbacks=[seen],
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            verbose=0,
        )
        tune.Tuner(trainable, tune_config=tuning, run_config=run).fit()
    assert len(list(made.iterdir())) == len(seen.trials) == 2
    assert seen.trials.total() == 150


@given(st.lists(st.integers(0, 30), unique=True))
def test_runs_keep_the_numbers_and_their_order(numbers):
    found = runs(numbers)
    assert [n for first, end in found for n in range(first, end)] == numbers
    assert all(end != first for (_, end), (first, _) in pairwise(found))


def test_a_worker_finds_the_cells_of_a_pack_in_whichever_chunks_hold_them(noisy_grid, monkeypatch):
    worker = pack_of(noisy_grid(1000))
    worker.chunk = (-1, ())
    worker.shared["chunks"] = [pickle.dumps(list(range(first, first + CHUNK))) for first in (0, CHUNK, 2 * CHUNK)]
    monkeypatch.setattr("orchestrator.ray.runner.ray.get", lambda chunk: chunk)
    assert worker._members(((5, 7), (2 * CHUNK - 1, 2 * CHUNK + 2), (3, 4))) == [5, 6, *range(2 * CHUNK - 1, 2 * CHUNK + 2), 3]


def test_a_kill_by_rays_memory_monitor_does_not_end_the_sweep(noisy_grid, tmp_path, monkeypatch):
    """Tune raises where the monitor ended a worker."""
    from ray.air.execution._internal import event_manager

    get, left = ray.get, [1]

    class Shim:
        def __getattr__(self, name):
            return getattr(ray, name)

        @staticmethod
        def get(future):
            result = get(future)
            if left[0] and isinstance(result, dict) and "fraction" in result:
                left[0] -= 1
                raise ray.exceptions.OutOfMemoryError("1 worker(s) were killed due to the node running low on memory")
            return result

    monkeypatch.setattr(event_manager, "ray", Shim())
    with joined("local"):
        runner = TuneRunner(Resources())
        sweep = sweep_of(noisy_grid(500), str(tmp_path / "results"), runner)
        runner.run(sweep)
    assert left == [0]
    assert sorted(sweep.queue.ended.values()) == ["ok", "ok"]
    assert not sweep.queue.in_flight and not sweep.queue.fatal


def test_packs_are_kept_whole_at_first_and_halved_where_nothing_ends(noisy_grid, tmp_path):
    class Alone:
        def machine(self):
            return Machine(slots=1, bytes_per_pack=10**9)

    sweep = sweep_of(noisy_grid(500), str(tmp_path / "results"), Alone())
    error = ray.exceptions.OutOfMemoryError("the node running low on memory")
    sizes = []
    for kills in range(4):
        sizes.append(len(sweep.queue.next().cells))
        _after_memory_kill(sweep, error, kills)
    assert sizes == [2, 2, 2, 1]
    assert sweep.queue.ended == {0: "failed"} and sweep.queue.n_pending == 1
    with connect(str(tmp_path / "results")) as connection:
        ((reason,),) = connection.execute("select reason from cells where status = 'failed'").fetchall()
    assert "low on memory" in reason


def test_a_worker_lost_between_two_packs_costs_no_pack(noisy_grid, results, tmp_path, monkeypatch):
    """Tune gives up a trial whose worker dies as it is handed over, as workers do with their machine."""
    lost = tmp_path / "lost"

    class Handed(PackTrainable):
        def reset(self, new_config, storage=None):
            if not lost.exists():
                lost.touch()
                os._exit(1)
            return super().reset(new_config, storage)

    monkeypatch.setattr("orchestrator.ray.runner.PackTrainable", Handed)
    grid = noisy_grid(500)
    with joined(None):
        runner = TuneRunner(Resources(), max_concurrent=1)
        sweep = sweep_of(grid, results, runner, pack_seconds=1e-9)
        runner.run(sweep)
    assert lost.exists()
    assert connect(results).execute("select status, count(*) from cells group by all").fetchall() == [("ok", 2)]


def test_a_pack_asks_for_whole_parts_of_the_memory():
    """Small packs ask for the same, so that Tune hands workers on; no pack asks for more than a node has."""
    from orchestrator.plan.machine import Node
    from orchestrator.ray.runner import _placement

    machine = Machine.of([Node(4, 40 * 2**30)], None, None, "auto")
    asked = _placement(Resources(), machine)

    def memory(share: float) -> float:
        (bundle,) = asked({"device": "cpu", "bytes": int(share * machine.bytes_per_pack)}).bundles
        return bundle["memory"] / 2**30

    assert [memory(share) for share in (0.1, 1, 1.1, 4, 9)] == pytest.approx([10, 10, 20, 40, 40])
    assert all(4 * memory(share) <= 40 for share in (0.1, 1))
    assert "memory" not in asked({"device": "cuda", "bytes": 1, "share": 1.0, "avoided": ()}).bundles[0]
