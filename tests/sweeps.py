"""What tests of sweeps under way ask."""

import time
from collections.abc import Callable

from store.views import connect


def counts(results: str) -> tuple[int, int]:
    """Rows in `cells`, and different cells among them."""
    return connect(results).execute("select count(*), count(distinct cell_id) from cells").fetchone()


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.2)
