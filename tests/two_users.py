"""Two users of this machine who share a group, for tests of what they write into one directory."""

import fcntl
import grp
import os
import pwd
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.cost.calibration import rates_file

ROOT = Path(__file__).parents[1]
SYSTEM_PYTHON = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
PROGRAMS = ("useradd", "userdel", "groupadd", "groupdel")


@dataclass(frozen=True)
class User:
    """A user with a home of their own, who is a member of `shared` beside their own group."""

    name: str
    shared: int
    python: str

    @property
    def home(self) -> Path:
        return Path(pwd.getpwnam(self.name).pw_dir)

    def options(self) -> dict[str, Any]:
        """For a process of this user that `subprocess` starts; whatever it writes elsewhere is private."""
        who = pwd.getpwnam(self.name)
        return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": [self.shared], "umask": 0o077}

    def environment(self) -> dict[str, str]:
        """With a folder for temporary files of the user's own, whose name is short enough for Ray's sockets."""
        packages = os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "t"),
            "PYTHONPATH": packages,
            "RAY_ADDRESS": "local",
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these words as this user, and return what it printed."""
        return subprocess.run(
            [self.python, *words], **self.options(), env=self.environment(), cwd=self.home, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    def commands(self, *programs: str) -> str:
        """A PATH on which `python` is an interpreter that this user can start, and these programs of the project's are."""
        folder = self.home / "bin"
        folder.mkdir(exist_ok=True)
        for program in ("python", *programs):
            script = f"'{sysconfig.get_path('scripts')}/{program}'" if program != "python" else ""
            (folder / program).write_text(f'#!/bin/sh\nexec {self.python} {script} "$@"\n')
            (folder / program).chmod(0o755)
        return f"{folder}:/usr/bin:/bin"


@contextmanager
def two_users() -> Iterator[tuple[User, User, Path]]:
    """Two users, and a folder that all may enter. Skips the test where users cannot be made or cannot run this code."""
    if os.geteuid() or not all(map(shutil.which, PROGRAMS)):
        pytest.skip(f"only root makes users, by {', '.join(PROGRAMS)}")
    place = Path(tempfile.mkdtemp(prefix="u", dir="/tmp"))
    place.chmod(0o755)
    group = f"sw{os.getpid()}"
    made: list[User] = []
    with ExitStack() as left:
        left.callback(shutil.rmtree, place)
        _accounts("groupadd", group)
        left.callback(_accounts, "groupdel", group)
        shared = grp.getgrnam(group).gr_gid
        for letter in "ab":
            name = f"{group}{letter}"
            home = place / letter
            _accounts("useradd", "--create-home", "--home-dir", str(home), "--groups", group, name)
            made.append(User(name, shared, sys.executable))
            left.callback(_remove, made[-1])
            (home / "t").mkdir(mode=0o700)
            _give_cache(home / ".cache" / "sweep-orchestrator")
            for folder, _, files in os.walk(home):
                for path in (folder, *(f"{folder}/{file}" for file in files)):
                    shutil.chown(path, name, name)
        one, other = (_with_python(user) for user in made)
        yield one, other, place


def _accounts(*command: str) -> None:
    """Run a command on the accounts of this machine: one at a time, as they refuse to wait for each other."""
    with open("/tmp/sweep-tests-accounts.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(command, check=True)


def _remove(user: User) -> None:
    """End what is left of the user's processes, as Ray's live on for seconds, then remove the user."""
    number = pwd.getpwnam(user.name).pw_uid
    left = [one for one in psutil.process_iter(["uids"]) if one.info["uids"] and one.info["uids"].real == number]
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left)
    _accounts("userdel", user.name)


def _give_cache(cache: Path) -> None:
    """Put there the loops that the tests have compiled and the rates that they use, which would take a new user minutes."""
    cache.mkdir(parents=True)
    for kernels in Path(os.environ["NUMBA_CACHE_DIR"]).glob("kernels-*"):
        shutil.copytree(kernels, cache / kernels.name)
    if rates_file().exists():
        shutil.copy(rates_file(), cache)


def _with_python(user: User) -> User:
    """The user with an interpreter that they can start: that of the tests may lie in root's home."""
    for python in (sys.executable, SYSTEM_PYTHON):
        candidate = User(user.name, user.shared, python)
        try:
            done = candidate.run("-c", "import sys, sweepkit.store.store; print(*sys.version_info[:2])")
        except OSError:
            continue
        if done.stdout.split() == [str(part) for part in sys.version_info[:2]]:
            return candidate
    pytest.skip("no interpreter that another user can start has this code's packages")


def make_shared(folder: Path, user: User, mode: int) -> Path:
    """A folder of this mode that belongs to the user and the shared group."""
    folder.mkdir()
    os.chown(folder, pwd.getpwnam(user.name).pw_uid, user.shared)
    folder.chmod(mode)
    return folder


def check_shared(results: Path, group: int) -> None:
    """Every file and folder can be read and written by the group, and by nobody else."""
    for folder, folders, files in os.walk(results):
        for name in (*folders, *files):
            found = Path(folder, name).stat()
            rights = 0o2770 if stat.S_ISDIR(found.st_mode) else 0o660
            assert (stat.S_IMODE(found.st_mode), found.st_gid) == (rights, group), f"{folder}/{name}"
