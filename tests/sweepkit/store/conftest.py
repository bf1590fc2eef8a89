"""Stores of every kind: a test that asks for `results`, `store` or `files` runs over each."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sweepkit.store.files import Files, open_files
from sweepkit.store.store import Store
from tests.s3_endpoint import Endpoint

BACKENDS = ("local", "s3")


@pytest.fixture(params=BACKENDS)
def results(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "local":
        return str(tmp_path / "results")
    return f"s3://{request.getfixturevalue('bucket')}/of/eq3"


@pytest.fixture
def files(results: str) -> Files:
    return open_files(results)


@pytest.fixture
def store(results: str) -> Store:
    return Store(results)


Age = Callable[[Store, str, float], None]


@pytest.fixture
def age(request: pytest.FixtureRequest) -> Age:
    """Let the file at that path be so many seconds older than now."""

    def make_older(store: Store, path: str, seconds: float) -> None:
        if store.results.startswith("s3://"):
            server: Endpoint = request.getfixturevalue("s3_server")
            name, _, prefix = store.results.removeprefix("s3://").partition("/")
            server.age(name, f"{prefix}/{path}", seconds)
        else:
            os.utime(Path(store.results, path), (time.time() - seconds,) * 2)

    return make_older
