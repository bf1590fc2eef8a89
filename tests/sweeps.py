"""Helpers for tests of sweeps that are running."""

import time
from collections.abc import Callable

from store.views import connect


def counts(results: str) -> tuple[int, int]:
    """Rows in `cells`, and different cells among them."""
    return connect(results).execute("select count(*), count(distinct cell_id) from cells").fetchone()


def wait_until(condition: Callable[[], bool], seconds: float, every: float = 0.05) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(every)
    return True


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    assert wait_until(condition, seconds, 0.2), "what was waited for did not come"
