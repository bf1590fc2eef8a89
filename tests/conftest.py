"""What holds for all tests."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in a worker: one core a pack
import sys

import pytest


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Modules of Ray and torch outlive the interpreter, and DuckDB's bindings then print pages about leaks."""
    if {"ray", "torch"} & sys.modules.keys() and hasattr(config, "exit_status"):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.exit_status)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keep the status for `pytest_unconfigure`."""
    session.config.exit_status = int(exitstatus)
