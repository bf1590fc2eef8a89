"""A store with networks that are done, diverged and failed, and a real MLflow server on this machine."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sweepkit.store.store import Store
from tests.store_rows import row
from tests.sweeps import answers, wait_for

for _name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"):
    os.environ.setdefault(_name, "true")

STEPS = [1, 2, 5, 10, 100, 1000]


def network(cell: int, L: int, seed: int, status: str = "ok", **more: object) -> dict[str, object]:
    curve = {"curve_step": STEPS, "curve_test_acc": [0.5 + 0.01 * L + 0.05 * seed + i / 20 for i in range(6)]}
    return row(cell, status, curves=0, L=L, seed=seed, test_size=1000, steps=1000, **(curve if status == "ok" else {}), **more)


@pytest.fixture
def results(tmp_path: Path) -> str:
    """Sweep `uneven`: L = 3 with three seeds, L = 4 with one done, one diverged, one failed. And a network of no sweep."""
    store = Store(str(tmp_path / "results"))
    store.commit("p", [network(i, 3, i, git_sha="abc", host="here") for i in range(3)])
    store.commit("q", [network(3, 4, 0), network(4, 4, 1, "diverged", reason="loss is NaN | at step 7")])
    store.commit("r", [network(5, 4, 2, "failed", reason="RuntimeError: boom\n  at line 3")], failed=True)
    store.commit("s", [network(6, 5, 0)])
    store.write_plan("uneven", [f"{i:020x}" for i in range(6)])
    return store.results


@pytest.fixture(scope="session")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a database of its own; it ends with the tests."""
    pytest.importorskip("mlflow", reason="needs the extra mlflow")
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["server", "--backend-store-uri", f"sqlite:///{folder}/runs.db", "--artifacts-destination", f"{folder}/files"]
    log = (folder / "log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "mlflow", *words, "--host", "127.0.0.1", "--port", str(port), "--workers", "1"],
        stdout=log, stderr=log, cwd=folder, start_new_session=True,
        env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(f"{url}/health"), server, folder / "log")
        yield url
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, 15)
        server.wait()
        log.close()
