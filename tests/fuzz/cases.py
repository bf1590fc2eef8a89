"""The fuzzed case: how it is run in this process, and the rules that hold for every case."""

import atexit
import io
import json
import os
import re
import resource
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO
from unittest import mock

import duckdb
import torch  # noqa: F401 - networks of one's own import it, which starts a program
import typer
from typer.testing import CliRunner

import analysis.figures.__main__
import analysis.query
import analysis.report.__main__
import orchestrator.foresight
import orchestrator.launch
import orchestrator.plan.forecast
import orchestrator.session
import orchestrator.store
import orchestrator.sweep
from analysis.claims.entries import read_claims
from analysis.data.source import ResultsError
from analysis.sql.guarded import Request, answered
from orchestrator.cost.calibration import Rates
from sweepkit.console import streams
from sweepkit.console.terminal import stop
from sweepkit.store.connections import close_kept
from tests.fuzz.watch import tree, watched
from tests.fuzz.world import SECRET

MOST_CPU_S, CELL_CPU_S, SEARCH_CPU_S = 30.0, 0.0005, 0.01
"""The limit for one case, and what is added for each cell and each search that it plans. They find what hangs, and are some ten
times what is usual: a busy machine takes two to three times as much."""
MOST_MEMORY_GB = 2.0
"""The most by which a case may raise the peak of the process, which holds torch, DuckDB and whatever ran before."""

claims = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@claims.command()
def read(path: Path) -> None:
    """Read a file of claims, as the Python interface does."""
    try:
        read_claims(path)
    except ValueError as error:
        stop(str(error))


PROGRAMS = {
    "claims": claims,
    "launch": orchestrator.launch.app,
    "sweep": orchestrator.sweep.app,
    "store": orchestrator.store.app,
    "query": analysis.query.app,
    "report": analysis.report.__main__.app,
    "figures": analysis.figures.__main__.app,
}


class Broken(AssertionError):
    """A property that did not hold; says of which case."""


MEMORY = 16 * 2**30
"""That commands find free."""


class RayStarted(BaseException):
    """Where Ray would have been started; no handler of errors may take it for one of its own."""


@dataclass(frozen=True)
class Case:
    """A command line, and a grid.yaml that it may name; or SQL for the guard of the app."""

    program: str
    words: tuple[str, ...]
    grid: bytes | None = None
    writes: bool = False
    """Whether it would write were it let through: it must be refused."""
    beside: tuple[tuple[str, bytes], ...] = ()
    """Files beside the grid, by name."""
    expected: int | None = None
    """The exit code, where it is known; what is refused must be told with the line of the grid or with the file."""
    says: str = ""
    """Words that it must say."""
    environment: tuple[tuple[str, str], ...] = ()
    umask: int = 0o022
    lost: tuple[int, ...] = ()
    """Standard streams that lie on a full device when it is run once more: the exit code stays."""
    alike: str = ""
    """A copy of the world's `results` under another name: the answer is that of `results`."""


@dataclass(frozen=True)
class Outcome:
    """How it ended: exit code, seconds of processor, and what it said."""

    code: int
    seconds: float
    said: str


@cache
def _cache() -> str:
    """Where compiled kernels lie: what a rehearsal compiles for later is no result."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def in_world(world: Path) -> Iterator[None]:
    """Commands run there, without measuring the machine (20 s), with memory that does not change between two of them, and with a
    refusal in the place of Ray."""

    def no_ray(*_: object) -> None:
        raise RayStarted

    before = Path.cwd()
    os.chdir(world)
    settings = {"XDG_CACHE_HOME": _cache(), "SWEEP_DATA_DIR": str(world / "data"), "COLUMNS": "200", "SECRET": SECRET}
    try:
        with (
            mock.patch.dict(os.environ, settings),
            mock.patch.object(orchestrator.foresight, "machine_rates", lambda say: Rates()),
            mock.patch.object(orchestrator.foresight, "kept_rates", lambda: Rates()),
            mock.patch.object(orchestrator.session, "_runner", no_ray),
            mock.patch.object(orchestrator.plan.forecast, "available_bytes", lambda: MEMORY),
        ):
            os.environ.pop("RAY_ADDRESS", None)
            yield
    finally:
        os.chdir(before)
        close_kept()


def check(case: Case, world: Path) -> Outcome:
    """Run it; Broken where it crashes, writes, starts something, takes too long, tells a secret or says nothing of use."""
    umask = os.umask(case.umask)
    try:
        with _beside(case, world), mock.patch.dict(os.environ, dict(case.environment)):
            return _checked(case, world)
    finally:
        os.umask(umask)


@contextmanager
def _beside(case: Case, world: Path) -> Iterator[None]:
    """The case's files are in the world."""
    if case.grid is not None:
        (world / "grid.yaml").write_bytes(case.grid)
    for name, data in case.beside:
        (world / name).write_bytes(data)
    try:
        yield
    finally:
        for name, _ in case.beside:
            (world / name).unlink()


def _checked(case: Case, world: Path) -> Outcome:
    before, started, memory = tree(world), time.process_time(), peak_gb()
    with watched() as seen:
        outcome = _guarded(case, world) if case.program == "guard" else _command(case, case.words)
    seconds = time.process_time() - started
    if case.program == "sweep" and outcome.code == 2:
        with watched() as seen_too:  # what is refused in a rehearsal is refused before Ray starts
            again = _command(case, _without_dry_run(case.words))
        _require(again.code == 2, case, f"--dry-run refuses it, the sweep itself leaves with {again.code}")
        seen = seen + seen_too
    if case.lost:
        with watched() as seen_too:
            code = _lost(case)
        _require(code == outcome.code, case, f"leaves with {code} where {case.lost} cannot be written, else with {outcome.code}")
        seen = seen + seen_too
    if case.alike:
        other = _command(case, tuple("results" if word == case.alike else word for word in case.words))
        same = (other.code, other.said) == (outcome.code, outcome.said) or "choose another name" in outcome.said
        _require(same, case, f"says {outcome.said!r}, not {other.said!r}")
    _require(outcome.code in (0, 2) or (case.program == "store" and outcome.code == 1), case, f"left with {outcome.code}")
    is_told = "--debug" in case.words  # which shows the traceback of a user's part
    _require(is_told or "Traceback (most recent call last)" not in outcome.said, case, f"a traceback: {outcome.said}")
    if outcome.code != 0 or not _may_write(case):
        _require(not seen, case, f"left with {outcome.code}, and {'; '.join(seen)}")
        _require(tree(world) == before, case, f"left with {outcome.code}, and changed {_difference(before, tree(world))}")
    _require(case.says in outcome.said, case, f"does not say {case.says!r}: {outcome.said}")
    _require(case.expected in (None, outcome.code), case, f"left with {outcome.code}, not {case.expected}: {outcome.said}")
    if outcome.code == 2:
        names = ("grid.yaml", "command line", " GiB, but a pack may take ", *(name for name, _ in case.beside))
        told = not case.beside or any(name in outcome.said for name in names)
        _require(told, case, f"names neither file nor line: {outcome.said!r}")
        _require(bool(re.search(r"\w{2}", outcome.said)), case, f"says nothing of use: {outcome.said!r}")
    _require(
        not (case.writes and outcome.code == 0 and case.program in ("guard", "query")), case, f"let through: {outcome.said[:500]}"
    )
    if case.program == "guard":
        _require(SECRET not in outcome.said and "root:x:0" not in outcome.said, case, "it tells what it must not read")
    # The guard speaks to a browser; a form that was chosen is data in a pipe, such as this one; and of an unknown option typer
    # repeats what its user has typed.
    is_data = case.program == "query" and {"csv", "json", "parquet"} & {*case.words}
    to_terminal = case.program != "guard" and not is_data and "Usage: " not in outcome.said
    _require(
        not to_terminal or "\x1b" not in outcome.said, case, f"it sends an escape sequence to the terminal: {outcome.said!r}"
    )
    most = MOST_CPU_S + CELL_CPU_S * _planned("cell", outcome.said) + SEARCH_CPU_S * _planned("threshold", outcome.said)
    _require(seconds < most, case, f"took {seconds:.1f} s of processor, and {most:.0f} s are the most")
    memory = peak_gb() - memory
    _require(memory < MOST_MEMORY_GB, case, f"the process has grown by {memory:.2f} GB")
    return Outcome(outcome.code, seconds, outcome.said)


def peak_gb() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _planned(what: str, said: str) -> int:
    """How many a sweep announces."""
    return max((int(n) for n in re.findall(rf"(\d+) {what}s?\b", said)), default=0)


def _may_write(case: Case) -> bool:
    writers = {"compact", "export", "--clean"}
    return case.program in ("report", "figures") or (case.program == "store" and bool(writers & set(case.words)))


def _command(case: Case, words: tuple[str, ...]) -> Outcome:
    try:
        done = CliRunner().invoke(PROGRAMS[case.program], list(words), catch_exceptions=True)
    except RayStarted:
        raise Broken(f"bad input would have started Ray: {case}") from None
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise Broken(f"{case}\n{''.join(traceback.format_exception(done.exception))}") from done.exception
    return Outcome(done.exit_code, 0.0, done.output)


def _without_dry_run(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without the option; behind `--` it is none, but a value like any other."""
    end = words.index("--") if "--" in words else len(words)
    return (*(word for word in words[:end] if word != "--dry-run"), *words[end:])


def _lost(case: Case) -> int:
    """The exit code of the command where some of its standard streams lie on a full device."""

    def stream(descriptor: int) -> IO[str]:
        if descriptor in case.lost:
            return streams.writer(os.open("/dev/full", os.O_WRONLY), stands_for=descriptor)
        return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")

    with mock.patch.dict(streams._lost), stream(1) as out, stream(2) as err, redirect_stdout(out), redirect_stderr(err):
        try:
            PROGRAMS[case.program](args=list(case.words))
        except SystemExit as left:
            return int(left.code or 0)
    return 0


def _guarded(case: Case, world: Path) -> Outcome:
    """Answers in this process as the app's process for SQL does: `tests/analysis/sql/test_guarded.py` tests the process
    itself."""
    request = Request(str(world / "results"), case.words[0], "rows", 10, 1000, 1.0, 1 << 20, 1000)
    try:
        head, data = answered(request)
    except (ResultsError, duckdb.Error) as error:
        return Outcome(2, 0.0, str(error))
    return Outcome(0, 0.0, json.dumps(head) + data.decode("latin-1").replace("\x1b", ""))  # Arrow's bytes hold any byte


def _difference(before: dict[str, tuple[int, int, int]], after: dict[str, tuple[int, int, int]]) -> str:
    return ", ".join(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def _require(holds: bool, case: Case, what: str) -> None:
    if not holds:
        raise Broken(f"{what}\n{case}")
