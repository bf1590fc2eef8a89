"""A sweep in a process of its own, for a notebook: Ray may end the process that joined it, and it takes signals and output over.

The only question is the sweep, and the end of questions says that the notebook is gone; answers are JSON objects: progress, the
summary, or an exception. Standard error is what a person is told.
"""

import base64
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from orchestrator.grid.load import Grid
from orchestrator.grid.own.files import register_user_file
from orchestrator.grid.syntax.problems import GridError
from orchestrator.options import Options, Stage, SweepError
from orchestrator.running.interrupts import SIGNALS, leave
from orchestrator.running.progress import Screen, Snapshot
from orchestrator.session import run_session
from sweepkit import FOLDER
from sweepkit.console.child import Asker, Child
from sweepkit.console.exit_codes import INTERRUPTED
from sweepkit.console.terminal import told
from sweepkit.store.files import ResultsError
from sweepkit.store.store import Store
from trainables.tasks.base import TaskError

LOOK_EVERY_S = 0.2
ABORT_S = 15.0
"""Seconds that the process may take to stop at once, before it is killed."""
ERRORS = (GridError, ResultsError, SweepError, TaskError)
"""Exceptions that the caller gets as they are."""
_COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE")
"""Variables by which a kernel asks for colours in output that is no terminal's."""
_START = (  # Ctrl-C during the imports ends the process without a traceback
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); sys.path.insert(0, sys.argv[1]); "
    "from orchestrator.python.process import trained_for; trained_for(sys.argv[2])"
)


@dataclass
class SweepProcess:
    """A sweep that another process trains, seen from the notebook."""

    grid: Grid
    results: str
    options: Options
    answer: dict[str, Any] = field(default_factory=dict)
    """The summary; empty if the sweep was interrupted before there was one."""
    _latest: Snapshot | None = None
    _raised: BaseException | None = None
    _lines: deque[str] = field(default_factory=deque)
    _last_line: str = ""
    _interrupts: int = 0
    _next_look: float = 0.0

    @property
    def interrupted(self) -> bool:
        return self._interrupts > 0

    def run(self, screen: Screen) -> "SweepProcess":
        """Train to the end. An interrupt is passed on: the first drains, the second raises KeyboardInterrupt."""
        plain = {name: value for name, value in os.environ.items() if name not in _COLOURS}
        words = ["-P", "-c", _START, str(FOLDER)]
        child = Child(words, cwd=None, env=plain, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        process = child.process
        told_of = replace(self.options, say=told)
        # The parts of the grid in a user's own files can be read once these files are registered.
        sent = pickle.dumps((self.grid.user_files, pickle.dumps((self.grid, self.results, told_of))))
        work = [lambda: self._send(child, sent), lambda: self._hear(child), lambda: self._listen(process)]
        threads = [threading.Thread(target=one, daemon=True) for one in work]
        try:
            self._watch(process, threads, screen)
        finally:
            child.close()
        return self._ended(process.returncode)

    def _watch(self, process: "subprocess.Popen[bytes]", threads: list[threading.Thread], screen: Screen) -> None:
        """Show what comes until the process ends. Other threads read: an interrupt amid a read would lose what was read."""
        shown: Snapshot | None = None
        while True:
            try:
                for thread in threads:
                    if thread.ident is None:
                        thread.start()
                while any(thread.is_alive() for thread in threads):
                    threads[-1].join(LOOK_EVERY_S)
                    shown = self._show(screen, shown)
                process.wait()
                self._show(screen, shown)
                if self._latest:
                    screen.close(self._latest)
                return
            except KeyboardInterrupt:
                self._interrupts += 1
                process.send_signal(signal.SIGINT)
                if self._interrupts > 1:
                    try:
                        process.wait(ABORT_S)
                    except subprocess.TimeoutExpired:
                        process.kill()
                    raise KeyboardInterrupt("the sweep stopped at once; what was committed is kept") from None

    def _show(self, screen: Screen, shown: Snapshot | None) -> Snapshot | None:
        while self._lines:
            self._last_line = self._lines[0]
            self.options.say(self._last_line)
            self._lines.popleft()
        if self._latest is None or self._latest is shown or time.monotonic() < self._next_look:
            return shown
        self._next_look = time.monotonic() + screen.every_s
        screen.show(self._latest)
        return self._latest

    def _send(self, child: Child, sent: bytes) -> None:
        with suppress(BrokenPipeError):  # it ended already: its exit code says why
            child.ask(sent)

    def _hear(self, child: Child) -> None:
        """Keep the progress, the summary or the exception."""
        with suppress(EOFError):
            while True:
                match json.loads(child.answer()):
                    case {"progress": fields}:
                        self._latest = Snapshot(**{**fields, "last": tuple(fields["last"])})
                    case {"answer": answer}:
                        self.answer = answer
                    case {"raised": text}:
                        self._raised = pickle.loads(base64.b64decode(text))

    def _listen(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                self._lines.append(line.decode(errors="replace").rstrip("\n"))

    def _ended(self, code: int) -> "SweepProcess":
        if self._raised is not None:
            raise self._raised
        if "error" in self.answer:
            raise SweepError(f"the sweep could not go on: {self.answer['error']}", 1)
        if not self.answer and not self.interrupted:
            raise SweepError(self._last_line or f"the process that trained ended with {code}", 1)
        return self


class _Sent:
    """The screen in the process that trains: it sends each state to the notebook."""

    every_s = LOOK_EVERY_S

    def __init__(self, tell: "_Tell") -> None:
        self.tell = tell

    def show(self, now: Snapshot) -> None:
        self.tell(progress=asdict(now))

    def close(self, last: Snapshot) -> None:
        self.tell(progress=asdict(last))


class _Tell:
    """Writes messages to the notebook. If it is gone, they are lost: the sweep drains then."""

    def __init__(self, asker: Asker) -> None:
        self._asker, self._lock = asker, threading.Lock()

    def __call__(self, **message: Any) -> None:
        with suppress(BrokenPipeError), self._lock:
            self._asker.answer(json.dumps(message).encode())


def trained_for(pipe: str) -> None:
    """Train a sweep for a notebook, and end this process."""
    for s in SIGNALS:
        signal.signal(s, leave)
    asker = Asker(pipe)
    tell = _Tell(asker)
    user_files, rest = pickle.loads(asker.question())
    for file in user_files:
        register_user_file(file)
    grid, results, options = pickle.loads(rest)
    threading.Thread(target=_leave_with, args=(asker,), daemon=True).start()
    code = 1
    try:
        stage = Stage(lambda quiet: _Sent(tell), answer=lambda answer: tell(answer=answer))
        code = run_session(grid, Store(results), options, stage)
    except ERRORS as error:
        tell(raised=base64.b64encode(pickle.dumps(error)).decode())
    except SystemExit:
        code = INTERRUPTED
    except Exception:  # noqa: BLE001 - an error of ours: its traceback is told, and its last line is the caller's exception
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(code)  # as the command ends: Ray keeps modules alive to the last


def _leave_with(asker: Asker) -> None:
    """Wait for the end of the notebook's process; then drain."""
    with suppress(EOFError):
        asker.question()
    os.kill(os.getpid(), signal.SIGTERM)
