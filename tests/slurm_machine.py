"""A private Slurm for tests: munged, slurmctld and some slurmd, all on the loopback interface of this machine."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.sweeps import wait_for
from tests.two_users import User

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")


class SlurmMachine:
    """A running Slurm of nodes n1, n2, ...; `folder` holds its configuration, spool and logs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "RAY_"))}
        self.env["SLURM_CONF"] = str(folder / "slurm.conf")

    def run(self, *command: str, cwd: Path | None = None, by: User | None = None, **settings: str) -> str:
        """Standard output of one of Slurm's commands, with `settings` in its environment, typed by another user perhaps.
        RuntimeError when it fails."""
        who = by.options() if by else {}
        env = self.env | settings
        done = subprocess.run(command, **who, env=env, cwd=cwd, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def job(self, job_id: str) -> dict[str, str]:
        """What Slurm tells of a job: JobState, ExitCode, ..."""
        shown = self.run("scontrol", "--oneliner", "show", "job", job_id).split()
        return dict(word.split("=", 1) for word in shown if "=" in word)

    def wait(self, job_id: str) -> dict[str, str]:
        """The job once it has ended."""
        while (job := self.job(job_id))["JobState"] in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
            time.sleep(0.5)
        return job


def why_not() -> str:
    """Why this machine cannot run a private Slurm; empty where it can."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=_path())]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian's slurm-wlm and munge)"
    return "" if os.geteuid() == 0 else "slurmd starts other users' jobs, so it must run as root"


@contextmanager
def slurm_machine(nodes: int, cpus: int) -> Iterator[SlurmMachine]:
    """Slurm with `nodes` nodes of `cpus` processors each, ended afterwards with all that its jobs left."""
    folder = Path(tempfile.mkdtemp(prefix="slurm", dir="/tmp"))  # short: a socket's path holds at most 107 characters
    machine = SlurmMachine(folder)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)  # a daemon that is killed may still write
        folder.chmod(0o755)
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o400)
        _configure(folder, nodes, cpus)
        munge = [f"--{name}={folder / f'munge.{end}'}" for name, end in MUNGE_FILES.items()]
        munged = stack.enter_context(_daemon(machine, "munged", "--foreground", "--force", *munge))
        wait_for((folder / "munge.socket").exists, munged, folder / "munged.log")
        controller = stack.enter_context(_daemon(machine, "slurmctld", "-D", "-c"))
        for k in range(1, nodes + 1):
            (folder / f"n{k}" / "spool").mkdir(parents=True)
            stack.enter_context(_daemon(machine, "slurmd", "-D", "-N", f"n{k}", name=f"slurmd-n{k}"))
        wait_for(lambda: _idle(machine) == nodes, controller, folder / "slurmctld.log")
        try:
            yield machine
        finally:
            _cancel_all(machine)


MUNGE_FILES = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "own", "seed-file": "seed"}


def _configure(folder: Path, nodes: int, cpus: int) -> None:
    ports = _free_ports(nodes + 1)
    lines = [
        "ClusterName=test",
        "SlurmctldHost=localhost(127.0.0.1)",
        f"SlurmctldPort={ports[0]}",
        "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
        "SlurmUser=root",
        f"AuthInfo=socket={folder}/munge.socket",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/%n/spool",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/%n/slurmd.pid",
        # Without cgroups, which containers seldom allow; with what the machine has not, since its nodes are made up.
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SlurmdParameters=config_overrides",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU",
        "MpiDefault=none",
        "ReturnToService=2",
        "MinJobAge=3600",  # ended jobs stay visible
        "KillWait=3600",  # a cancelled job clears up itself, however long that takes on a busy machine
        *(f"NodeName=n{k} NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[k]} CPUs={cpus}" for k in range(1, nodes + 1)),
        "PartitionName=main Nodes=ALL Default=YES",
    ]
    (folder / "state").mkdir()
    (folder / "slurm.conf").write_text("\n".join(lines) + "\n")
    # Nothing of it is used; the default looks for mounted cgroups and fails where there are none.
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")


@contextmanager
def _daemon(machine: SlurmMachine, program: str, *options: str, name: str = "") -> "Iterator[subprocess.Popen[bytes]]":
    found = shutil.which(program, path=_path())
    assert found
    with open(machine.folder / f"{name or program}.log", "wb") as log:
        process = subprocess.Popen([found, *options], env=machine.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _idle(machine: SlurmMachine) -> int:
    try:
        states = machine.run("sinfo", "--noheader", "--Node", "--format=%T").split()
    except RuntimeError:
        return -1  # the controller is not up yet
    return states.count("idle")


def _cancel_all(machine: SlurmMachine) -> None:
    machine.run("scancel", "--user=root")
    wait_for(lambda: not machine.run("squeue", "--noheader").strip())


def _free_ports(n: int) -> list[int]:
    """Distinct ports of the loopback interface on which nobody listens now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"  # daemons are not on every PATH
