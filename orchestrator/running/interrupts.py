"""Handlers for Ctrl-C, SIGTERM and a closed terminal. They answer once this module is imported: import it before slow ones."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from sweepkit.console.commands import ENTRY
from sweepkit.console.exit_codes import INTERRUPTED, Interrupted
from sweepkit.console.streams import leave as leave_process

if TYPE_CHECKING:
    from orchestrator.running.driver import Sweep

SIGNALS = tuple(
    s for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if s != signal.SIGHUP or signal.getsignal(s) != signal.SIG_IGN
)
"""The signals that end a sweep. SIGHUP comes when the terminal closes; under `nohup` it is ignored and left alone."""
LATEST_S = 30.0
"""Seconds that an orderly end may take, `ray.shutdown` included."""
RELEASE_S = 2.0
"""Most seconds that `leave_at_once` waits for the lease, and for the scratch directory, to be given back. What is left behind is
stale to later sweeps."""


def leave(signum: int, frame: FrameType | None) -> None:
    """End the command in order: locks and leases are given back. A second signal ends it at once."""
    for other in SIGNALS:
        signal.signal(other, _leave_at_once)
    _say_interrupted()
    # A bare `except:` in a library may catch the SystemExit and go on; then the timer ends the process.
    late = threading.Timer(LATEST_S, _leave_at_once, (signum, frame))
    late.daemon = True
    late.start()
    raise Interrupted


def in_order() -> None:
    """From now on end the command in order, as there is something to give back. Until now, a signal ends the process at once."""
    for s in SIGNALS:
        if signal.getsignal(s) == _leave_imports:
            signal.signal(s, leave)


def _leave_imports(signum: int, frame: FrameType | None) -> None:
    _say_interrupted()
    os._exit(INTERRUPTED)


def _say_interrupted() -> None:
    """Write to the file descriptor itself, as the signal may have interrupted a write to a buffer.

    The console's file is standard error even while the output of libraries goes nowhere (`orchestrator.running.library_output`).
    """
    console = getattr(sys.modules.get("sweepkit.console.terminal"), "err", None)  # not imported yet in the first moments
    with suppress(OSError, ValueError):  # it is closed
        os.write((console.file if console else sys.stderr).fileno(), b"interrupted; what was committed is kept\n")


def _leave_at_once(signum: int, frame: FrameType | None) -> None:
    _dismiss_watchers()
    os._exit(INTERRUPTED)


@contextmanager
def keeping_signals() -> Iterator[None]:
    """Inside, libraries may set their own handlers for Ctrl-C and SIGTERM, as `ray.init` does.

    An exit by such a handler gets our message and exit code. Afterwards our handlers answer again.
    """
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
    """Install again the handlers that Python knows of.

    When Ray closes, it resets SIGTERM in the system without Python's knowledge; then a SIGTERM would end the command without a
    message.
    """
    if threading.current_thread() is threading.main_thread():
        for s in SIGNALS:
            signal.signal(s, signal.getsignal(s) or signal.SIG_DFL)


@contextmanager
def draining(sweep: "Sweep", at_once: Callable[["Sweep"], NoReturn]) -> Iterator[None]:
    """Inside, the first Ctrl-C (SIGTERM, SIGHUP) lets packs in flight finish; the second calls `at_once`.

    Only the main thread of a process can handle signals: in another, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    from sweepkit.console.terminal import err
    from sweepkit.console.words import duration

    def handle(signum: int, frame: FrameType | None) -> None:
        if signum == signal.SIGHUP:
            err.file = sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as this process lives
        if sweep.interrupted:
            err.print("stopped at once; what was committed is kept", highlight=False)
            at_once(sweep)
        sweep.interrupted = True
        sweep.queue.draining = True
        n, left = len(sweep.queue.in_flight), duration(sweep.queue.remaining_seconds())
        packs = "1 pack in flight finishes" if n == 1 else f"{n} packs in flight finish"
        what = f"{packs}, about {left}; Ctrl-C again stops at once" if n else "no pack is in flight"
        err.print(f"draining: {what}", highlight=False)

    old = {s: signal.signal(s, handle) for s in SIGNALS}
    try:
        yield
    finally:
        for s, handler in old.items():
            signal.signal(s, handler)


@contextmanager
def ends_noticed(on_ray: bool = True) -> Iterator[None]:
    """Inside, a second process watches this one, and prints a message if this one ends without a message of its own.

    Ray's client ends this process when the node process beside it dies; the system ends it when memory is short.
    """
    by_ray = ", or Ray ended it after Ray's own processes had died" if on_ray else ""
    text = (
        f"the sweep ended unexpectedly: its process was killed{by_ray}.\n"
        "what was committed is kept: the same command goes on from there"
    )
    watcher = subprocess.Popen(["sh", "-c", 'read -r line || echo "$0" >&2', text], stdin=subprocess.PIPE, start_new_session=True)
    _watchers.append(watcher)
    try:
        yield
    finally:
        _dismiss_watchers()


@contextmanager
def ends_after(
    seconds: float, reason: Callable[[], str], code: int = 1, on_leaving: Sequence[Callable[[], object]] = ()
) -> Iterator[None]:
    """Inside, a library may hang where no signal is heard: after some seconds the process says why, gives back what it holds, and
    ends with this exit code. Not if the library answers while the reason is looked for."""
    settled = threading.Lock()

    def end() -> None:
        from sweepkit.console.terminal import complain

        try:
            why = reason()
        except Exception as error:  # noqa: BLE001 - the process must end all the same
            why = f"there was no answer for {seconds:g} s, and a look for the cause failed: {error}"
        if settled.acquire(blocking=False):
            try:
                complain(why)
                _give_back_and_leave(on_leaving, code)
            finally:
                os._exit(code)

    late = threading.Timer(seconds, end)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()
        settled.acquire()  # for ever if the process ends just now


_watchers: list[subprocess.Popen[bytes]] = []


def _dismiss_watchers() -> None:
    while _watchers:
        watcher = _watchers.pop()
        with suppress(BrokenPipeError):  # the watcher was killed
            watcher.communicate(b"\n")


def give_up(sweep: "Sweep", reason: str) -> NoReturn:
    """Say why the sweep cannot go on, from any thread, and end it with exit code 1."""
    from sweepkit.console.terminal import complain, told

    complain(f"the sweep could not go on: {reason}")
    told("what was committed is kept: the same command goes on from there")
    leave_at_once(sweep, 1)


def leave_at_once(sweep: "Sweep", code: int) -> NoReturn:
    """End this process from any thread, even if other threads hang. Ray's local processes end with their driver."""
    _give_back_and_leave((sweep.lease.release, *sweep.on_leaving), code)


def _give_back_and_leave(on_leaving: Sequence[Callable[[], object]], code: int) -> NoReturn:
    giving_back = [threading.Thread(target=work, daemon=True) for work in on_leaving]
    for thread in giving_back:
        thread.start()
    for thread in giving_back:
        thread.join(RELEASE_S)
    _dismiss_watchers()
    leave_process(code)


def process_ends(sweep: "Sweep") -> NoReturn:
    """End a sweep that is a process of its own, as one is asked to a second time."""
    leave_at_once(sweep, INTERRUPTED)


_program = getattr(sys.modules.get("__main__"), "__spec__", None)
_by_module = _program is not None and _program.name == "orchestrator.sweep"  # not if a library or a test imports it
if _by_module or os.environ.get(ENTRY) == str(os.getpid()):
    for _signal in SIGNALS:
        signal.signal(_signal, _leave_imports)
