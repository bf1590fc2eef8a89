"""Ctrl-C, SIGTERM and a closed terminal, from the first import on: import this first, of all that takes time."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from orchestrator.run.driver import Sweep

INTERRUPTED = 130
"""Exit code."""
SIGNALS = tuple(
    s for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if s != signal.SIGHUP or signal.getsignal(s) != signal.SIG_IGN
)
"""SIGHUP: its terminal was closed; under `nohup` that is not to end it."""
LATEST_S = 30.0
"""So long an end in order may take, `ray.shutdown` with it."""
RELEASE_S = 2.0
"""How long who stops at once waits for lease and scratch to be given back; later both are found stale."""


def leave(signum: int, frame: FrameType | None) -> None:
    """End the command in order: locks and leases are given back. A second signal does not wait for that."""
    for other in SIGNALS:
        signal.signal(other, _leave_at_once)
    _say_interrupted()
    # Some library's `except:` may take what is raised for an error of its own, and go on.
    late = threading.Timer(LATEST_S, _leave_at_once, (signum, frame))
    late.daemon = True
    late.start()
    raise SystemExit(INTERRUPTED)


def in_order() -> None:
    """From here on there is something to give back; before, in the imports, a signal ends the process where it is."""
    for s in SIGNALS:
        if signal.getsignal(s) == _leave_imports:
            signal.signal(s, leave)


def _leave_imports(signum: int, frame: FrameType | None) -> None:
    _say_interrupted()
    os._exit(INTERRUPTED)


def _say_interrupted() -> None:
    """Past all buffers, in one of which the signal may have come; and to where words go while others may not speak."""
    console = getattr(sys.modules.get("console.terminal"), "err", None)  # not there yet in the first moments
    with suppress(OSError, ValueError):  # closed
        os.write((console.file if console else sys.stderr).fileno(), b"interrupted; what was committed is kept\n")


def _leave_at_once(signum: int, frame: FrameType | None) -> None:
    _dismiss_watchers()
    os._exit(INTERRUPTED)


@contextmanager
def keeping_signals() -> Iterator[None]:
    """Inside, others may take Ctrl-C and SIGTERM for themselves, as `ray.init` does: an end by these is told as one by ours, and
    afterwards ours answer again."""
    ours = {s: signal.getsignal(s) for s in SIGNALS}
    try:
        yield
    except SystemExit as left:
        if left.code == INTERRUPTED:
            raise
        _say_interrupted()
        raise SystemExit(INTERRUPTED) from None
    finally:
        for s, handler in ours.items():
            signal.signal(s, handler)


def reclaim() -> None:
    """Have the handlers that Python knows of answer again: Ray's closing gives SIGTERM back to the system, beneath Python, and
    one that came then would end the command without a word."""
    if threading.current_thread() is threading.main_thread():
        for s in SIGNALS:
            signal.signal(s, signal.getsignal(s) or signal.SIG_DFL)


@contextmanager
def draining(sweep: "Sweep") -> Iterator[None]:
    """Inside, the first Ctrl-C (SIGTERM, SIGHUP) lets packs in flight finish; the second ends everything at once."""
    from console.terminal import err
    from console.words import duration

    def handle(signum: int, frame: FrameType | None) -> None:
        if signum == signal.SIGHUP:
            err.file = sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as this process lives
        if sweep.interrupted:
            err.print("stopped at once; what was committed is kept", highlight=False)
            leave_at_once(sweep, INTERRUPTED)
        sweep.interrupted = True
        sweep.queue.draining = True
        n, left = len(sweep.queue.in_flight), duration(sweep.queue.remaining_seconds())
        err.print(f"draining: {n} packs in flight finish, about {left}; Ctrl-C again stops at once", highlight=False)

    old = {s: signal.signal(s, handle) for s in SIGNALS}
    try:
        yield
    finally:
        for s, handler in old.items():
            signal.signal(s, handler)


@contextmanager
def ends_noticed() -> Iterator[None]:
    """Inside, should this process end without a word of its own, another one says so: Ray's client ends it when the node process
    beside it dies, and the system when memory is short."""
    text = (
        "the sweep has ended unasked: its process was killed, or Ray, whose own processes have died, ended it.\n"
        "what was committed is kept: the same command goes on there"
    )
    watcher = subprocess.Popen(["sh", "-c", 'read -r line || echo "$0" >&2', text], stdin=subprocess.PIPE, start_new_session=True)
    _watchers.append(watcher)
    try:
        yield
    finally:
        _dismiss_watchers()


_watchers: list[subprocess.Popen[bytes]] = []


def _dismiss_watchers() -> None:
    while _watchers:
        watcher = _watchers.pop()
        with suppress(BrokenPipeError):  # it was killed
            watcher.communicate(b"\n")


def give_up(sweep: "Sweep", reason: str) -> NoReturn:
    """Say why the sweep cannot go on, from any thread, and end it with exit code 1."""
    from console.terminal import complain, told

    complain(f"the sweep could not go on: {reason}")
    told("what was committed is kept: the same command goes on there")
    leave_at_once(sweep, 1)


def leave_at_once(sweep: "Sweep", code: int) -> NoReturn:
    """End this process from any thread, whatever the others wait for. Ray's local processes end with their driver."""
    giving_back = [threading.Thread(target=work, daemon=True) for work in (sweep.lease.release, *sweep.on_leaving)]
    for thread in giving_back:
        thread.start()
    for thread in giving_back:
        thread.join(RELEASE_S)
    _dismiss_watchers()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


_program = getattr(sys.modules.get("__main__"), "__spec__", None)
if _program is not None and _program.name == "orchestrator.sweep":  # not where a library or a test imports it
    for _signal in SIGNALS:
        signal.signal(_signal, _leave_imports)
