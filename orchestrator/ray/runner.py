"""Packs as Ray Tune trials, one trial each. Actors are reused; if a worker is lost, its pack goes on from a checkpoint."""

import json
import os
import pickle
import shutil
import tempfile
import time
import uuid
import warnings
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import ceil
from typing import Any

from orchestrator.ray.cluster import check_nodes, machine_of_cluster  # isort: split

import ray
from ray import tune
from ray.tune.result import DONE, SHOULD_CHECKPOINT
from ray.tune.search import Searcher

from orchestrator.code import code_facts
from orchestrator.grid.planned import PlannedCell
from orchestrator.grid.top import Resources
from orchestrator.plan.machine import MEMORY_SHARE, Machine
from orchestrator.plan.packing import Pack
from orchestrator.ray.controller import tuned
from orchestrator.ray.liveness import Watch
from orchestrator.ray.machine_check import misfit
from orchestrator.ray.scratch import remove, scratch_directory
from orchestrator.running.driver import Sweep
from orchestrator.running.interrupts import give_up
from orchestrator.running.worker import Failure, PackWork
from sweepkit.store.files import ResultsError
from sweepkit.store.leases import BEAT_EVERY_S
from sweepkit.store.training_now import CURVES
from trainables.allocator import give_back
from trainables.basics import CardFault, CardUnusable
from trainables.trainers.card.faults import card_faults

STEP_S = 1.0
"""Seconds that a worker trains between two reports, if there are few slots."""
MOST_REPORTS_A_S = 50.0
"""Most reports per second of all workers together: the driver takes some milliseconds for each, and it also starts packs."""
CHECKPOINT_S = 30.0
"""Seconds between two checkpoints of a long pack. The loss of a worker costs at most about this time."""
BYTES_A_S = 1e9
"""Bytes of a pack that a checkpoint writes in a second, before the first one was timed."""
SAVING_SHARE = 0.05
"""Most of its time that a pack spends on checkpoints: a thousand large networks have many GB of weights."""
WORKER_LOSSES = 2
"""Number of times that a pack goes on after the loss of its worker. After one more loss the pack has failed, and is halved."""
CHUNK = 250
"""Cells that a worker loads together. Cells that share a pack lie side by side, so that a chunk holds a few packs."""

Runs = tuple[tuple[int, int], ...]
"""Numbers as runs of consecutive ones, each run as its first number and the number after its last.

Runs are short, and Tune copies and prints everything that a trial gets.
"""


class PackTrainable(tune.Trainable):
    """Trains the packs that Tune hands to this actor, one after the other."""

    pack: dict[str, Any]
    work: PackWork | None
    """The pack in training. It is made at the first step, so that a failure there is reported like any other."""

    def setup(self, config: dict[str, Any], shared: dict[str, Any] | None = None) -> None:
        from orchestrator.grid.own.files import register_user_file

        assert shared is not None  # with_parameters gives it
        for user_file in shared["user_files"]:
            register_user_file(user_file)
        # This machine may have joined after the driver checked all, for example in place of a lost machine.
        # The lease is gone for a moment if another driver took this sweep for dead and deleted its lease.
        self.misfit = ""
        if shared["lease"]:
            self.misfit = misfit(shared["provenance"].results, shared["lease"], shared["code"], patience_s=2 * BEAT_EVERY_S)
        self.chunk: tuple[int, Sequence[PlannedCell]] = (-1, ())
        self.bytes_a_s = BYTES_A_S
        self.shared = shared
        self.reset_config(config)

    def reset_config(self, config: dict[str, Any]) -> bool:
        """Tune reuses the actor for another pack."""
        self.pack, self.work, self.saved, self.restored = config, None, time.monotonic(), None
        return True

    def step(self) -> dict[str, Any]:
        if self.misfit:
            return {DONE: True, "fraction": 1.0, "fatal": self.misfit}
        try:
            work = self._work()
            outcome = work.advance(self.shared["step_s"], self.shared["provenance"])
        except ResultsError as error:
            return {DONE: True, "fraction": 1.0, "fatal": str(error)}
        except CardUnusable as error:
            self.work = None
            return {DONE: True, "fraction": 1.0, "unusable": str(error), "node": _node()}
        except CardFault as error:
            raise CardFault(str(error), _node()) from None  # ends this actor: Tune gives the pack to another one
        except Exception as error:  # noqa: BLE001 - whatever a cell raises becomes its row; the sweep goes on
            self.work = None
            return {DONE: True, "fraction": 1.0, "failure": Failure.of(error)}
        if outcome:
            self.work = None
            give_back()
            return {DONE: True, "fraction": 1.0, "outcome": outcome}
        return {"fraction": work.fraction, SHOULD_CHECKPOINT: self._checkpoint_is_due()}

    def _checkpoint_is_due(self) -> bool:
        """Enough time has passed, also in view of how long the last one took, and the disk has room for it."""
        takes = self.pack["bytes"] / self.bytes_a_s
        if time.monotonic() - self.saved < max(self.shared["checkpoint_s"], takes / SAVING_SHARE):
            return False
        return shutil.disk_usage(tempfile.gettempdir()).free > 2 * self.pack["bytes"]

    def _work(self) -> PackWork:
        if self.work is None:
            members = self._members(self.pack["cells"])
            self.work = PackWork(self.pack["pack_id"], members, self.pack["engine"], self.pack["device"], self.shared["threads"])
            if self.restored:
                with card_faults(self.pack["device"]):
                    self.work.run.load(self.restored)
                self.restored = None
        return self.work

    def _members(self, places: Runs) -> list[PlannedCell]:
        """The cells at these places in the chunks. Workers load chunks as they need them, because all chunks
        would fill a worker's memory."""
        found: list[PlannedCell] = []
        for first, end in places:
            while first < end:
                number, at = divmod(first, CHUNK)
                if self.chunk[0] != number:
                    self.chunk = number, pickle.loads(ray.get(self.shared["chunks"][number]))
                found += self.chunk[1][at : at + end - first]
                first = min(end, (number + 1) * CHUNK)
        return found

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        started = time.monotonic()
        try:
            with open(os.path.join(checkpoint_dir, "run.pickle"), "wb") as file, card_faults(self.pack["device"]):
                pickle.dump(self._work().run.state(copied=False), file, protocol=5)  # a copy would take the memory twice
            with open(os.path.join(checkpoint_dir, CURVES), "w") as curves:  # for whoever looks at the sweep
                json.dump(self._work().curves_so_far(), curves)
        except CardFault as error:
            raise CardFault(str(error), _node()) from None
        self.saved = time.monotonic()
        self.bytes_a_s = self.pack["bytes"] / max(self.saved - started, 1e-3)

    def load_checkpoint(self, checkpoint_dir: str) -> None:  # type: ignore[override]
        with open(os.path.join(checkpoint_dir, "run.pickle"), "rb") as file:
            self.restored = pickle.load(file)  # loaded at the next step, so that a failure there is reported like any other


class PackSearcher(Searcher):
    """Gives Tune the next pack only when Tune has room for it, so that the size of a pack follows the times measured so far."""

    def __init__(self, sweep: Sweep, waiting: int, place: Sequence[int]) -> None:
        super().__init__(metric="fraction", mode="max")
        self.sweep, self.waiting, self.place = sweep, waiting, place
        self.packs: dict[str, Pack] = {}

    def suggest(self, trial_id: str) -> Any:
        self.sweep.redraw()  # Tune asks many times a second: so the clock goes on while workers start
        if self.sweep.queue.draining:
            return Searcher.FINISHED
        rooms = self._rooms()
        if not rooms:
            return None
        pack = next(filter(None, (self.sweep.queue.next((device,)) for device in rooms)), None)
        if pack is None:
            # A pack in flight may fail and come back as two halves: the sweep ends when no pack is in flight.
            return None if self.sweep.queue.in_flight else Searcher.FINISHED
        self.packs[trial_id] = pack
        self.sweep.started(pack)
        places = runs(self.place[i] for i in pack.cells)
        told = {name: getattr(pack, name) for name in ("pack_id", "engine", "device", "share", "bytes")}
        return {**told, "cells": places, "avoided": tuple(filter(None, self.sweep.avoided))}

    def _rooms(self) -> list[str]:
        """The devices that have room for a pack, cards first. On each some packs wait for a worker: so Tune hands it on to the
        next pack as it is, and an autoscaler sees the demand. A core stays free for each pack on a card."""
        machine, packs = self.sweep.queue.machine, self.sweep.queue.in_flight.values()
        taken, on_cards = sum(p.share for p in packs), sum(p.device == "cuda" for p in packs)
        cores = machine.slots - min(on_cards, ceil(machine.cards / (machine.asked_share or 1)), machine.slots - 1)
        places = sum(machine.places(p.bytes) for p in packs if p.device == "cpu")
        rooms = ["cuda"] * (machine.cards > 0 and taken < machine.cards + self.waiting)
        return rooms + ["cpu"] * (places < cores + self.waiting)

    def __getstate__(self) -> dict[str, Any]:
        """Tune writes its searcher to disk; a live sweep stays out of it."""
        return self.__dict__ | {"sweep": None, "place": (), "packs": {}}

    def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
        """Do nothing. Tune requires the method; Reporter reports the ends of trials, as it also knows why a trial failed."""

    def save(self, checkpoint_path: str) -> None:
        """Do nothing: a sweep resumes from the store."""

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing: a sweep resumes from the store."""


class Reporter(tune.Callback):
    """Passes the reports of trials on to the sweep."""

    def __init__(self, sweep: Sweep, searcher: PackSearcher) -> None:
        self.sweep, self.searcher = sweep, searcher

    def __getstate__(self) -> dict[str, Any]:
        """Tune writes its callbacks to disk; a live sweep stays out of it."""
        return {}

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        pack_id = self.searcher.packs[trial.trial_id].pack_id
        if "outcome" in result:
            self.sweep.committed(pack_id, result["outcome"])
        elif "failure" in result:
            self.sweep.failed(pack_id, result["failure"])
        elif "unusable" in result:
            self.sweep.card_unusable(pack_id, result["unusable"], result["node"], _cards_of(result["node"]))
        elif "fatal" in result:
            self.sweep.queue.lost(pack_id)
            self.sweep.cannot_go_on(result["fatal"])
        else:
            self.sweep.progressed(pack_id, result["fraction"])

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.searcher.packs.pop(trial.trial_id, None)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        pack = self.searcher.packs.pop(trial.trial_id)
        pack_id, error = pack.pack_id, trial.ended_by
        cause = getattr(error, "cause", None)
        if isinstance(cause, CardFault):
            reason, node = (*cause.args, "")[:2]
            return self.sweep.card_unusable(pack_id, f"{WORKER_LOSSES + 1} times: {reason}", node, _cards_of(node))
        # For an actor that never ran, Tune has only a text.
        failure = Failure.of(error if isinstance(error, BaseException) else RuntimeError(str(error or "the worker was lost")))
        if isinstance(error, ray.exceptions.ActorDiedError):
            failure = replace(failure, reason=f"the worker died {WORKER_LOSSES + 1} times: {failure.reason}")
        self.sweep.failed(pack_id, failure)


class TuneRunner:
    """Runs a sweep's packs on the Ray that this process has joined."""

    def __init__(
        self,
        resources: Resources,
        max_concurrent: int | None = None,
        checkpoint_s: float = CHECKPOINT_S,
        nodes_may_join: bool = False,
        scratch: str = "",
    ) -> None:
        self.resources, self.max_concurrent, self.checkpoint_s = resources, max_concurrent, checkpoint_s
        self.nodes_may_join, self.scratch = nodes_may_join, scratch

    def card_rates(self) -> object:
        """Rates of one of the cluster's cards. RuntimeError or TimeoutError if it cannot be measured now."""
        from orchestrator.cost.calibration import MEASURE_CARD_S

        asked = _card_rates.remote()
        try:
            return ray.get(asked, timeout=MEASURE_CARD_S)
        except ray.exceptions.GetTimeoutError as error:
            ray.cancel(asked, force=True)  # or it would take a card later
            raise TimeoutError("no card was free") from error
        except ray.exceptions.RayError as error:
            raise RuntimeError(str(error)) from error

    def machine(self) -> Machine:
        """The room for packs in the cluster. ClusterError if it can never run a pack."""
        return machine_of_cluster(self.resources, self.max_concurrent)

    def run(self, sweep: Sweep) -> None:
        several_nodes = check_nodes(sweep.store.results) or self.nodes_may_join
        cells, order = sweep.grid.cells, sweep.queue.side_by_side(sweep.later)
        place = array("q", bytes(8 * len(cells)))  # position of each cell in `order`
        for k, i in enumerate(order):
            place[i] = k
        chunks = ([cells[i] for i in order[k : k + CHUNK]] for k in range(0, len(order), CHUNK))
        shared = {
            # Pickled apart from the rest: a worker can unpickle a user's task only after it has registered the task's file.
            "chunks": [ray.put(pickle.dumps(chunk)) for chunk in chunks],
            "user_files": sweep.grid.user_files,
            "provenance": sweep.provenance,
            "code": code_facts(),
            "lease": sweep.lease.path if sweep.store.files.entry(sweep.lease.path) else "",
            "threads": max(1, int(self.resources.cpus_per_pack)),
            "checkpoint_s": self.checkpoint_s,
            "step_s": max(STEP_S, sweep.queue.machine.slots / MOST_REPORTS_A_S),
        }
        trainable = tune.with_parameters(PackTrainable, shared=shared)
        machine = sweep.queue.machine
        trainable = tune.with_resources(trainable, _placement(self.resources, machine))
        # One pack waits for the next free slot; on a cluster more packs wait, so that an autoscaler sees the demand.
        waiting = min(16, machine.slots) if several_nodes else 1
        # The searcher counts the packs in flight on each kind of device, and Tune may start all workers together.
        os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(10**9)
        watch = Watch(lambda reason: give_up(sweep, reason))
        own = nullcontext(self.scratch) if self.scratch else scratch_directory(sweep.store.results, several_nodes)
        with own as scratch, warnings.catch_warnings(), watch:
            sweep.on_leaving.append(lambda: remove(scratch))
            sweep.lease.tell(scratch=scratch)
            warnings.simplefilter("ignore")  # Tune's own deprecations are not the user's concern
            kills, ended = 0, -1
            while True:
                try:
                    return self._fit(sweep, trainable, PackSearcher(sweep, waiting, place), scratch)
                except RuntimeError as error:
                    # Ray's memory monitor ended a worker. Tune does not expect this end of a trial, and gives up the whole run.
                    if not isinstance(error.__cause__, ray.exceptions.OutOfMemoryError):
                        raise
                    kills = 0 if len(sweep.queue.ended) > ended else kills + 1
                    ended = len(sweep.queue.ended)
                    _after_memory_kill(sweep, error.__cause__, kills)

    def _fit(self, sweep: Sweep, trainable: Any, searcher: PackSearcher, scratch: str) -> None:
        tuning = tune.TuneConfig(
            search_alg=searcher,
            num_samples=-1,
            reuse_actors=True,
            max_concurrent_trials=self.max_concurrent,
            trial_dirname_creator=lambda trial: trial.trial_id,  # Tune's default name would hold the whole pack
        )
        run = tune.RunConfig(
            name=f"sweep-{uuid.uuid4().hex[:12]}",
            storage_path=scratch,
            callbacks=[Reporter(sweep, searcher)],
            failure_config=tune.FailureConfig(max_failures=WORKER_LOSSES),
            checkpoint_config=tune.CheckpointConfig(num_to_keep=1, checkpoint_at_end=False),
            verbose=0,
        )
        with tuned(local=not self.nodes_may_join):
            tune.Tuner(trainable, tune_config=tuning, run_config=run).fit()


@ray.remote(num_gpus=1, num_cpus=1)
def _card_rates() -> dict[str, dict[str, float]]:
    from orchestrator.cost.measure import card_rates

    return card_rates()


def _node() -> str:
    """Ray's name of the machine of this process."""
    return str(ray.get_runtime_context().get_node_id())


def _cards_of(node: str) -> int:
    """Number of cards of a machine of the cluster; all cards if Ray does not know it any more."""
    known = {one["NodeID"]: one["Resources"] for one in ray.nodes()}
    return int(known.get(node, ray.cluster_resources()).get("GPU", 1))


def runs(numbers: Iterable[int]) -> Runs:
    """The numbers, in their order, as runs of consecutive ones."""
    found: list[list[int]] = []
    for n in numbers:
        if found and found[-1][1] == n:
            found[-1][1] += 1
        else:
            found.append([n, n + 1])
    return tuple((first, end) for first, end in found)


def _after_memory_kill(sweep: Sweep, error: ray.exceptions.OutOfMemoryError, kills: int) -> None:
    """Put the packs in flight back into the queue, or count them as failed after more than WORKER_LOSSES kills in a row.

    Kills are in a row if no cell ended between them. The first kills may be due to the memory of another program.
    """
    for pack_id in list(sweep.queue.in_flight):
        if kills < WORKER_LOSSES:
            sweep.queue.lost(pack_id)
        else:
            sweep.failed(pack_id, Failure.of(error))
    sweep.changed()


def _placement(want: Resources, machine: Machine) -> Any:
    """Resources of a pack: its cores, and on a card its share, else whole parts of the memory: Tune hands a worker on only to a
    pack that asks for the same."""

    def of_pack(config: Mapping[str, Any]) -> tune.PlacementGroupFactory:
        bundle: dict[str, float] = {"CPU": want.cpus_per_pack}
        if config["device"] == "cuda":
            bundle["GPU"] = config["share"]
        else:
            bundle["memory"] = int(machine.reserved(config["bytes"]) / MEMORY_SHARE)  # nodes offer all their memory to Ray
        if config["device"] == "cuda" and config["avoided"]:
            others = {"ray.io/node-id": f"!in({','.join(config['avoided'])})"}
            return tune.PlacementGroupFactory([bundle], bundle_label_selector=[others])
        return tune.PlacementGroupFactory([bundle])

    return of_pack
