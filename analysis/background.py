"""A process of its own, at a low priority, for work that takes minutes: `python -m analysis.background low FOLDER`.

In the server's own process such work made pages three times as slow, by Python's lock and the threads of linear algebra.
"""

import os
import pickle
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar, cast

from sweepkit.console.child import Asker, Child

T = TypeVar("T")

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
NICE = 10
"""The priority, as `nice` counts: a tenth of a processor's time where another process of ordinary priority wants it all."""
LOW, USUAL = "low", "usual"
TRIES = 2
"""How often work is tried if its process dies: the system may have killed the process for memory that other programs took."""


class BackgroundError(RuntimeError):
    """An error of the process in the background, in words."""


class Background:
    """A process that works for this one, started when it is needed. It ends with this one, however this one ends.

    is_awaited: whether somebody waits for the work, which then has the usual priority.
    """

    def __init__(self, is_awaited: bool = False) -> None:
        self._priority = USUAL if is_awaited else LOW
        self._child: Child | None = None
        self._lock = threading.Lock()

    def compute(self, work: Callable[[], T]) -> T:
        """The result of work(), computed in that process; both must be picklable. Work that others asked for before comes first.

        BackgroundError with the words of an error that work() raises, or if the process ends TRIES times before it answers.
        """
        question = pickle.dumps(work)
        with self._lock:
            for _ in range(TRIES):
                child = self._running()
                try:
                    child.ask(question)
                    value, error = pickle.loads(child.answer())
                except (BrokenPipeError, EOFError):  # the process died, perhaps within its answer
                    status = self._end()
                    continue
                except BaseException:  # else its answer would be taken for that of the next question
                    self._end()
                    raise
                if error is not None:
                    raise BackgroundError(error)
                return cast(T, value)
            raise BackgroundError(f"the process that computes it ended {TRIES} times before it was done, with status {status}")

    def close(self) -> None:
        """End the process to free its memory; further work starts another."""
        with self._lock:
            self._end()

    def _running(self) -> Child:
        if self._child is None:
            self._child = Child(["-m", "analysis.background", self._priority, os.getcwd()], env=os.environ | ONE_THREAD)
        return self._child

    def _end(self) -> int | None:
        child, self._child = self._child, None
        return None if child is None else child.close()


def main() -> None:
    """Do the work that is asked for, one after the other, and end when the asking process has ended."""
    priority, folder, pipe = sys.argv[1:]
    asker = Asker(pipe)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the work prints is no answer of the server
    if priority == LOW:
        _give_way()
    os.chdir(folder)  # a relative results directory is that of the one who asks
    asked: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(asker, asked), daemon=True).start()
    while True:
        work = asked.get()
        try:
            answer = pickle.dumps((pickle.loads(work)(), None))
        except Exception as error:  # noqa: BLE001 - any error goes to the asking process
            answer = pickle.dumps((None, f"{type(error).__name__}: {error}"))
        asker.answer(answer)


def _give_way() -> None:
    """Leave processors to others that want them. Linux may share them among sessions first, and nice counts within a session
    alone: this process has one of its own."""
    os.nice(NICE)
    with suppress(OSError):  # other systems, and containers that do not let it
        Path("/proc/self/autogroup").write_text(str(NICE))


def _listen(asker: Asker, asked: SimpleQueue[bytes]) -> None:
    """Read questions in a thread beside the work, so that the end of the asking process is noticed during work."""
    while True:
        try:
            asked.put(asker.question())
        except EOFError:
            os._exit(0)


if __name__ == "__main__":
    main()
