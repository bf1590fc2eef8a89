"""The Ray cluster of a sweep: join or start it, find its room for packs, and check that its nodes can train."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from typing import Any

# Ray reads these when it is imported.
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")  # the sweep drains instead
os.environ.setdefault("TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S", "0")
os.environ.setdefault("RAY_CHDIR_TO_TRIAL_DIR", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")

if os.path.expanduser("~") == "~":  # as for a user without a name in a container; Ray looks for a home when it is imported
    os.environ["HOME"] = "/"  # as container engines say

import ray
from ray._private.authentication.authentication_token_setup import maybe_enable_token_auth_if_token_available
from ray._private.services import canonicalize_bootstrap_address
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.cards import UNKNOWN_CARD, Card, cards_here
from orchestrator.code import code_facts
from orchestrator.grid.top import Resources
from orchestrator.plan.machine import Machine, Node
from orchestrator.ray import start_failures
from orchestrator.ray.authentication import local_token
from orchestrator.ray.machine_check import misfit
from orchestrator.ray.scratch import remove, scratch_directory
from orchestrator.running.interrupts import LATEST_S, ends_after, reclaim
from sweepkit import FOLDER
from sweepkit.console.commands import command
from sweepkit.store.files import ResultsError, open_files, temporary
from trainables.limits import available_bytes, cores

RECLAIM_EVERY_S = 0.05
"""Seconds until our signal handlers are installed again while Ray closes. In between, a SIGTERM may end the command without a
message."""
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
PRELOADED = "trainables.trainers.run,orchestrator.ray.runner"
"""Modules that each worker of a local Ray imports as soon as it starts, while the driver still gets ready."""
START_S = 240.0
"""Seconds that a local Ray may take to start, both tries together."""
JOIN_S = 120.0
"""Seconds that a cluster may take to let this process join."""
PROBE_S = 120.0
"""Seconds that a node may take to answer; it may have to start a process and import the package."""


class ClusterError(Exception):
    """The cluster cannot do what the sweep asks; the message says what the cluster has."""


class StartError(ClusterError):
    """Ray did not start on this machine; other arguments would not help."""


@dataclass(frozen=True)
class Joined:
    """The Ray that this process has joined."""

    nodes_may_join: bool = False
    """True for a cluster, to which more nodes may come, false for a local Ray."""
    scratch: str = ""
    """The scratch directory of a local Ray, with its token."""


@contextmanager
def joined(address: str | None, on_leaving: Sequence[Callable[[], object]] = ()) -> Iterator[Joined]:
    """Inside, this process has joined Ray: the cluster at `address` or RAY_ADDRESS, else a local Ray on this machine's cores.

    ClusterError if the cluster cannot be joined, StartError if a local Ray does not start. `on_leaving`: what is called if Ray
    hangs and this process ends here.
    """
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # errors reach the user as rows with a reason, and a log
    variable = os.environ.get("RAY_ADDRESS", "")
    # To Ray itself the variable goes before `auto`.
    place, named = (address, "") if address and not (address == "auto" and variable) else (variable, ", which RAY_ADDRESS names")
    if place and place != "local":
        _join(place, named, on_leaving)
        try:
            yield Joined(nodes_may_join=True)
        finally:
            _leave()
        return
    if cause := start_failures.foreseen():
        raise _not_started(cause)
    with ExitStack() as held:
        try:
            scratch = held.enter_context(scratch_directory("", several_nodes=False))
            held.enter_context(local_token(scratch))
        except (OSError, ResultsError) as error:
            raise _not_started(str(error)) from error
        _start_local(scratch, on_leaving)
        held.callback(_leave)
        yield Joined(scratch=scratch)


def _join(address: str, named: str, on_leaving: Sequence[Callable[[], object]]) -> None:
    if address.startswith("ray://"):
        raise ClusterError(
            f"a sweep cannot run through Ray Client ({address}{named}): run it on the cluster's head, --address auto"
        )
    where = f"at {address!r}{named}"
    here = "unset RAY_ADDRESS" if named else "leave --address out"
    advice = f"; start one (from a cluster file: {command('launch', 'up', 'CLUSTER.yaml')}), or {here} to train on this machine"
    try:
        late = f"the Ray cluster {where} has not let this process join for {JOIN_S:g} s{advice}"
        with ends_after(JOIN_S, lambda: late, 2, on_leaving):
            _knock(address)
            with chdir(FOLDER):
                ray.init(address=address, **QUIET)
    except ray.exceptions.AuthenticationError as error:
        held = next((name for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH") if os.environ.get(name)), "~/.ray/auth_token")
        raise ClusterError(
            f"the Ray cluster {where} refuses this account's token: {held} must be that of the cluster's head, where sweeps are "
            "best started"
        ) from error
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise ClusterError(f"no Ray cluster answers {where}: {error}{advice}") from error


def _leave() -> None:
    """Call `ray.shutdown`, and wait for it as long as an orderly end may take.

    If a node process hangs, `ray.shutdown` waits for ever, in code that no signal interrupts. The rest of a local Ray then ends
    with this process.
    """
    closing = threading.Thread(target=ray.shutdown, daemon=True)
    closing.start()
    latest = time.monotonic() + LATEST_S
    while closing.is_alive() and time.monotonic() < latest:
        closing.join(RECLAIM_EVERY_S)
        reclaim()


def _start_local(scratch: str, on_leaving: Sequence[Callable[[], object]]) -> None:
    """Start a Ray on this machine's cores. Ray gives its processes 30 s, which is little on a busy machine: so try twice."""
    os.environ.setdefault("RAY_preload_python_modules", PRELOADED)
    offered: dict[str, Any] = {
        "num_cpus": cores(),
        "_memory": available_bytes(),
        "object_store_memory": start_failures.STORE_BYTES,
    }
    with ends_after(START_S, _too_late, 1, (lambda: remove(scratch), *on_leaving)):
        for last in (False, True):
            try:
                with chdir(FOLDER):  # workers look for modules in the driver's directory first, where a user's app.py may lie
                    ray.init(address="local", include_dashboard=False, **offered, **QUIET)
                return
            except Exception as error:  # Ray raises this very class when its processes are slow or die
                ray.shutdown()
                if last or start_failures.foreseen():
                    said = next(iter(str(error).splitlines()), type(error).__name__)
                    raise _not_started(start_failures.found(error), said) from error


def _too_late() -> str:
    late = TimeoutError(f"it has not answered for {START_S:g} s")
    return str(_not_started(start_failures.found(late), str(late)))


def _not_started(cause: str, said: str = "") -> StartError:
    """The error with the cause, or if none was found with what Ray said, what else was the case, and where Ray's logs are."""
    known = [cause]
    if not cause:
        told = {
            "Ray said": said.rstrip("."),
            "At the same time": start_failures.circumstances(),
            "Its logs": start_failures.logs(),
        }
        known = ["no cause was found on this machine", *(f"{what}: {text}" for what, text in told.items() if text)]
    return StartError(f"Ray does not start here: {'. '.join(known)}. --debug trains in this process, without Ray")


def machine_of_cluster(want: Resources, max_concurrent: int | None = None) -> Machine:
    """The room for packs in the joined cluster. ClusterError if no node can ever run a pack."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    asked = 0.0 if want.gpus_per_pack == "auto" else want.gpus_per_pack
    largest = max(node.get("CPU", 0) for node in nodes)
    wait = "packs would never start; ask for less under `resources:` in the grid"
    if want.cpus_per_pack > largest:
        raise ClusterError(f"cpus_per_pack is {want.cpus_per_pack:g}, but the largest node has {largest:g} CPUs: {wait}")
    if not any(node.get("CPU", 0) >= want.cpus_per_pack and node.get("GPU", 0) >= asked for node in nodes):
        shapes = ", ".join(sorted({f"{n.get('CPU', 0):g} CPUs and {n.get('GPU', 0):g} GPUs" for n in nodes}))
        raise ClusterError(
            f"gpus_per_pack is {asked:g} with cpus_per_pack {want.cpus_per_pack:g}, but nodes have {shapes}: {wait}, or `auto`"
        )
    rooms = [Node(int(n.get("CPU", 0) // want.cpus_per_pack), int(n.get("memory", 0)), int(n.get("GPU", 0))) for n in nodes]
    card = _card() if any(room.cards for room in rooms) and want.gpus_per_pack else None
    return Machine.of(rooms, max_concurrent, card, want.gpus_per_pack)


def check_nodes(results: str) -> bool:
    """Whether there are nodes beside this one. ClusterError if one of them runs other code or does not see the results."""
    here = ray.get_runtime_context().get_node_id()
    others = {n["NodeID"]: n["NodeManagerAddress"] for n in ray.nodes() if n["Alive"] and n["NodeID"] != here}
    if not others:
        return False
    files, probe = open_files(results), temporary("probe")
    files.write(probe, b"shared")
    try:
        answers = [
            (
                ip,
                _misfit.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(
                    results, probe, code_facts()
                ),
            )
            for node, ip in others.items()
        ]
        for ip, answer in answers:
            try:
                problem = ray.get(answer, timeout=PROBE_S)
            except ray.exceptions.RayError as error:
                raise ClusterError(f"node {ip} cannot run this package; install the project there: {error}") from error
            if problem:
                raise ClusterError(problem)
    finally:
        files.delete(probe)
    return True


@ray.remote(num_cpus=0)
def _misfit(results: str, shared_file: str, code: dict[str, str]) -> str:
    import trainables.trainers.run  # noqa: F401 - fails if the node lacks a library that training needs

    return misfit(results, shared_file, code)


def _knock(address: str) -> None:
    """Check quickly that a cluster answers; Ray itself would try for minutes.

    OSError if nobody listens at the address, AuthenticationError if the cluster refuses the token.
    """
    if address == "auto":
        address = canonicalize_bootstrap_address(address) or address  # ConnectionError if this machine runs no Ray
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()
        try:
            ray._raylet.GcsClient(address=address)  # type: ignore[attr-defined]
        except ray.exceptions.AuthenticationError:
            # Not earlier: a driver that uses tokens cannot talk with the workers of a cluster without tokens.
            if not maybe_enable_token_auth_if_token_available(warn_if_disabled=False):
                raise
            ray._raylet.GcsClient(address=address)  # type: ignore[attr-defined]


def _card() -> Card:
    """One of the cluster's cards, asked on its node; a share of it is enough, so that a busy card answers too."""

    @ray.remote(num_gpus=0.01, num_cpus=0)
    def ask() -> Card:
        return cards_here()[0] if cards_here() else UNKNOWN_CARD

    asked = ask.remote()
    try:
        found: Card = ray.get(asked, timeout=PROBE_S)
    except (ray.exceptions.GetTimeoutError, ray.exceptions.RayError):
        ray.cancel(asked)  # every card is taken, or its machine is going: packs will tell
        return UNKNOWN_CARD
    return found
