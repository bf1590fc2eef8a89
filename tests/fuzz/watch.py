"""Sees what code writes, starts and dials: by Python's audit events, and by a look at a directory before and after."""

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING = {
    "os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "shutil.rmtree", "shutil.move", "shutil.copyfile",
}  # fmt: skip
_STARTING = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"}
_DIALLING = {"socket.connect", "socket.getaddrinfo", "socket.sendto"}

_seen: list[str] | None = None
_others: set[threading.Thread] = set()
"""Threads of earlier tests, such as an app's check of claims, which goes on after its page is closed."""


class NoNetwork(OSError):
    """A connection that a fuzzed command tried to make."""


def _audit(event: str, args: tuple[object, ...]) -> None:
    if _seen is None or threading.current_thread() in _others:
        return
    if event == "open":
        path, _, flags = args
        if isinstance(flags, int) and flags & _WRITING and isinstance(path, str | bytes) and not _is_nothing(path):
            _seen.append(f"opened {os.fsdecode(path)} for writing")
    elif event in _CHANGING and not _is_nothing(_whole(args)):
        _seen.append(f"{event} {_whole(args)!r}")
    elif event in _STARTING:
        _seen.append(f"{event} {args[0]!r}")
    elif event in _DIALLING:
        raise NoNetwork(f"{event}: no network while fuzzing")


def _whole(args: tuple[object, ...]) -> object:
    """The path of an event, with the folder that it is relative to where that was given as an open one."""
    folder = args[-1]
    if isinstance(args[0], str) and isinstance(folder, int) and folder > 2 and os.path.exists(f"/proc/self/fd/{folder}"):
        return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), args[0])
    return args[0]


def _is_nothing(path: object) -> bool:
    """True for a path that leaves nothing behind: devices, byte code of modules, kernels compiled for the first time,
    and temporaries of Python and DuckDB."""
    text = os.fsdecode(path) if isinstance(path, str | bytes) else str(path)
    numba = sys.modules.get("numba")  # which keeps to the folder that was set when it was imported, perhaps by another test
    kernels = [numba.config.CACHE_DIR] if numba and numba.config.CACHE_DIR else []
    return text.startswith(("/dev/", os.path.join(tempfile.gettempdir(), "tmp"), *kernels)) or "__pycache__" in text


_hooked = False


@contextmanager
def watched() -> Iterator[list[str]]:
    """Words for all that the code inside, and the threads that it starts, write, change or start. Connections are refused there,
    as on a machine without a net."""
    global _seen, _hooked, _others
    if not _hooked:
        sys.addaudithook(_audit)  # cannot be taken off again: it sleeps between cases
        _hooked = True
    _others = {*threading.enumerate()} - {threading.current_thread()}
    found: list[str] = []
    _seen = found
    try:
        yield found
    finally:
        _seen = None


def tree(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every path below, with its mode, size and time of change; links are not followed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        found[str(path.relative_to(folder))] = (stat.st_mode, stat.st_size, stat.st_mtime_ns)
    return found
