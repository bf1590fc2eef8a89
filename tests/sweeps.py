"""Helpers for tests of sweeps that are running."""

import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from sweepkit.store.views import connect


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


def has_ended(pid: int) -> bool:
    """True for a process that is gone, or that is kept only by a parent that has not asked for its end."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def answers(url: str) -> bool:
    """True once a server answers at this address."""
    try:
        urllib.request.urlopen(url).close()
    except OSError:
        return False
    return True


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[Any] | None" = None, log: Path | None = None) -> None:
    """Wait until it holds, however long that takes on a busy machine: pytest's limit ends what hangs. Where the process that is
    to bring it about ends before, an AssertionError shows what it wrote, to its pipe or its log."""
    while True:
        ended = process is not None and process.poll() is not None
        if condition():
            return
        if process is not None and ended:
            said = log.read_text(errors="replace") if log else process.communicate()[0]
            raise AssertionError(f"ended with {process.returncode} before what was waited for came: {said}")
        time.sleep(0.05)
