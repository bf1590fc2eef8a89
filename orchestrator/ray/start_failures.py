"""Causes of a Ray that does not start on this machine, each in a line with its remedy. Knows no Ray.

What can be known beforehand is looked at beforehand. After a failure the same is looked at again, then what the error names. What
runs short on the machine at that time may be the cause or not: it is told beside what Ray said.
"""

import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from pwd import getpwuid

from sweepkit.console.streams import folder_gone
from trainables.limits import available_bytes, cores

STORE_BYTES = 200 * 2**20
"""Memory that Ray is given for its object store. It takes it from /dev/shm, or from a file where that is smaller."""
RAY_BYTES = 350 * 2**20
"""Memory that Ray's own seven processes take: 322 MB, what they share counted once (Ray 2.60, 2026-11-28)."""
PROBE_BYTES = 2**20
LONGEST = 107
"""Bytes that the path of a socket may have (unix(7))."""
BUSY = 3.0
"""Processes that want to run, for each core, from which on a start may take longer than Ray waits for it."""


def temporary_folder() -> tuple[str, Path]:
    """The folder in which Ray makes its own, and the variable that names it, if one does."""
    for name in ("RAY_TMPDIR", "TMPDIR"):
        if given := os.environ.get(name):
            return name, Path(given)
    return "", Path("/tmp")


def foreseen() -> str:
    """Why Ray cannot start here, as far as that can be seen without trying; empty if nothing speaks against it."""
    return next(filter(None, (look() for look in (folder_gone, _long_names, _unwritable, _no_loopback))), "")


def found(error: BaseException) -> str:
    """Why Ray did not start, as this machine shows it or the error names it; empty if nothing is found."""
    return foreseen() or _run_out(error)


def circumstances() -> str:
    """The shortage on this machine now that may have kept Ray from starting; empty if nothing does."""
    return "; ".join(filter(None, (look() for look in (_little_memory, _small_disk, _busy))))


def logs() -> str:
    """The folder of the logs that Ray wrote for this process; empty if it got no further than that."""
    ray = temporary_folder()[1] / "ray"
    found = glob(f"session_*_{os.getpid()}/logs", root_dir=ray)  # a folder that cannot be entered has none
    return str(ray / max(found)) if found else ""


def _long_names() -> str:
    name, folder = temporary_folder()
    room = LONGEST - len(_socket_name())
    if len(os.fsencode(folder)) <= room:
        return ""
    return (
        f"{name}={folder} is too long for the names of Ray's sockets: it has {len(os.fsencode(folder))} bytes, and at most "
        f"{room} fit; set RAY_TMPDIR, for Ray alone, or {name} to a shorter one, such as /tmp"
    )


def _socket_name() -> str:
    """The longest name of a socket of Ray's, below the folder."""
    return f"/ray/session_2026-01-01_00-00-00_000000_{os.getpid()}/sockets/plasma_store"


def _unwritable() -> str:
    name, folder = temporary_folder()
    ray = folder / "ray"
    place = next(
        at for at in (ray, folder, *folder.absolute().parents) if os.path.exists(at)
    )  # not below one that cannot be entered
    where = f"{place}{f' ({name}={folder})' if name and place != folder else f' ({name})' if name else ''}"
    elsewhere = "set RAY_TMPDIR to a directory of your own, with a short path"
    if not place.is_dir():
        return f"Ray keeps its sockets and logs below {where}, which is no directory; {elsewhere}"
    try:
        with tempfile.TemporaryFile(dir=place) as probe:
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return (
                f"no room is left for Ray's sockets and logs in {where}: {error.strerror}, {_mib(_free(place))} MiB free; "
                "free some, or set RAY_TMPDIR to a directory on another disk"
            )
        used = "written" if os.access(place, os.X_OK, effective_ids=True) else "entered"
        return f"Ray's sockets and logs go into {where}, which belongs to {_owner(place)} and cannot be {used} by " + (
            f"{_user(os.geteuid())}: {error.strerror}; {elsewhere}"
        )
    return ""


def _no_loopback() -> str:
    """Ray's processes talk with each other through an address of this machine."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(5)
            socket.create_connection(server.getsockname(), timeout=5).close()
    except OSError as error:
        return (
            f"this machine's network does not answer itself at 127.0.0.1: {error.strerror or error}; bring its loopback "
            "interface up (`ip link set lo up`), or allow the connection"
        )
    return ""


def _run_out(error: BaseException) -> str:
    """A limit of the system that an error names, the first of those that it came from included."""
    chain = list(_chain(error))
    numbers = {one.errno for one in chain if isinstance(one, OSError)}
    words = " ".join(map(str, chain)).lower()
    for number, what in _LIMITS.items():
        if number in numbers or os.strerror(number).lower() in words:
            return what
    return ""


_LIMITS = {
    errno.EMFILE: "this process may open no further files; raise the limit (`ulimit -n 4096`)",
    errno.ENFILE: "this machine may open no further files; end what holds many, or ask its administrator",
    errno.EAGAIN: "this user or container may start no further processes and threads, of which Ray needs some hundreds; raise "
    "the limit (`ulimit -u`, or `pids.max` of the container), or end others",
    errno.ENOMEM: "the system has no memory left for Ray's processes; end others, or raise the limit (`ulimit -v`)",
    errno.ENOSPC: "a disk that Ray writes to is full; free some, or set RAY_TMPDIR to a directory on another disk",
}


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _little_memory() -> str:
    free = available_bytes()
    if free >= RAY_BYTES:
        return ""
    return (
        f"{_mib(free)} MiB of memory are free here (of the machine, or of a control group of this process), and Ray's own "
        f"processes take some {_mib(RAY_BYTES)}; end others, or ask for more"
    )


def _small_disk() -> str:
    """Ray's object store lies in a file among the temporary ones where /dev/shm is too small for it."""
    shared, (_, folder) = Path("/dev/shm"), temporary_folder()
    if (shared.is_dir() and os.access(shared, os.W_OK) and _free(shared) >= STORE_BYTES) or _free(folder) >= STORE_BYTES:
        return ""
    return (
        f"Ray's object store of {_mib(STORE_BYTES)} MiB finds no room: /dev/shm has {_mib(_free(shared))} MiB free, and {folder} "
        f"{_mib(_free(folder))}; enlarge /dev/shm (in Docker --shm-size=1g), or free some disk"
    )


def _busy() -> str:
    load = os.getloadavg()[0]
    if load < BUSY * cores():
        return ""
    return (
        f"this machine is busy: in the last minute {load:.0f} processes at a time wanted its {cores()} cores, and Ray gives its "
        "own half a minute to start; start the same again once there is less to do"
    )


def _free(place: Path) -> int:
    try:
        return shutil.disk_usage(place).free
    except OSError:  # there is no such place
        return 0


def _owner(place: Path) -> str:
    return _user(place.stat().st_uid)


def _user(number: int) -> str:
    try:
        return f"user {getpwuid(number).pw_name}"
    except KeyError:  # containers often run as a user without a name
        return f"user {number}"


def _mib(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.0f}"
