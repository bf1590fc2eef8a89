"""Small grids, and the command line as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestrator.sweep import app

ROOT = Path(__file__).resolve().parents[2]

SMALL = """\
sweep: small
defaults: {steps: 200, eval_every: 100, width: 32, batch: 32, test_size: 64}
grids:
  - task: same_different
    L: [3, 5]
    d: 16
    gamma: [1, lazy]
    seed: {range: 3}
"""


@pytest.fixture
def small_grid(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def results(tmp_path: Path) -> str:
    return str(tmp_path / "results")


def sweep_command(*args: Any) -> list[str]:
    """`python -m orchestrator.sweep` with these arguments."""
    return [sys.executable, "-m", "orchestrator.sweep", *map(str, args)]


@pytest.fixture
def sweep(results: str) -> Command:
    """Run the command to its end on this test's results directory."""

    def run(*args: Any) -> subprocess.CompletedProcess[str]:
        command = [*sweep_command(*args), "--results", results]
        env = os.environ | {"COLUMNS": "200"}
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False)

    return run


@pytest.fixture
def sweep_here(results: str) -> Command:
    """The same command in this process, which spares the imports; for what starts no Ray."""

    def run(*args: Any) -> subprocess.CompletedProcess[str]:
        done = CliRunner().invoke(app, [*map(str, args), "--results", results], env={"COLUMNS": "200"})
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return subprocess.CompletedProcess([], done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def start(results: str) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command and go on; whatever is left of it ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(*args: object) -> subprocess.Popen[str]:
        command = [*sweep_command(*args), "--results", results]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        if process.stdout and not process.stdout.closed:
            process.communicate()
