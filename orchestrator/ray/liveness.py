"""Whether the Ray that a sweep runs on still answers: Ray itself waits for ever in places, and in others ends the process."""

import threading
import time
from collections.abc import Callable
from types import TracebackType

import ray

SILENT_S = 30.0
"""A head that has not answered for so long is gone. Ray's own client ends the process after 60 s, without a word to the user."""
ASK_EVERY_S = 2.0


class Watch:
    """Asks Ray's head which nodes live, and calls `on_lost` with the reason, once, from a thread of its own, when it does not
    answer or no node is left. `on_lost` should end the process: the main thread may never come back from Ray."""

    def __init__(self, on_lost: Callable[[str], None], silent_s: float = SILENT_S) -> None:
        self.on_lost, self.silent_s = on_lost, silent_s
        self._over = threading.Event()
        self._answered = self._had_nodes = self._looked = time.monotonic()

    def __enter__(self) -> "Watch":
        for work in (self._ask, self._watch):
            threading.Thread(target=work, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()

    def _ask(self) -> None:
        while not self._over.wait(ASK_EVERY_S):
            try:
                nodes = ray.nodes()  # type: ignore[no-untyped-call]
            except Exception:  # noqa: BLE001 - whatever Ray raises, it is no answer; the other thread counts the seconds
                continue
            self._answered = time.monotonic()
            if any(node["Alive"] for node in nodes):
                self._had_nodes = self._answered

    def _watch(self) -> None:
        while not self._over.wait(ASK_EVERY_S):
            if reason := self.lost(time.monotonic()):
                self._over.set()
                self.on_lost(reason)

    def lost(self, now: float) -> str:
        """Why the sweep cannot go on, as of now; empty while all is well. To be asked every few seconds."""
        looked, self._looked = self._looked, now
        if now - looked > self.silent_s / 2:  # this process itself was stopped, as by Ctrl-Z, and heard nobody
            self._answered = self._had_nodes = now
        if now - self._answered > self.silent_s:
            return f"Ray's head has not answered for {self.silent_s:.0f} s: it has died, hangs or cannot be reached"
        if now - self._had_nodes > self.silent_s:
            return f"Ray has had no living node for {self.silent_s:.0f} s"
        return ""
