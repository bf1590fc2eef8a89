"""The Ray that a sweep runs on: joining or starting it, what it offers for packs, and whether its nodes can do their part."""

import logging
import os
import shutil
import socket
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.grid import Resources
from orchestrator.packing import MEMORY_SHARE, Machine
from store.files import LocalFiles, ResultsError, open_files

PACKS_PER_CARD = 4
"""Packs that share a card where the grid says `gpus_per_pack: auto`: one draws its data while others compute."""
PROBE_S = 120.0
"""How long a node may take to answer; it may have to start a process and import the package."""


class ClusterError(Exception):
    """The cluster cannot do what the sweep asks; the message says what it has."""


@contextmanager
def joined(address: str | None) -> Iterator[None]:
    """Ray is up inside: the cluster at `address` or RAY_ADDRESS, else a local one of this machine's cores."""
    address = address or os.environ.get("RAY_ADDRESS")
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # errors reach the user as rows with a reason, and a log
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    if address and address != "local":
        if address.startswith("ray://"):
            raise ClusterError(f"a sweep cannot run through Ray Client ({address}): run it on the cluster's head, --address auto")
        try:
            _knock(address)
            ray.init(address=address, **quiet)
        except (OSError, RuntimeError, ValueError) as error:
            raise ClusterError(f"no Ray cluster answers at {address!r}: {error}") from error
    else:
        cpus = len(os.sched_getaffinity(0))
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, object_store_memory=200 * 2**20, **quiet)
    try:
        yield
    finally:
        ray.shutdown()


def machine_of_cluster(want: Resources, max_concurrent: int | None = None) -> Machine:
    """What the joined cluster offers for packs. ClusterError when no node can ever run one."""
    have = ray.cluster_resources()
    cpus, gpus = have.get("CPU", 0), have.get("GPU", 0)
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    asked = 0.0 if want.gpus_per_pack == "auto" else want.gpus_per_pack
    largest = max(node.get("CPU", 0) for node in nodes)
    wait = "the packs would wait for ever; ask for less under `resources:` in the grid"
    if want.cpus_per_pack > largest:
        raise ClusterError(f"cpus_per_pack is {want.cpus_per_pack:g}, but the largest node has {largest:g} CPUs: {wait}")
    if not any(node.get("CPU", 0) >= want.cpus_per_pack and node.get("GPU", 0) >= asked for node in nodes):
        shapes = ", ".join(sorted({f"{n.get('CPU', 0):g} CPUs and {n.get('GPU', 0):g} GPUs" for n in nodes}))
        raise ClusterError(
            f"gpus_per_pack is {asked:g} with cpus_per_pack {want.cpus_per_pack:g}, but nodes have {shapes}: {wait}, or `auto`"
        )
    slots = max(1, int(cpus // want.cpus_per_pack))
    slots_asked = min(slots, max_concurrent or slots)
    memory = int(MEMORY_SHARE * have.get("memory", 2**32) / slots)
    if gpus == 0 or want.gpus_per_pack == 0:
        return Machine(slots_asked, memory)
    share = asked or 1 / PACKS_PER_CARD
    return Machine(slots_asked, memory, int(gpus / share), int(MEMORY_SHARE * _card_bytes() * min(1.0, share)))


def gpu_share(pack_bytes: int, machine: Machine, asked: float | str = "auto") -> float:
    """1/k of a card, the largest k in 1, 2, 4, 8 whose share of the memory holds the pack; or what the grid asks for."""
    if asked != "auto":
        return float(asked)
    card = PACKS_PER_CARD * machine.gpu_bytes_per_pack
    return 1 / max((k for k in (1, 2, 4, 8) if k * pack_bytes <= card), default=1)


def check_nodes(results: str) -> bool:
    """Whether there are nodes beside this one. ClusterError where one lacks this package or does not share the results."""
    here = ray.get_runtime_context().get_node_id()
    others = {n["NodeID"]: n["NodeManagerAddress"] for n in ray.nodes() if n["Alive"] and n["NodeID"] != here}
    if not others:
        return False
    files, probe = open_files(results), f".probe.{uuid.uuid4().hex}.inprogress"
    files.write(probe, b"shared")
    try:
        asked = {
            ip: _blind.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(results, probe)
            for node, ip in others.items()
        }
        for ip, answer in asked.items():
            try:
                why_not = ray.get(answer, timeout=PROBE_S)
            except ray.exceptions.RayError as error:
                raise ClusterError(f"node {ip} cannot run this package; install the project there: {error}") from error
            if why_not:
                raise ClusterError(f"node {ip} does not see {results}: packs trained there would be lost; {why_not}")
    finally:
        files.delete(probe)
    return True


@ray.remote(num_cpus=0)
def _blind(results: str, probe: str) -> str:
    """Why this node cannot read what the driver wrote; empty if it can."""
    import trainables.engines.run  # noqa: F401 - whether the node has the package

    try:
        return "" if open_files(results).entry(probe) else "give a shared directory or a bucket"
    except ResultsError as error:
        return f"set the same environment there before Ray starts: {error}"


@contextmanager
def scratch_directory(results: str, several_nodes: bool) -> Iterator[str]:
    """Where Tune keeps its state and checkpoints, gone afterwards: this disk, or where all nodes see it. A path or a URI."""
    if several_nodes and not isinstance(open_files(results), LocalFiles):
        with _scratch_in_bucket(results) as uri:
            yield uri
        return
    root = Path(results, ".scratch") if several_nodes else Path(tempfile.gettempdir())
    root.mkdir(parents=True, exist_ok=True)
    for left in root.glob(f"sweep-{socket.gethostname()}-*-*"):
        if _is_orphan(left.name):
            _remove(left)
    found = Path(tempfile.mkdtemp(prefix=f"sweep-{socket.gethostname()}-{os.getpid()}-", dir=root))
    try:
        yield str(found)
    finally:
        _remove(found)


@contextmanager
def _scratch_in_bucket(results: str) -> Iterator[str]:
    from pyarrow import fs  # as Tune itself reads and writes there

    bucket, root = fs.FileSystem.from_uri(f"{results}/.scratch")

    def remove(path: str) -> None:
        with suppress(OSError):  # a dying worker may still write there; the next sweep tries again
            bucket.delete_dir(path)

    for left in bucket.get_file_info(fs.FileSelector(root, allow_not_found=True)):
        if left.base_name.startswith(f"sweep-{socket.gethostname()}-") and _is_orphan(left.base_name):
            remove(left.path)
    name = f"sweep-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        yield f"{results}/.scratch/{name}"
    finally:
        remove(f"{root}/{name}")


def _is_orphan(name: str) -> bool:
    """Whether the driver on this host whose scratch it was is gone: it was killed."""
    return not Path("/proc", name.split("-")[-2]).exists()


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # a dying worker may still write there; the next sweep tries again


def _knock(address: str) -> None:
    """OSError when nobody listens at host:port: Ray itself would try for many minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def _card_bytes() -> int:
    """Memory of one of the cluster's cards, asked where it sits; 16 GiB where CUDA does not answer."""

    @ray.remote(num_gpus=0.01, num_cpus=0)
    def ask() -> int:
        import torch

        return int(torch.cuda.get_device_properties(0).total_memory) if torch.cuda.is_available() else 2**34

    return int(ray.get(ask.remote()))
