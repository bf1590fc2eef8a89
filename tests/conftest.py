"""Settings and fixtures for all tests."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in a worker: one core a pack
os.environ.setdefault("RAY_ADDRESS", "local")  # short sweeps train on Ray too, as long ones do
import contextlib
import io
import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

import pytest

from tests import durations
from tests.s3_endpoint import Endpoint, endpoint

for name in [name for name in os.environ if name.startswith("GIT_")]:  # tests that a hook of git runs make repositories, too
    del os.environ[name]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-durations", action="store_true", help="renew the lines of tests/durations.txt")


class Failures:
    """Names each failed test at once: pytest-xdist prints a letter, and the name at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal:
            crash = getattr(report.longrepr, "reprcrash", None)
            what = crash.message.splitlines()[0] if crash else report.when
            terminal.write_line(f"\nFAILED {report.nodeid} - {what}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Failures(config))
    if config.getoption("--keep-durations"):
        config.pluginmanager.register(durations.Measuring())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    known = durations.read()
    config.stash[durations.UNKNOWN] = durations.unknown(items, known)
    durations.mark(items, known)


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


class Answered:
    """Runs `python -m analysis.outcome` in this process: hundreds of sweeps end here, and each would load pandas anew."""

    def __init__(self, words: list[str]) -> None:
        self.words, self.returncode = words, 0

    def communicate(self) -> tuple[str, str]:
        from analysis.outcome.__main__ import main

        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            self.returncode = main(self.words[3:])
        return out.getvalue(), err.getvalue()


@pytest.fixture(autouse=True)
def theory_is_asked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps within a test's own process; those that a test starts as commands ask as they do for a user."""
    monkeypatch.setattr("orchestrator.running.outcome_process.started", Answered)


@pytest.fixture(autouse=True)
def a_broken_pipe_kills_no_later_test() -> Iterator[None]:
    """Commands with long output end quietly at a closed pipe; within the tests' own process that must end with the command."""
    before = signal.getsignal(signal.SIGPIPE)
    yield
    signal.signal(signal.SIGPIPE, before)


@pytest.fixture(autouse=True)
def signals_are_heard() -> Iterator[None]:
    """Tests in the background, or under nohup, ignore Ctrl-C or a closed terminal: neither they nor what they start may inherit
    that. A test once waited in vain for its own interrupt, through 8,000 networks."""
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGHUP)}
    if before[signal.SIGINT] == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, lambda *_: None)  # nohup holds on; what is started gets the default in place of a function
    yield
    for s, handler in before.items():
        signal.signal(s, handler or signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache that tests and the commands they start do not share with their user. Compiled loops are shared, which no test can
    spoil; and no sweep measures this machine, which would take it a minute beside other tests."""
    from orchestrator.cost.calibration import Rates, rates_file
    from sweepkit.console.cache import cache_folder

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR") or str(cache_folder()))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        rates_file().write_text(json.dumps(asdict(Rates())))
        yield


@pytest.fixture(scope="session")
def cifar_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small CIFAR-100 and random weights for VGG-16. Features are kept there: a test that spoils something takes a copy."""
    from tests.made_images import make_images, make_weights

    folder = tmp_path_factory.mktemp("cifar")
    make_images(folder)
    make_weights(folder / "vgg16-made.pth")
    return folder


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


@pytest.fixture
def s3(s3_server: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    """The endpoint in the environment, and no copies of objects yet."""
    for name, value in s3_server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SWEEP_S3_CACHE", str(tmp_path / "cache"))
    return s3_server


@pytest.fixture
def bucket(s3: Endpoint) -> str:
    """A new one."""
    name = f"results-{uuid4().hex[:12]}"
    s3.make_bucket(name)
    return name
