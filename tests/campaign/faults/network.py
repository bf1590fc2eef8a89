"""A sweep on two hosts (`tests.hosts`) whose network fails, or one of which dies. Both have the results' directory all along."""

import re
import shutil

import psutil

from tests.campaign.commands import Running, title
from tests.campaign.faults import fault
from tests.campaign.scene import BAD_INPUT, DONE, INPUTS, MISSING, Scene, Skipped
from tests.hosts import SHARED, Hosts, why_not
from tests.sweeps import wait_until

ENDINGS = {DONE, MISSING, BAD_INPUT}
"""A host that does not answer before the first pack is one that cannot take part: told at once."""
_OF_A_SWEEP = re.compile(r"orchestrator\.(sweep|store)|ray::(Pack|Resource)Trainable")
JOIN_S = 120.0


def _on_two_hosts(scene: Scene) -> Hosts:
    """Hosts `head` and `worker` with a Ray of one core each; sweeps start on the head from now on."""
    if reason := why_not():
        raise Skipped(reason)
    hosts = scene.closing.enter_context(Hosts("head", "worker"))
    scene.results, scene.elsewhere = hosts.shared / "results", f"{SHARED}/results"
    scene.where = str(scene.results)
    scene.closing.callback(_keep, scene)
    for name in INPUTS:
        shutil.copy(scene.folder / name, hosts.shared)
    scene.carrier = hosts["head"].command(["env", "-C", SHARED])
    scene.stays = _stays
    _ray(hosts, "head", "--head", "--port=6379", "--include-dashboard=false")
    _ray(hosts, "worker", f"--address={hosts.address('head')}:6379")
    words = ("python", "-m", "orchestrator.nodes", "auto", "2", "--seconds", str(JOIN_S))
    hosts["head"].run("env", "-C", SHARED, *words)
    scene.tell("two hosts are up")
    return hosts


def _ray(hosts: Hosts, name: str, *options: str) -> None:
    common = ("--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats")
    hosts[name].run("ray", "start", f"--node-ip-address={hosts.address(name)}", *common, *options)


def _stays(process: psutil.Process) -> bool:
    """Hosts and their Ray were there before the sweep."""
    return not _OF_A_SWEEP.search(title(process))


def _keep(scene: Scene) -> None:
    """The hosts' directories go with them."""
    if scene.results.is_dir():
        shutil.copytree(scene.results, scene.folder / "results")


def _begun(scene: Scene) -> Running:
    """A sweep on the head, at a random moment."""
    sweep = scene.start()
    scene.moment(sweep)
    return sweep


def _heal(scene: Scene, hosts: Hosts, sweep: Running, seconds: float) -> None:
    """Let the network be whole again after so long, or once the sweep has ended; then see the end of it."""
    wait_until(lambda: not sweep.runs, seconds)
    hosts.restore("worker")
    scene.tell("the network is whole again")
    scene.finish(sweep, ENDINGS)


@fault("network-cut", rare=True)
def network_cut(scene: Scene) -> None:
    """The network of the other host is cut for 1 to 60 s; Ray gives a host up after some 20."""
    hosts = _on_two_hosts(scene)
    sweep = _begun(scene)
    seconds = scene.rng.choice([1, 5, 15, 30, 60]) * scene.rng.uniform(0.7, 1)
    scene.strike(sweep, f"the network of the worker is cut for {seconds:.1f} s", lambda: hosts.cut("worker"))
    _heal(scene, hosts, sweep, seconds)


@fault("network-lost", rare=True)
def network_lost(scene: Scene) -> None:
    """The network of the other host is cut until the sweep has ended, and that host then switched off."""
    hosts = _on_two_hosts(scene)
    sweep = _begun(scene)
    scene.strike(sweep, "the network of the worker is cut", lambda: hosts.cut("worker"))
    scene.finish(sweep, ENDINGS)
    hosts.kill("worker")


@fault("network-bad", rare=True)
def network_bad(scene: Scene) -> None:
    """Packets between the hosts come late or never, for some seconds or to the end."""
    hosts = _on_two_hosts(scene)
    sweep = _begun(scene)
    delay_s, loss = scene.rng.choice([0, 0.02, 0.2, 0.5]), scene.rng.choice([0.01, 0.05, 0.2])
    what = f"packets of the worker come {delay_s:g} s late, and {loss:.0%} never"
    scene.strike(sweep, what, lambda: hosts.worsen("worker", delay_s, loss))
    _heal(scene, hosts, sweep, scene.rng.choice([5, 20, 60]))


@fault("kill-host", rare=True)
def kill_host(scene: Scene) -> None:
    """The other host loses its power."""
    hosts = _on_two_hosts(scene)
    sweep = _begun(scene)
    scene.strike(sweep, "the worker is off", lambda: hosts.kill("worker"))
    scene.finish(sweep, ENDINGS)
