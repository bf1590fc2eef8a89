"""A cluster over several hosts, each with its own network, processes, disk and sshd, from `up` to `down`."""

import os
import pty
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sweepkit.store.views import connect
from tests import hosts as machines
from tests.hosts import HOME, SHARED, Hosts
from tests.lab import CHECKOUT, RESULTS, Lab
from tests.sweeps import counts, wait_for

pytestmark = [pytest.mark.alone, pytest.mark.ray]

GRID = """\
sweep: hosts
defaults: {steps: 1000, eval_every: 500, width: 64, batch: 32, test_size: 64}
grids:
  - {task: same_different, L: [3, 4], d: 16, sigma2: [0, 1], gamma: 1, seed: {range: 4}}
resources: {pack_seconds: 1}
"""
# Seeds enough that a sweep outlives what a test does to it: a host may need minutes to join.
LONG = """\
sweep: long
defaults: {steps: 4000, eval_every: 1000, width: 256}
grids:
  - {task: same_different, L: 16, d: 64, sigma2: [0, 1], gamma: [1, 0.1], seed: {range: 1000}}
resources: {pack_seconds: 3}
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    if reason := machines.why_not():
        pytest.skip(reason)
    with Hosts("laptop", "head", "worker") as hosts:
        lab = Lab(hosts)
        checkout = hosts.folder / "laptop/home/sweeps"
        (checkout / "hosts.yaml").write_text(GRID)
        (checkout / "long.yaml").write_text(LONG)
        up = lab.launch("up", "--join-s", "200")
        assert up.returncode == 0, up.stdout + up.stderr
        (hosts.folder / "head/home/long.yaml").write_text(LONG)
        (hosts.folder / "head/home/hosts.yaml").write_text(GRID)
        yield lab


@pytest.fixture(scope="module")
def results(lab: Lab) -> str:
    return str(lab.hosts.shared / "results")


class Terminal:
    """A command in a terminal of its own, where keys can be pressed."""

    def __init__(self, command: list[str]) -> None:
        self._keys, inside = pty.openpty()
        self.process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
        os.close(inside)
        self._said: list[bytes] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # EIO: the last process that had the terminal has ended
            while some := os.read(self._keys, 65536):
                self._said.append(some)

    def press(self, key: str) -> None:
        os.write(self._keys, key.encode())

    def end(self) -> tuple[int, str]:
        """Exit code, and all that was shown."""
        code = self.process.wait()
        self._reader.join()
        return code, b"".join(self._said).decode(errors="replace")

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        os.close(self._keys)


def hosts_of(results: str) -> set[str]:
    return {name for (name,) in connect(results).execute("select distinct host from cells").fetchall()}


def test_a_grid_submitted_from_the_laptop_is_trained_on_each_host(lab, results):
    done = lab.launch("submit", "hosts.yaml", "--results", RESULTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "16 ok" in done.stdout
    assert counts(results) == (16, 16)
    assert hosts_of(results) == {"head", "worker"}
    commit = subprocess.run(
        ["git", "-C", lab.hosts.folder / "laptop/home/sweeps", "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert connect(results).execute("select distinct git_sha from cells").fetchall() == [(commit,)]


def test_the_token_is_for_its_owner_alone(lab):
    for host in ("laptop", "head", "worker"):
        assert lab.hosts[host].run("stat", "-c", "%a", f"{HOME}/.ray/auth_token").stdout == "600\n", host


@pytest.mark.parametrize("token", ["", "0123456789" * 6 + "0123"])
def test_a_client_without_the_token_is_refused(lab, token):
    stranger = f"{HOME}/stranger"
    lab.hosts["laptop"].run("mkdir", "-p", f"{stranger}/.ray")
    if token:
        (lab.hosts.folder / "laptop/home/stranger/.ray/auth_token").write_text(token)
    address = f"{lab.hosts.address('head')}:6379"
    done = lab.on(
        "laptop", "orchestrator.sweep", "hosts.yaml", "seed=99", "--results", f"{stranger}/results", "--address", address,
        HOME=stranger,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert "refuses this account's token" in done.stderr
    if token:  # nor by way of Ray's own command, which without any token waits for ever
        asked = lab.hosts["laptop"].run("ray", "status", "--address", address, check=False, HOME=stranger)
        assert asked.returncode != 0 and "Active" not in asked.stdout


def test_results_that_a_host_does_not_share_are_refused(lab):
    done = lab.sweep(f"{HOME}/hosts.yaml", "--results", f"{HOME}/alone")
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"machine worker does not see {HOME}/alone" in done.stderr


def test_a_host_with_other_code_is_refused(lab):
    file = lab.hosts.folder / "worker/home/sweeps/sweepkit/store/store.py"
    text = file.read_text()
    file.write_text(text + "# not what the head has\n")
    try:
        done = lab.sweep(f"{HOME}/hosts.yaml", "seed=99", "--results", RESULTS)
    finally:
        file.write_text(text)
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.search(r"machine worker runs other code than this one: it has this project \w+, the driver \w+", done.stderr)


def test_ctrl_c_reaches_a_sweep_that_was_submitted_and_drains_it(lab):
    results = str(lab.hosts.shared / "drained")
    words = ["python", "-m", "orchestrator.launch", "submit", "lab.yaml", "long.yaml", "--results", f"{SHARED}/drained"]
    with Terminal(lab.hosts["laptop"].command(["env", "-C", CHECKOUT, *words])) as terminal:
        wait_for(lambda: Path(results, "packs").exists() and hosts_of(results), terminal.process)
        terminal.press("\x03")  # Ctrl-C
        code, said = terminal.end()
    assert code == 130, said
    assert "draining" in said
    rows, cells = counts(results)
    assert rows == cells < 4000


def test_a_host_that_is_lost_costs_nothing_but_its_packs_in_flight(lab):
    shared = f"{SHARED}/lost"
    results = str(lab.hosts.shared / "lost")
    words = (f"{HOME}/long.yaml", "seed=range(30)", "--results", shared)
    process = lab.hosts["head"].start(*lab.sweep_command(*words))
    try:
        wait_for(lambda: Path(results, "packs").exists() and "worker" in hosts_of(results), process)
        before = counts(results)[0]
        lab.hosts.kill("worker")
        out, _ = process.communicate()
    finally:
        process.kill()
        process.stdout.close()  # left open, it fails the next test
    assert before < 120, "the sweep was over before its host was lost"
    assert process.returncode == 0, out
    assert counts(results) == (120, 120)
    assert connect(results).execute("select distinct status from cells").fetchall() == [("ok",)]
    files = sorted(path.name for path in Path(results, "packs").iterdir())
    again = lab.sweep(*words)
    assert again.returncode == 0 and "0 to train" in again.stderr, again.stderr
    assert sorted(path.name for path in Path(results, "packs").iterdir()) == files


def test_a_host_that_joins_amid_a_sweep_is_given_packs(lab):
    """The worker is off after the test above. Once it answers, the cluster takes it in again by itself."""
    if not lab.hosts.is_off("worker"):
        lab.hosts.kill("worker")
    results = str(lab.hosts.shared / "joined")
    words = (f"{HOME}/long.yaml", "--results", f"{SHARED}/joined")
    process = lab.hosts["head"].start(*lab.sweep_command(*words))
    try:
        wait_for(lambda: Path(results, "packs").exists() and hosts_of(results), process)
        assert hosts_of(results) == {"head"}
        lab.hosts.boot("worker")
        wait_for(lambda: "worker" in hosts_of(results), process)
        [driver] = [pid for pid, words in lab.hosts["head"].processes().items() if "-m orchestrator.sweep" in words]
        os.kill(driver, signal.SIGINT)
        out, _ = process.communicate()
    finally:
        process.kill()
        process.stdout.close()  # left open, it fails the next test
    assert process.returncode == 130, out
    rows, cells = counts(results)
    assert rows == cells < 4000


def test_down_leaves_nothing_running(lab):
    if lab.hosts.is_off("worker"):  # a test above has failed
        lab.hosts.boot("worker")
    done = lab.launch("down")
    assert done.returncode == 0, done.stdout + done.stderr
    wait_for(lambda: not [words for host in ("head", "worker") for words in lab.hosts[host].processes().values()])
    after = lab.sweep(f"{HOME}/hosts.yaml", "seed=99", "--results", RESULTS)
    assert after.returncode == 2
    assert "no Ray cluster answers at 'auto'" in after.stderr
