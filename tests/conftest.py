"""What holds for all tests."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in a worker: one core a pack
import sys
from pathlib import Path

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


@pytest.fixture(scope="session")
def cifar_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small CIFAR-100 and random weights for VGG-16. Features are kept there: a test that spoils something takes a copy."""
    from tests.made_cifar import make_images, make_weights

    folder = tmp_path_factory.mktemp("cifar")
    make_images(folder)
    make_weights(folder / "vgg16-made.pth")
    return folder
