"""The tool as a user runs it, from a shell: started, waited for, interrupted, and the processes that it brought along."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.sweeps import wait_until

ROOT = Path(__file__).resolve().parents[2]

_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def orphans_adopted() -> Iterator[None]:
    """Whatever a killed driver leaves behind becomes a child of this process, and so can be found."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this process cannot adopt orphans")
    over = threading.Event()
    burier = threading.Thread(target=_bury, args=(over,))
    burier.start()
    try:
        yield
    finally:
        over.set()
        burier.join()


def _bury(over: threading.Event) -> None:
    """Take in dead node processes at once, as process 1 would: while a raylet is a zombie, Ray's workers take it for alive."""
    while not over.wait(0.5):
        for process in psutil.Process().children():
            try:
                if process.status() == psutil.STATUS_ZOMBIE and process.name() == "raylet":
                    os.waitpid(process.pid, os.WNOHANG)
            except (psutil.NoSuchProcess, ChildProcessError):
                continue


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def family(stays: Callable[[psutil.Process], bool] = lambda process: False) -> list[psutil.Process]:
    """All live processes that descend from this one, but for those that are to stay."""
    return [process for process in alive(psutil.Process().children(recursive=True)) if not stays(process)]


def title(process: psutil.Process) -> str:
    """`ray::PackTrainable`, `raylet`, `python -m orchestrator.sweep ...`; empty once it is gone."""
    try:
        words = process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""
    return " ".join([os.path.basename(words[0]), *words[1:]])[:120].strip() if words else ""


def is_agent(process: psutil.Process) -> bool:
    """One of Ray's agents, which train nothing. Where the head goes first they try for 60 s to tell it that the node has gone."""
    return title(process).startswith(("ray::DashboardAgent", "ray::RuntimeEnvAgent"))


@dataclass
class Running:
    """A command under way; what it says lands in two files."""

    popen: subprocess.Popen[bytes]
    out: Path
    err: Path
    started: float
    elsewhere: bool = False
    """On another host: `popen` only carries it there."""

    @property
    def runs(self) -> bool:
        return self.popen.poll() is None

    @property
    def code(self) -> int:
        return int(self.popen.wait())

    def said(self) -> str:
        return self.out.read_text(errors="replace") + self.err.read_text(errors="replace")

    def wait(self, seconds: float) -> bool:
        """Whether it ended in time."""
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def driver(self) -> psutil.Process:
        """The command itself. psutil.NoSuchProcess where it has ended."""
        carrier = psutil.Process(self.popen.pid)
        return next(iter(carrier.children()), carrier) if self.elsewhere else carrier

    def signal(self, what: signal.Signals, group: bool = False) -> None:
        """To the driver; `group`: to its whole process group, as a terminal does with Ctrl-C."""
        if self.runs:
            if group and not self.elsewhere:
                os.killpg(self.popen.pid, what)
            else:
                self.driver().send_signal(what)

    def members(self, name: str) -> list[psutil.Process]:
        """Processes of this run whose title starts so; `driver` is the command itself."""
        if not self.runs:
            return []
        try:
            driver = self.driver()
            if name == "driver":
                return [driver]
            below = driver.children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return [process for process in alive(below) if title(process).startswith(name)]


def start(
    folder: Path, name: str, module: str, *args: str, environment: Mapping[str, str] = {}, carrier: Sequence[str] = ()
) -> Running:
    """`python -m module args` in the folder, its output in NAME.out and NAME.err there, temporaries in its `t`.
    `carrier`: the words that run it on another host instead."""
    (folder / "t").mkdir(exist_ok=True)
    # The code beside this file, not what is installed: that may be another checkout, at which someone works.
    env = os.environ | {"TMPDIR": str(folder / "t"), "COLUMNS": "200", "PYTHONPATH": str(ROOT), **environment}
    env["RAY_ADDRESS"] = "local"  # also of short sweeps
    out, err = folder / f"{name}.out", folder / f"{name}.err"
    with out.open("wb") as to_out, err.open("wb") as to_err:
        popen = subprocess.Popen(
            [*carrier, sys.executable, "-m", module, *args], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=to_out,
            stderr=to_err, start_new_session=True,
        )  # fmt: skip
    return Running(popen, out, err, time.monotonic(), bool(carrier))


def end_all(seconds: float, stays: Callable[[psutil.Process], bool] = lambda process: False) -> list[str]:
    """Wait for all processes below this one to end; kill those that do not, and return their titles."""
    wait_until(lambda: not family(stays), seconds, every=0.2)
    left = family(stays)
    titles = [title(process) for process in left]
    for process in left:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(left, timeout=10)
    return titles
