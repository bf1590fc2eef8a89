"""Packs as Ray Tune trials, one each: actors reused, worker losses resumed from a checkpoint, everything else quiet."""

import logging
import os
import pickle
import shutil
import socket
import tempfile
import time
import uuid
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Read by Ray when it is imported.
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")  # the sweep drains instead
os.environ.setdefault("TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S", "0")
os.environ.setdefault("RAY_CHDIR_TO_TRIAL_DIR", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")

import ray
from ray import tune
from ray.tune.result import DONE, SHOULD_CHECKPOINT
from ray.tune.search import Searcher

from orchestrator.driver import Sweep
from orchestrator.grid import Resources
from orchestrator.packing import Machine, Pack
from orchestrator.work import Failure, PackWork
from store.files import ResultsError

STEP_S = 1.0
"""How long a worker trains between two reports."""
CHECKPOINT_S = 30.0
"""How often a long pack is checkpointed: a lost worker costs at most about this."""
WORKER_LOSSES = 2
"""How often a pack is taken up again after its worker died, before its halves are tried alone."""
_GPU_SHARES = (1, 2, 4, 8)


class ClusterError(Exception):
    """The cluster cannot do what the sweep asks; the message says what it has."""


class PackTrainable(tune.Trainable):
    """Trains the packs that Tune hands to this actor, one after the other."""

    pack: dict[str, Any]
    work: PackWork | None
    """The pack in training; made at its first step, so that a failure to make it is reported like any other."""

    def setup(self, config: dict[str, Any], shared: dict[str, Any] | None = None) -> None:
        from orchestrator.user_tasks import register_task_file

        assert shared is not None  # with_parameters gives it
        for task_file in shared["task_files"]:
            register_task_file(task_file)
        self.cells = pickle.loads(shared["cells"])  # their tasks are known only now
        self.shared = shared
        self.reset_config(config)

    def reset_config(self, config: dict[str, Any]) -> bool:
        """Tune reuses the actor for another pack."""
        self.pack, self.work, self.saved = config, None, time.monotonic()
        return True

    def step(self) -> dict[str, Any]:
        try:
            work = self._work()
            work.run.advance(STEP_S)
        except Exception as error:  # noqa: BLE001 - whatever a cell raises becomes its row; the sweep goes on
            self.work = None
            return {DONE: True, "fraction": 1.0, "failure": Failure.of(error)}
        if work.run.done:
            self.work = None
            try:
                return {DONE: True, "fraction": 1.0, "outcome": work.commit(self.shared["provenance"])}
            except ResultsError as error:
                return {DONE: True, "fraction": 1.0, "fatal": str(error)}
        due = time.monotonic() - self.saved > self.shared["checkpoint_s"]
        return {"fraction": work.fraction, SHOULD_CHECKPOINT: due}

    def _work(self) -> PackWork:
        if self.work is None:
            members = [self.cells[i] for i in self.pack["cells"]]
            self.work = PackWork(self.pack["pack_id"], members, self.pack["engine"], self.pack["device"], self.shared["threads"])
        return self.work

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        self.saved = time.monotonic()
        state = self._work().run.state()
        Path(checkpoint_dir, "run.pickle").write_bytes(pickle.dumps(state))

    def load_checkpoint(self, checkpoint_dir: str) -> None:  # type: ignore[override]
        state = pickle.loads(Path(checkpoint_dir, "run.pickle").read_bytes())
        self._work().run.load(state)


class PackSearcher(Searcher):
    """Gives Tune the next pack only when it has room for one, so that sizes follow what was measured so far."""

    def __init__(self, sweep: Sweep) -> None:
        super().__init__(metric="fraction", mode="max")
        self.sweep = sweep
        self.packs: dict[str, Pack] = {}

    def suggest(self, trial_id: str) -> Any:
        pack = self.sweep.queue.next()
        if pack is None:
            # A pack in flight may fail and come back as two halves: the end is when none is.
            return None if self.sweep.queue.in_flight and not self.sweep.queue.draining else Searcher.FINISHED
        self.packs[trial_id] = pack
        self.sweep.changed()
        return {"pack_id": pack.pack_id, "cells": pack.cells, "engine": pack.engine, "device": pack.device, "bytes": pack.bytes}

    def __getstate__(self) -> dict[str, Any]:
        """Tune writes its searcher to disk; a live sweep stays out of it."""
        return self.__dict__ | {"sweep": None, "packs": {}}

    def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
        """Tune needs it; the reports come through Reporter, which also knows why a trial failed."""

    def save(self, checkpoint_path: str) -> None:
        """Nothing to save: a sweep resumes from the store."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing to restore: a sweep resumes from the store."""


class Reporter(tune.Callback):
    """Carries what trials report to the sweep."""

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
        elif "fatal" in result:
            self.sweep.cannot_go_on(result["fatal"])
        else:
            self.sweep.progressed(pack_id, result["fraction"])

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        pack_id = self.searcher.packs[trial.trial_id].pack_id
        error = trial.get_error() or RuntimeError("the worker was lost")
        failure = Failure.of(error)
        reason = f"the worker died {WORKER_LOSSES + 1} times: {failure.reason}"
        self.sweep.failed(pack_id, Failure(reason, failure.log, failure.out_of_memory))


class TuneRunner:
    """Runs a sweep's packs on a local Ray or on the cluster at `address`. Use as a context: Ray is up inside it."""

    def __init__(
        self, address: str | None, resources: Resources, max_concurrent: int | None = None, checkpoint_s: float = CHECKPOINT_S
    ) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS")
        self.resources, self.max_concurrent, self.checkpoint_s = resources, max_concurrent, checkpoint_s

    def __enter__(self) -> "TuneRunner":
        logging.getLogger("ray").setLevel(logging.CRITICAL)  # errors reach the user as rows with a reason, and a log
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
        if self.address and self.address != "local":
            try:
                _knock(self.address)
                ray.init(address=self.address, **quiet)
            except (OSError, RuntimeError, ValueError) as error:
                raise ClusterError(f"no Ray cluster answers at {self.address!r}: {error}") from error
        else:
            cpus = len(os.sched_getaffinity(0))
            ray.init(address="local", num_cpus=cpus, include_dashboard=False, object_store_memory=200 * 2**20, **quiet)
        return self

    def __exit__(self, *_: object) -> None:
        ray.shutdown()

    def machine(self) -> Machine:
        """What the cluster offers for packs. ClusterError when it can never run one."""
        have, want = ray.cluster_resources(), self.resources
        cpus, gpus = have.get("CPU", 0), have.get("GPU", 0)
        largest = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
        if want.cpus_per_pack > largest:
            raise ClusterError(
                f"cpus_per_pack is {want.cpus_per_pack:g}, but the largest node has {largest:g} CPUs: "
                "the packs would wait for ever; ask for less under `resources:` in the grid"
            )
        if want.gpus_per_pack != "auto" and want.gpus_per_pack > gpus:
            raise ClusterError(
                f"gpus_per_pack is {want.gpus_per_pack:g}, but the cluster has {gpus:g} GPUs: "
                "the packs would wait for ever; ask for less under `resources:` in the grid, or `auto`"
            )
        slots = max(1, int(cpus // want.cpus_per_pack))
        use_gpus = gpus > 0 and want.gpus_per_pack != 0
        return Machine(
            slots=min(slots, self.max_concurrent or slots),
            bytes_per_pack=int(0.8 * have.get("memory", 2**32) / slots),
            gpu_slots=int(gpus) if use_gpus else 0,
            gpu_bytes=int(0.8 * _card_bytes()) if use_gpus else 0,
        )

    def run(self, sweep: Sweep) -> None:
        scratch = Path(tempfile.mkdtemp(prefix="sweep-"))
        threads = max(1, int(self.resources.cpus_per_pack))
        shared = {
            "cells": pickle.dumps(sweep.grid.cells),
            "task_files": sweep.grid.task_files,
            "provenance": sweep.provenance,
            "threads": threads,
            "checkpoint_s": self.checkpoint_s,
        }
        trainable = tune.with_resources(tune.with_parameters(PackTrainable, shared=shared), self._placement(sweep.queue.machine))
        searcher = PackSearcher(sweep)
        os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(min(16, max(1, sweep.queue.machine.slots // 2)))
        tuner = tune.Tuner(
            trainable,
            tune_config=tune.TuneConfig(
                search_alg=searcher,
                num_samples=-1,
                reuse_actors=True,
                max_concurrent_trials=self.max_concurrent,
                trial_dirname_creator=lambda trial: trial.trial_id,  # by default it would spell the whole pack
            ),
            run_config=tune.RunConfig(
                name=f"sweep-{uuid.uuid4().hex[:12]}",
                storage_path=str(scratch),
                callbacks=[Reporter(sweep, searcher)],
                failure_config=tune.FailureConfig(max_failures=WORKER_LOSSES),
                checkpoint_config=tune.CheckpointConfig(num_to_keep=1, checkpoint_at_end=False),
                verbose=0,
            ),
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Tune's own deprecations are not the user's concern
                tuner.fit()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _placement(self, machine: Machine) -> Any:
        """Resources of a pack: its cores, and as a GPU pack its share 1/k of a card by memory."""

        def of_pack(config: Mapping[str, Any]) -> tune.PlacementGroupFactory:
            bundle: dict[str, float] = {"CPU": self.resources.cpus_per_pack}
            if config["device"] == "cuda":
                bundle["GPU"] = gpu_share(config["bytes"], machine.gpu_bytes, self.resources.gpus_per_pack)
            return tune.PlacementGroupFactory([bundle])

        return of_pack


def gpu_share(pack_bytes: int, gpu_bytes: int, asked: float | str = "auto") -> float:
    """1/k of a card, the largest k in 1, 2, 4, 8 whose share of the memory holds the pack; or what the grid asks for."""
    if asked != "auto":
        return float(asked)
    return 1 / max((k for k in _GPU_SHARES if k * pack_bytes <= gpu_bytes), default=1)


def _knock(address: str) -> None:
    """OSError when nobody listens at host:port: Ray itself would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def _card_bytes() -> int:
    """Memory of one of the cluster's cards, asked where it sits; 16 GiB where CUDA does not answer."""

    @ray.remote(num_gpus=0.01, num_cpus=0)
    def ask() -> int:
        import torch

        return int(torch.cuda.get_device_properties(0).total_memory) if torch.cuda.is_available() else 2**34

    return int(ray.get(ask.remote()))
