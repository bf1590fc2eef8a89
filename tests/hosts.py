"""Several hosts on this machine: namespaces with their own network, processes, mounts, name and sshd, joined by a switch.

A host shares with this machine the disk's files (so the installed packages), and nothing else: its /tmp, /dev/shm, /run and
HOME are its own, its processes see only each other, and it reaches other hosts through `Switch` alone, which can cut, delay
and lose packets. `/mnt/shared` is one directory for all. Needs root, Linux namespaces, /dev/net/tun and Debian's openssh-server,
rsync and iproute2; `why_not()` says what is missing. Everything ends with the process that made it.
"""

import ctypes
import fcntl
import os
import random
import selectors
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[1]
HOME = "/mnt/home"
SHARED = "/mnt/shared"
TOOLS = ("unshare", "nsenter", "setpriv", "ip", "mount", "ssh", "ssh-keygen", "sshd", "rsync", "hostname")

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_TUNSETIFF, _IFF_TAP, _IFF_NO_PI, _CLONE_NEWNET = 0x400454CA, 0x0002, 0x1000, 0x40000000
_FRAME = 65536


def why_not() -> str:
    """Why this machine cannot have hosts; empty where it can."""
    if os.geteuid() != 0:
        return "hosts need root"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=_PATH) is None]
    if missing:
        return f"hosts need {', '.join(missing)} (Debian: openssh-server rsync iproute2)"
    tried = subprocess.run(
        ["unshare", "-n", "-p", "-m", "-u", "-i", "-f", "sh", "-c", "mount -t tmpfs tmpfs /mnt && ip tuntap add t mode tap"],
        capture_output=True, text=True, check=False, env=os.environ | {"PATH": _PATH},
    )  # fmt: skip
    return "" if tried.returncode == 0 else f"this machine makes no hosts: {tried.stderr.strip()}"


@dataclass
class Port:
    """A host's end of the switch, and how badly it is connected. Both directions suffer alike."""

    tap: int
    cut: bool = False
    delay_s: float = 0.0
    loss: float = 0.0


class Switch(threading.Thread):
    """Carries frames between ports. In this process and not in the kernel, as not every kernel can delay packets."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ports: dict[str, Port] = {}
        self._selector = selectors.DefaultSelector()
        self._ends, self._end = os.pipe()
        self._selector.register(self._ends, selectors.EVENT_READ, "")
        self._random = random.Random(0)
        self._late: deque[tuple[float, str, bytes]] = deque()
        self._lock = threading.Lock()
        self._of_mac: dict[bytes, str] = {}

    def plug(self, name: str, tap: int) -> None:
        with self._lock:
            self.ports[name] = Port(tap)
            self._selector.register(tap, selectors.EVENT_READ, name)

    def unplug(self, name: str) -> None:
        with self._lock:
            port = self.ports.pop(name)
            self._selector.unregister(port.tap)
            os.close(port.tap)

    def stop(self) -> None:
        os.write(self._end, b".")
        self.join()
        for name in list(self.ports):
            self.unplug(name)
        for pipe in (self._ends, self._end):
            os.close(pipe)

    def run(self) -> None:
        while True:
            wait = None
            with self._lock:
                while self._late and (wait := self._late[0][0] - time.monotonic()) <= 0:
                    self._deliver(*self._late.popleft()[1:])
                    wait = None
            for key, _ in self._selector.select(wait):
                if key.fd == self._ends:
                    return
                with self._lock, suppress(OSError):  # the host died
                    if key.data in self.ports:
                        self._carry(key.data, os.read(key.fd, _FRAME))

    def _carry(self, source: str, frame: bytes) -> None:
        self._of_mac[frame[6:12]] = source
        known = self._of_mac.get(frame[:6])
        for target in [known] if known else [name for name in self.ports if name != source]:
            ends = [port for name in (source, target) if (port := self.ports.get(name))]
            if len(ends) < 2 or any(p.cut or (p.loss and self._random.random() < p.loss) for p in ends):
                continue
            if delay := sum(port.delay_s for port in ends):
                self._late.append((time.monotonic() + delay, target, frame))
                if len(self._late) > 1 and self._late[-2][0] > self._late[-1][0]:  # delays differ or changed
                    self._late = deque(sorted(self._late, key=lambda late: late[0]))
            else:
                self._deliver(target, frame)

    def _deliver(self, target: str, frame: bytes) -> None:
        port = self.ports.get(target)
        if port and not port.cut:
            with suppress(OSError):  # the host died, or takes frames in too slowly
                os.write(port.tap, frame)


@dataclass
class Host:
    """One host. `process` is its unshare; `pid` the first process inside."""

    name: str
    address: str
    folder: Path
    process: "subprocess.Popen[str]"
    pid: int
    environment: Mapping[str, str] = field(default_factory=dict)

    def command(self, words: Sequence[str], **environment: str) -> list[str]:
        """The words of a command that runs these on the host."""
        variables = [f"{name}={value}" for name, value in {**self.environment, **environment}.items()]
        return ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-n", "-p", "env", "-i", "-C", HOME, *variables, *words]

    def run(self, *words: str, check: bool = True, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run on the host to the end. AssertionError with the output where `check` and it fails."""
        command = self.command(words, **environment)
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        ended = f"{self.name}: {words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert not check or done.returncode == 0, ended
        return done

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        """Start on the host and go on; standard error comes with standard output."""
        return subprocess.Popen(
            self.command(words, **environment),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def processes(self) -> dict[int, str]:
        """Command lines of what runs there beside its sshd, by the process id that this machine sees."""
        inside = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = {}
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                if folder.name.isdigit() and os.readlink(folder / "ns/pid") == inside and int(folder.name) != self.pid:
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                    if words and not words.startswith("sshd"):  # a zombie has no words
                        found[int(folder.name)] = words
        return found


class Hosts:
    """The hosts of one test. `with Hosts("head", "worker") as hosts: hosts["head"].run(...)`."""

    def __init__(self, *names: str, network: str = "10.213.7") -> None:
        self.names, self.network = names, network
        self.folder = Path(tempfile.mkdtemp(prefix="hosts-", dir="/var/tmp"))
        self.shared = self.folder / "shared"
        self.switch = Switch()
        self._hosts: dict[str, Host] = {}

    def __getitem__(self, name: str) -> Host:
        return self._hosts[name]

    def __enter__(self) -> "Hosts":
        try:
            self.shared.mkdir()
            self.folder.chmod(0o755)
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "key"], check=True)
            self.switch.start()
            for name in self.names:
                self.boot(name)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the hosts and all that runs on them, and remove what they wrote."""
        for name in list(self._hosts):
            self.kill(name)
        if self.switch.is_alive():
            self.switch.stop()
        shutil.rmtree(self.folder)

    def address(self, name: str) -> str:
        return f"{self.network}.{self.names.index(name) + 1}"

    def kill(self, name: str) -> None:
        """Power off: all its processes end at once. Its HOME stays, as a disk would; /tmp does not."""
        host = self._hosts.pop(name)
        host.process.kill()  # takes the host's first process with it, and that all others
        host.process.wait()
        if name in self.switch.ports:
            self.switch.unplug(name)

    def is_off(self, name: str) -> bool:
        return name not in self._hosts

    def boot(self, name: str) -> Host:
        """Power on."""
        folder, address = self.folder / name, self.address(name)
        # How fast this machine is need not be measured again.
        cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
        _prepare(folder, address, self.folder / "key.pub", cache)
        names = "".join(f"{self.address(other)} {other}\n" for other in self.names)
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        apart = ["unshare", "-n", "-p", "-m", "-u", "-i", "-f", "--kill-child"]
        words = [*apart, "sh", "-euc", _INIT, "init", name, folder, self.shared]
        with (folder / "log").open("a") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *words],
                env={"PATH": _PATH}, text=True, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        pid = _first_process(process)
        while not (folder / "ready").exists():
            if process.poll() is not None:
                raise RuntimeError(f"host {name} did not start: {(folder / 'log').read_text()}")
            time.sleep(0.02)
        (folder / "ready").unlink()
        environment = {
            "XDG_CACHE_HOME": cache,
            "HOME": HOME,
            "PATH": f"{ROOT}/.venv/bin:{_PATH}",
            "USER": "root",
            "LANG": "C.UTF-8",
            "COLUMNS": "200",
            # Where this machine chooses the kernels of BLAS, so do its hosts: another choice moves last bits.
            **{variable: value for variable, value in os.environ.items() if variable.startswith("OPENBLAS_")},
        }
        host = Host(name, address, folder, process, pid, environment)
        self._hosts[name] = host
        self.switch.plug(name, _tap_inside(pid))
        host.run("ip", "link", "set", "lo", "up")
        # The same after a power cut: others remember it for a while.
        host.run("ip", "link", "set", "eth0", "address", f"02:00:00:00:00:{self.names.index(name) + 1:02x}")
        host.run("ip", "address", "add", f"{address}/24", "dev", "eth0")
        host.run("ip", "link", "set", "eth0", "mtu", "9000", "up")
        (folder / "go").touch()
        while host.run("ssh", *_SSH_OPTIONS, f"root@{address}", "true", check=False).returncode:
            if process.poll() is not None:
                raise RuntimeError(f"the sshd of host {name} does not answer: {(folder / 'log').read_text()}")
            time.sleep(0.05)
        return host

    def cut(self, name: str) -> None:
        """Nothing passes to or from the host; its links stay up, as behind a switch that lost its way."""
        self.switch.ports[name].cut = True

    def restore(self, name: str) -> None:
        """The network is whole again."""
        port = self.switch.ports[name]
        port.cut, port.delay_s, port.loss = False, 0.0, 0.0

    def worsen(self, name: str, delay_s: float = 0.0, loss: float = 0.0) -> None:
        """Each packet to or from the host comes later by `delay_s`, or with probability `loss` never."""
        port = self.switch.ports[name]
        port.delay_s, port.loss = delay_s, loss


_SSH_OPTIONS = (f"-i{HOME}/.ssh/id_ed25519", "-oStrictHostKeyChecking=no", "-oConnectTimeout=2", "-oLogLevel=ERROR")

_INIT = f"""
name=$1 folder=$2 shared=$3
hostname "$name"
mount --make-rprivate /
mount -t proc proc /proc
mount --bind "$folder/passwd" /etc/passwd
mount --bind "$folder/hosts" /etc/hosts
mount -t tmpfs tmpfs /mnt
mkdir {HOME} {SHARED} /mnt/host /mnt/checkout
mount --rbind "{ROOT}" /mnt/checkout
mount --bind "$folder/home" {HOME}
mount --bind "$folder" /mnt/host
mount --bind "$shared" {SHARED}
mount -t tmpfs -o size=2g tmpfs /tmp
mount -t tmpfs -o size=2g tmpfs /dev/shm
mount -t tmpfs tmpfs /run
# A checkout below /tmp is hidden now; its packages are needed where they were installed, and so is the project, which is one.
[ -d "{ROOT}" ] || {{ mkdir -p "{ROOT}" && mount --rbind /mnt/checkout "{ROOT}"; }}
mkdir /run/sshd
chmod 1777 /tmp /dev/shm
cd /
touch /mnt/host/ready
while ! [ -e /mnt/host/go ]; do sleep 0.02; done
rm /mnt/host/go
exec "$(command -v sshd)" -D -e -f /mnt/host/sshd_config
"""


def _prepare(folder: Path, address: str, public_key: Path, cache: str) -> None:
    """What a host's disk holds: keys, the settings of its sshd, an account whose HOME is its own."""
    home = folder / "home"
    if home.exists():
        return
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    shutil.copy(public_key, home / ".ssh/authorized_keys")
    shutil.copy(public_key.with_suffix(""), home / ".ssh/id_ed25519")
    (home / ".bashrc").touch()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "host_key"], check=True)
    (folder / "passwd").write_text(f"root:x:0:0:root:{HOME}:/bin/bash\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n")
    (folder / "sshd_config").write_text(
        f"ListenAddress {address}\nHostKey /mnt/host/host_key\nPidFile none\nUsePAM no\nStrictModes no\nPrintMotd no\n"
        f"PermitRootLogin prohibit-password\nPasswordAuthentication no\nMaxStartups 100\n"
        f"AuthorizedKeysFile {HOME}/.ssh/authorized_keys\n"
        f"SetEnv PATH={_PATH} XDG_CACHE_HOME={cache}\n"
    )


def _first_process(unshare: "subprocess.Popen[str]") -> int:
    children = Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children")
    while unshare.poll() is None:
        if found := children.read_text().split():
            return int(found[0])
        time.sleep(0.01)
    raise RuntimeError("unshare made no process")


def _tap_inside(pid: int) -> int:
    """A network device `eth0` of the process's network; returns the descriptor at which its frames come out."""
    made: list[int | OSError] = []

    def make() -> None:  # a thread enters the network alone, and leaves it with its end
        try:
            network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            try:
                if ctypes.CDLL(None, use_errno=True).setns(network, _CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            finally:
                os.close(network)
            tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", b"eth0", _IFF_TAP | _IFF_NO_PI))
            made.append(tap)
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]
