"""Why a local Ray does not start, or a cluster does not answer: each cause has its own line with its remedy."""

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.ray import start_failures
from tests.two_users import two_users

GIB = 2**30

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray warns about itself


@pytest.fixture(autouse=True)
def healthy(monkeypatch, tmp_path):
    """A machine on which nothing speaks against a start, whatever else runs on this one."""
    monkeypatch.setenv("RAY_ADDRESS", "local")
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.setattr(start_failures, "_socket_name", lambda: "/s")  # pytest's own folders have long names
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(start_failures, "available_bytes", lambda: 8 * GIB)
    monkeypatch.setattr(start_failures, "cores", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.0, 1.0, 1.0))


def test_nothing_is_blamed_without_evidence():
    assert start_failures.foreseen() == "" == start_failures.found(RuntimeError("The current node timed out during startup."))


@pytest.mark.parametrize("name", ["RAY_TMPDIR", "TMPDIR"])
def test_a_folder_whose_sockets_would_have_too_long_names(monkeypatch, tmp_path, name):
    monkeypatch.undo()
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    longest = start_failures.LONGEST - len(start_failures._socket_name())
    for length, fits in ((longest, True), (longest + 1, False)):
        monkeypatch.setenv(name, "/" + "x" * (length - 1))
        said = start_failures._long_names()
        assert bool(said) != fits
    assert f"{name}=/xxx" in said and f"has {longest + 1} bytes, and at most {longest} fit; set RAY_TMPDIR" in said
    monkeypatch.setenv(name, "/" + "ü" * (longest // 2 + 1))  # two bytes each
    assert start_failures._long_names()


def test_the_longest_name_is_the_one_that_ray_refuses(tmp_path):
    from ray._private.utils import validate_socket_filepath

    longest = start_failures.LONGEST - len(start_failures._socket_name())
    validate_socket_filepath("/" + "x" * (longest - 1) + start_failures._socket_name())
    with pytest.raises(OSError, match="AF_UNIX path length"):
        validate_socket_filepath("/" + "x" * longest + start_failures._socket_name())


def test_a_current_directory_that_was_deleted(tmp_path):
    (tmp_path / "gone").mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from orchestrator.ray import start_failures; print(start_failures.foreseen())"
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path / "gone", env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("the current directory was deleted; go to another one")


def failing(number: int):
    def fail(*args: object, **options: object) -> object:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_place_that_another_user_owns_is_named_with_its_owner(monkeypatch, tmp_path):
    (tmp_path / "ray").mkdir()
    monkeypatch.setattr(start_failures.tempfile, "TemporaryFile", failing(errno.EACCES))
    said = start_failures.foreseen()
    assert f"go into {tmp_path}/ray (TMPDIR={tmp_path}), which belongs to user " in said
    assert "Permission denied; set RAY_TMPDIR to a directory of your own" in said


FORBIDDEN = "from orchestrator.ray import start_failures; print(start_failures.foreseen()); print('logs:', start_failures.logs())"


@pytest.mark.parametrize("name", ["TMPDIR", "RAY_TMPDIR"])
def test_a_place_below_another_users_private_folder_is_told_with_its_owner(name):
    with two_users() as (one, other, _):
        env = one.environment() | {name: str(other.home / "t" / "below")}
        other.home.chmod(0o700)
        done = subprocess.run(
            [one.python, "-c", FORBIDDEN], **one.options(), env=env, cwd=one.home, capture_output=True, text=True, check=True
        )
        place = f"{other.home} ({name}={other.home}/t/below), which belongs to user {other.name}"
        assert f"{place} and cannot be entered by user {one.name}: " in done.stdout and done.stdout.endswith("\nlogs: \n")


def test_a_file_in_its_place(tmp_path):
    (tmp_path / "ray").touch()
    assert f"below {tmp_path}/ray (TMPDIR={tmp_path}), which is no directory" in start_failures.foreseen()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk(monkeypatch, tmp_path, number):
    monkeypatch.setattr(start_failures.tempfile, "TemporaryFile", failing(number))
    said = start_failures.foreseen()
    assert f"no room is left for Ray's sockets and logs in {tmp_path}" in said and "MiB free; free some" in said


def test_a_folder_that_does_not_exist_yet_is_made_by_ray(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "not" / "yet"))
    assert start_failures.foreseen() == ""


def test_a_network_that_does_not_answer_itself(monkeypatch):
    monkeypatch.setattr(socket, "create_connection", failing(errno.ENETUNREACH))
    assert "Network is unreachable; bring its loopback interface up (`ip link set lo up`)" in start_failures.foreseen()


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (RuntimeError("fork failed: Resource temporarily unavailable"), "ulimit -u"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "ulimit -v"),
        (Exception("write failed: No space left on device"), "free some"),
    ],
)
def test_a_limit_that_the_error_names(error, remedy):
    try:
        try:
            raise error
        except Exception as first:
            raise RuntimeError("Ray failed") from first
    except RuntimeError as raised:
        assert remedy in start_failures.found(raised)


def test_what_runs_short_is_said_with_numbers(monkeypatch):
    error = Exception("The current node timed out during startup.")
    assert start_failures.circumstances() == ""
    monkeypatch.setattr(os, "getloadavg", lambda: (35.2, 1.0, 1.0))
    assert "this machine is busy: in the last minute 35 processes at a time wanted its 2 cores" in start_failures.circumstances()
    monkeypatch.setattr(start_failures, "_free", lambda place: 5 * 2**20)
    assert "/dev/shm has 5 MiB free, and " in start_failures.circumstances()
    monkeypatch.setattr(start_failures, "available_bytes", lambda: 300 * 2**20)
    assert start_failures.circumstances().startswith("300 MiB of memory are free here")
    assert start_failures.found(error) == ""  # any of these may have been so without harm


@pytest.mark.parametrize(("has_logs", "load"), [(False, 1.0), (True, 1.0), (True, 35.2)])
def test_ray_that_does_not_start_is_tried_twice_then_said(monkeypatch, tmp_path, has_logs, load):
    from orchestrator.ray import cluster

    tries = []

    def no_ray(**options: object) -> None:
        token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
        tries.append((token.stat().st_mode & 0o777, token.parent.stat().st_mode & 0o777, token.read_text()))
        raise Exception("The current node timed out during startup.\nMore.")

    monkeypatch.setattr(cluster.ray, "init", no_ray)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 1.0, 1.0))
    logs = tmp_path / "ray" / f"session_2026-01-01_00-00-00_000000_{os.getpid()}" / "logs"
    if has_logs:
        logs.mkdir(parents=True)
    with pytest.raises(cluster.StartError) as caught, cluster.joined(None):
        pass
    said = str(caught.value)
    assert "does not start here: no cause was found on this machine. Ray said: The current node timed out during startup." in said
    assert (f"Its logs: {logs}" in said) == has_logs and "?" not in said and ".." not in said and "--debug" in said
    assert ("At the same time: this machine is busy: " in said) == (load > 6)
    assert len(tries) == 2 and tries[0] == tries[1] and tries[0][:2] == (0o600, 0o700) and len(tries[0][2]) == 64
    assert "RAY_AUTH_TOKEN_PATH" not in os.environ and not list(tmp_path.glob("sweep-*"))


def test_what_is_foreseen_is_said_before_ray_is_tried(monkeypatch):
    from orchestrator.ray import cluster

    monkeypatch.setattr(cluster.ray, "init", lambda **options: pytest.fail("Ray was started"))
    monkeypatch.setattr(start_failures, "foreseen", lambda: "the reason; the remedy")
    with pytest.raises(cluster.StartError, match="does not start here: the reason; the remedy"), cluster.joined(None):
        pass


@pytest.fixture
def nobody_listens() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize(
    ("given", "variable", "named"),
    [(None, True, True), ("auto", True, True), ("127.0.0.1:1", True, False), ("127.0.0.1:1", False, False)],
)
def test_the_variable_that_gave_a_stale_address_is_named(monkeypatch, nobody_listens, given, variable, named):
    from orchestrator.ray import cluster

    if variable:
        monkeypatch.setenv("RAY_ADDRESS", nobody_listens)
    with pytest.raises(cluster.ClusterError) as caught, cluster.joined(given):
        pass
    said = str(caught.value)
    assert ("which RAY_ADDRESS names" in said, "unset RAY_ADDRESS to train" in said) == (named, named)
    assert (nobody_listens if named else "127.0.0.1:1") in said and "Connection refused" in said
    assert named or "leave --address out" in said


def test_a_head_that_accepts_and_says_nothing_is_said(monkeypatch):
    from orchestrator.ray import cluster

    def silent(address: str) -> None:
        raise cluster.ray.exceptions.RpcError("Timed out while waiting for GCS to become available.")

    monkeypatch.setattr(cluster, "_knock", silent)
    with pytest.raises(cluster.ClusterError, match="no Ray cluster answers at 'h:1': Timed out"), cluster.joined("h:1"):
        pass


HANGS = """
import threading
from orchestrator.ray import cluster
cluster.START_S = cluster.JOIN_S = 0.2
cluster.start_failures.foreseen = lambda: ""
cluster._knock = cluster.ray.init = lambda *args, **options: threading.Event().wait()
with cluster.joined({address!r}, [lambda: print("given back", flush=True)]):
    pass
"""


@pytest.mark.parametrize(
    ("address", "code", "said"), [(None, 1, "Ray does not start here: "), ("h:1", 2, "the Ray cluster at 'h:1' has not let")]
)
def test_a_start_that_hangs_ends_at_its_limit(tmp_path, address, code, said):
    done = subprocess.run([sys.executable, "-c", HANGS.format(address=address)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "given back\n"), done.stderr
    assert said in done.stderr and "for 0.2 s" in done.stderr and not list(tmp_path.glob("sweep-*"))
