"""A process of this project that works for this one: it is asked and answers in frames of bytes, and learns when this one ends.

Questions come to its standard input and answers go through a pipe of their own, so that nothing that libraries print mixes with
them. A frame is its length in 8 bytes, then its bytes.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from sweepkit import FOLDER


class Child:
    """The process, in a session of its own: neither the terminal's Ctrl-C nor a notebook's stop button is for it.

    words: those after `python`; the number of the pipe for answers comes last. `cwd`: its folder, by default that of the
    packages, as a user's own analysis.py would be started elsewhere. `more`: further options of subprocess.Popen.
    """

    def __init__(self, words: Sequence[str], cwd: Path | None = FOLDER, **more: Any) -> None:
        answers, theirs = os.pipe()
        try:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, *words, str(theirs)], stdin=subprocess.PIPE, pass_fds=[theirs], start_new_session=True,
                cwd=cwd, **more,
            )  # fmt: skip
        except BaseException:
            os.close(answers)
            raise
        finally:
            os.close(theirs)
        self._answers = os.fdopen(answers, "rb")

    def ask(self, question: bytes) -> None:
        """Send a question. BrokenPipeError if the process has ended."""
        _write(cast(IO[bytes], self.process.stdin), question)

    def answer(self) -> bytes:
        """The next answer. EOFError if the process ends, perhaps within it."""
        return _read(self._answers)

    def close(self) -> int:
        """End the process if it still runs; its exit status."""
        self.process.kill()
        for pipe in (self.process.stdin, self._answers):
            with suppress(BrokenPipeError):  # closing writes what is still buffered
                cast(IO[bytes], pipe).close()
        return self.process.wait()


class Asker:
    """The process that asks, as its child sees it. `pipe`: the number that stands last among the child's arguments."""

    def __init__(self, pipe: str) -> None:
        os.set_inheritable(int(pipe), False)  # processes that this one starts would keep it open
        self._answers, self._questions = os.fdopen(int(pipe), "wb"), os.fdopen(os.dup(0), "rb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def question(self) -> bytes:
        """The next question. EOFError once the asking process has ended, perhaps within one."""
        return _read(self._questions)

    def answer(self, data: bytes) -> None:
        """Answer. BrokenPipeError if the asking process has ended."""
        _write(self._answers, data)


def _write(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(len(data).to_bytes(8))
    pipe.write(data)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    size = pipe.read(8)
    data = pipe.read(int.from_bytes(size)) if len(size) == 8 else b""
    if len(size) < 8 or len(data) < int.from_bytes(size):
        raise EOFError
    return data
