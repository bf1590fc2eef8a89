"""Watches whether Ray still answers. When it does not, Ray's own calls wait for ever, or end the process."""

import threading
import time
from collections.abc import Callable
from types import TracebackType

import ray

SILENT_S = 30.0
"""Seconds without an answer after which the head counts as lost. Ray's client ends the process after 60 s, without a message."""
ASK_EVERY_S = 2.0


class Watch:
    """Asks Ray's head which nodes live. Calls `on_lost` once, with the reason, when the head does not answer or no node is left.

    `on_lost` runs in a thread of its own. It should end the process, as the main thread may never come back from Ray.
    """

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
            except Exception:  # noqa: BLE001 - whatever Ray raises, the head has not answered; the other thread counts the seconds
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
        """Why the sweep cannot go on, at the time `now`; empty while all is well. Call it every few seconds."""
        looked, self._looked = self._looked, now
        if now - looked > self.silent_s / 2:  # this process itself was stopped, as by Ctrl-Z, and could hear no answer
            self._answered = self._had_nodes = now
        if now - self._answered > self.silent_s:
            return f"Ray's head has not answered for {self.silent_s:.0f} s: it has died, hangs or cannot be reached"
        if now - self._had_nodes > self.silent_s:
            return f"Ray has had no living node for {self.silent_s:.0f} s"
        return ""
