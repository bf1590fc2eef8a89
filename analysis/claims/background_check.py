"""The claims of a growing store, checked in the background: known verdicts are shown while others are still computed.

Claims that have networks are checked first.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, NamedTuple

from analysis.background import Background
from analysis.claims.board import likely_first
from analysis.claims.check import check, load_claims
from analysis.claims.entries import Claim
from analysis.claims.published import published
from analysis.claims.verdict import Checked
from analysis.claims.verdict_cache import judged_by, recall, remember
from analysis.data.source import state
from sweepkit.studies import is_ours

PAUSE_S = 30.0
"""Least time between the end of one check and the start of the next: a running sweep changes the store every few seconds."""
KEEP_S = 5.0
"""How often verdicts are kept on disk while others are checked, so that a server that ends early does not lose them."""
FIRST = 6
"""How many verdicts make a first look worth while."""


class State(NamedTuple):
    """The verdicts known so far, in the order of the claims. A claim that is being checked again keeps its last verdict until
    the new one is known."""

    checked: list[Checked]
    n_to_come: int
    error: BaseException | None


class Following:
    """Checks the claims of one store anew whenever its token changes, one check at a time, in a process of its own."""

    def __init__(self, results: str, claims: list[Claim] | None = None, pause_s: float = PAUSE_S) -> None:
        self.pause_s, self.started_at, self.ended_at = pause_s, monotonic(), 0.0
        self.apart = Background()
        self.results, self.claims = results, load_claims() if claims is None else claims
        self.remembers = claims is None
        self.token: Any = None
        """The state of the store of the last check."""
        self.known: dict[str, Checked] = {}
        self.left_off: tuple[Any, frozenset[str]] = (None, frozenset())
        """The state of the store of a check that ended early with its server, and the claims that it left."""
        if self.remembers:
            token, self.known, left = recall(results, self.claims)  # the last check may be that of an earlier server
            if not self.known:
                self.known, left = published(results, self.claims)
                token = state(results) if self.known else None
            self.token, self.left_off = (None, (token, left)) if left else (token, self.left_off)
        self.n_done = 0
        """Number of single checks since the start: a claim that was checked twice counts twice."""
        self.to_come: set[str] = set()
        self.waiting: Any = None
        """A token that a look brought before a check could start; None if there is none."""
        self.running: Future[None] | None = None
        self.is_over = False
        """Set by `end`."""
        self.lock, self.some = Lock(), Event()

    def look(self, token: Any, wait_s: float = 0.0) -> State:
        """The present state. Starts a check if `token` differs from that of the last check, none is running and the pause is
        over.

        Waits for the end of a running check or for its first verdicts, up to `wait_s`.
        """
        with self.lock:
            rested = self.running is None or (self.running.done() and monotonic() >= self.ended_at + self.pause_s)
            if token != self.token:
                self.waiting = None if rested else token
            if rested and token != self.token:
                begun, left = self.left_off
                self.token, self.left_off = token, (None, frozenset())
                self.to_come = {claim.id for claim in self.claims if begun != token or claim.id in left}
                self.running, self.started_at = Future(), monotonic()
                self.some.clear()
                # A daemon, unlike a pool's threads: ending the server must not take minutes.
                Thread(target=self._check, args=(self.running,), name="claims", daemon=True).start()
            running = self.running
        if running is not None:
            self.some.wait(wait_s)
        error = running.exception() if running is not None and running.done() else None
        with self.lock:
            return State([self.known[c.id] for c in self.claims if c.id in self.known], len(self.to_come), error)

    def end(self) -> None:
        """Check no further claims, and keep no more verdicts: a study has changed, and another one follows the store."""
        self.is_over = True

    @property
    def took_s(self) -> float:
        """Seconds since the last check started."""
        return monotonic() - self.started_at

    def resume(self) -> None:
        """Start the check that an earlier look asked for during a check or a pause, as soon as that is over."""
        if self.waiting is not None:
            self.look(self.waiting)

    def _check(self, end: Future[None]) -> None:
        try:
            kept_at = monotonic()
            claims = [claim for claim in self.claims if claim.id in self.to_come]
            claims.sort(key=lambda claim: is_ours(claim.study))  # those of a person's own studies first
            for claim in self.apart.compute(partial(likely_first, self.results, claims)):
                (one,) = self.apart.compute(partial(_checked, self.results, [claim], [judged_by(claim)]))
                if self.is_over:
                    break
                with self.lock:
                    self.known[one.claim.id] = one
                    self.to_come.discard(one.claim.id)
                    self.n_done += 1
                    if len(self.known) >= FIRST:
                        self.some.set()
                if self.remembers and monotonic() >= kept_at + KEEP_S:
                    remember(self.results, self.token, self.known, self.to_come)
                    kept_at = monotonic()
            if self.remembers and not self.is_over:
                remember(self.results, self.token, self.known)
            error = None
        except Exception as raised:  # noqa: BLE001 - the page shows any error
            error = raised
        self.apart.close()
        self.ended_at = monotonic()
        end.set_exception(error) if error else end.set_result(None)
        self.some.set()


def _checked(results: str, claims: Sequence[Claim], code: Sequence[str]) -> list[Checked]:
    """The verdicts on these claims, in a process of its own. RuntimeError if that judges by other code than the process that
    asks."""
    for claim, known in zip(claims, code, strict=True):
        if judged_by(claim) != known:
            raise RuntimeError(f"the code that judges {claim.id} has changed since this check began")
    return check(results, claims)
