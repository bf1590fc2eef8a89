"""Standard streams of a command, and its end. They are there even if its caller closed them; what one of them cannot take is
dropped, and said in one line on the other at the end."""

import io
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TextIO

NAMES = ("standard input", "standard output", "standard error")
_closed: set[int] = set()
"""Descriptors that were closed when this process started."""
_lost: dict[int, str] = {}
"""Why a stream did not take what was written to it."""
_written: set[int] = set()
"""Streams that took something."""
_is_answer = False
"""True if standard output is what the command is for."""


def fill() -> None:
    """Open /dev/null as those of the descriptors 0, 1 and 2 that are closed: else the next file that is opened, perhaps one of
    results, would get the number, and with it all that libraries print. Streams that Python left out are made."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number; programs started here need it, too
            _closed.add(descriptor)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for as long as this process lives
    if sys.stdout is None:
        sys.stdout = writer(1)
    if sys.stderr is None:
        sys.stderr = writer(2)


class _Sink(io.FileIO):
    """A descriptor that takes everything. What it stands for may be closed, full or a pipe that nobody reads."""

    def __init__(self, descriptor: int, stands_for: int, close: bool) -> None:
        super().__init__(descriptor, "w", closefd=close)
        self._stands_for = stands_for

    def write(self, data: "bytes | memoryview", /) -> int:  # type: ignore[override]
        rest = memoryview(data).cast("B")
        if rest and self._stands_for in _closed:
            _lost.setdefault(self._stands_for, "is closed")
        while rest and self._stands_for not in _lost:
            try:
                done = super().write(rest)
            except OSError as error:
                _lost[self._stands_for] = f"cannot be written ({error.strerror})"
                break
            if done is None:  # another program made it a stream that does not wait
                select.select([], [self], [])
            else:
                _written.add(self._stands_for)
            rest = rest[done or 0 :]
        return len(data)


def writer(descriptor: int, stands_for: int | None = None, like: TextIO | None = None) -> TextIO:
    """A stream for text to the descriptor, or to a copy of the one that it stands for, which it closes at its end. It takes what
    its encoding lacks as `\\u2265`. `like`: the stream whose encoding and buffering it has."""
    sink = _Sink(descriptor, descriptor if stands_for is None else stands_for, close=stands_for is not None)
    errors = getattr(like, "errors", None) or "strict"
    return io.TextIOWrapper(
        sink if isinstance(getattr(like, "buffer", None), io.RawIOBase) else io.BufferedWriter(sink),  # type: ignore[type-var]
        encoding=getattr(like, "encoding", None) or "utf-8",
        errors="backslashreplace" if errors == "strict" else errors,
        line_buffering=sink.isatty() or sink._stands_for == 2,
        write_through=getattr(like, "write_through", False),
    )


def answers() -> None:
    """From here on, standard output is what the command is for, as it is with --json: if it is lost, the command ends with 1."""
    global _is_answer
    _is_answer = True


def folder_gone() -> str:
    """The words for a person whose current directory was deleted; empty if it is there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return "the current directory was deleted; go to another one (`cd`), and start it again"
    return ""


def run_and_leave(command: Callable[[], object], quiet_pipe: bool = False) -> NoReturn:
    """Run the command, then end the process at once, with its exit code.

    In an ordinary end Ray keeps modules alive to the last, and DuckDB's bindings report them as leaks.
    quiet_pipe: `... | head` ends it without a word, as with any Unix tool.
    """
    if quiet_pipe:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.stdout, sys.stderr = (writer(n, like=like) for n, like in ((1, sys.stdout), (2, sys.stderr)))
    code: object = 0
    if gone := folder_gone():
        print(gone, file=sys.stderr)
        leave(2)
    try:
        command()
    except SystemExit as error:
        code = error.code
    except Exception as error:
        from sweepkit.console.errors import PlainError  # here: most commands end without them
        from sweepkit.console.terminal import complain

        if not isinstance(error, PlainError):
            raise
        complain(str(error))  # its message says all
        code = 2
    if isinstance(code, str):
        print(code, file=sys.stderr)
    leave(code if isinstance(code, int) else 0 if code is None else 1)


def leave(code: int) -> NoReturn:
    """End the process at once with this exit code, after a line about what a stream did not take."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):  # a library may have kept one of Python's own
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
    is_data = _is_answer or "--json" in sys.argv
    for lost, left in ((1, sys.stderr), (2, sys.stdout)):
        if lost in _lost and not (lost == 2 and is_data and 1 in _written):  # a program reads there, and must find nothing else
            print(f"{NAMES[lost]} {_lost[lost]}: what belongs there is lost", file=left, flush=True)
    os._exit(1 if code == 0 and is_data and 1 in _lost else code)
