"""Work of minutes in a process of its own, at the lowest priority: beside it in one process, Python's lock and the threads of
the linear algebra took pages three times as long. `python -m analysis.overlays.apart` is that process.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TypeVar, cast

T = TypeVar("T")

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
TRIES = 2
"""How often work is begun whose process dies: it may have been ended for what other programs took."""


class ApartError(RuntimeError):
    """What went wrong there, in words."""


class Apart:
    """A process that works for this one, started when it is needed. It ends with this one, however this one ends."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def compute(self, work: Callable[[], T]) -> T:
        """work(), computed there; it and its result must be picklable. Waits for what others asked before.

        ApartError with the words of an error there, or where the process ends before it answers, TRIES times.
        """
        asked = pickle.dumps(pickle.dumps(work))  # bytes can be read whatever they hold
        with self._lock:
            for _ in range(TRIES):
                process = self._running()
                try:
                    cast(IO[bytes], process.stdin).write(asked)
                    cast(IO[bytes], process.stdin).flush()
                    value, error = pickle.load(cast(IO[bytes], process.stdout))
                except (BrokenPipeError, EOFError, pickle.UnpicklingError):  # it died, perhaps amid its answer
                    status = self._end()
                    continue
                except BaseException:  # its answer would be taken for that of the next question
                    self._end()
                    raise
                if error is not None:
                    raise ApartError(error)
                return cast(T, value)
            raise ApartError(f"the process that computes it ended {TRIES} times before it was done, with status {status}")

    def close(self) -> None:
        """End the process, so that its memory is free; more work starts another."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(  # away from the terminal, whose Ctrl+C is for this process
                [sys.executable, "-m", "analysis.overlays.apart"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                cwd=Path(__file__).parents[2], env=os.environ | ONE_THREAD, start_new_session=True,
            )  # fmt: skip
        return self._process

    def _end(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):  # what was still to be written to it
                cast(IO[bytes], pipe).close()
        return process.wait()


def main() -> None:
    """Do what comes by standard input, and answer on standard output; end when the one who asks is gone."""
    os.nice(19)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what work prints is no answer
    asked: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    while True:
        work = asked.get()
        try:
            answer = pickle.dumps((pickle.loads(work)(), None))
        except Exception as error:  # noqa: BLE001 - whatever it is, the one who asked hears it
            answer = pickle.dumps((None, f"{type(error).__name__}: {error}"))
        answers.write(answer)
        answers.flush()


def _listen(asked: SimpleQueue[bytes]) -> None:
    """Beside the work, so that the end of the one who asks is noticed amid it."""
    while True:
        try:
            asked.put(pickle.load(sys.stdin.buffer))
        except (EOFError, pickle.UnpicklingError):  # also where it ended amid a question
            os._exit(0)


if __name__ == "__main__":
    main()
