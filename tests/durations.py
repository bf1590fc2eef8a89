"""Seconds of each test, measured and kept in `durations.txt`: they decide which tests are slow, and which wait for the night.

`pytest --keep-durations` renews the lines of the tests that it runs (`make durations`: of all). A test takes what it takes itself
and what the fixtures take that it shares with others of its file, so that it is slow whoever comes first.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_suffix(".txt")
SLOW_S = 0.5
"""From here on `make test` leaves a test to `.ci/run`."""
NIGHTLY_S = 10.0
"""From here on `.ci/run` leaves a test to `make nightly`, unless it is marked as a `guard`."""
NIGHTLY_KINDS = ("ray", "browser")
"""Marks of slow tests that it leaves there as well: Ray and a browser use more of the machine than the seconds of a test tell."""
KEPT = 1.5
"""Times between which a new measurement leaves the old one: lines change with tests, and not with what else the machine does."""

UNKNOWN = pytest.StashKey[list[str]]()
"""Lines of the file that are `unknown`."""
HEAD = f"""\
# Seconds of tests and of fixtures that tests share, where they are {SLOW_S:g} or more: renewed by `make durations`.
# A line is a test with its parameters, or a test with all of them, of which the longest counts, or all other tests of a file.
"""


def read(file: Path = FILE) -> dict[str, float]:
    """Name -> seconds. A name is a test's, with or without its parameters, or a fixture's: `its file or folder::name`."""
    lines = (line.split(maxsplit=1) for line in file.read_text().splitlines() if line and not line.startswith("#"))
    return {name: float(seconds) for seconds, name in lines}


def shared_by(item: pytest.Item) -> list[str]:
    """Names of the fixtures of its file or folder that an item shares with other tests. Those of all tests are nobody's."""
    found = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return [_name(defs[-1]) for defs in found.values() if defs[-1].scope != "function" and defs[-1].baseid not in ("", "tests")]


def _name(fixture: "pytest.FixtureDef[Any]") -> str:
    return f"{fixture.baseid}::{fixture.argname}"


def seconds(item: pytest.Item, known: dict[str, float]) -> float:
    """Seconds of an item; 0 if they are less than `SLOW_S` or unknown."""
    own = known.get(item.nodeid, known.get(_test(item.nodeid), 0.0))
    return own + sum(known.get(name, 0.0) for name in shared_by(item))


def mark(items: list[pytest.Item], known: dict[str, float]) -> None:
    """Mark what is `slow`, and what of it is `nightly`. Quick tests come in the order of what their file says in a second, slow
    ones by file, the longest first."""
    quick, slow = Counter[str](), Counter[str]()
    for item in items:
        took, file = seconds(item, known), _file(item.nodeid)
        is_long = took >= NIGHTLY_S or (took >= SLOW_S and any(map(item.get_closest_marker, NIGHTLY_KINDS)))
        if item.get_closest_marker("alone") or (is_long and not item.get_closest_marker("guard")):
            item.add_marker("nightly")
        if took >= SLOW_S or item.get_closest_marker("nightly"):
            item.add_marker("slow")
        quick[file] += took < SLOW_S
        slow[file] += took if item.get_closest_marker("slow") and not item.get_closest_marker("nightly") else 0.0
    each = {file: known.get(file, 0.0) / max(1, n) for file, n in quick.items()}
    items.sort(key=lambda item: -slow[_file(item.nodeid)] if item.get_closest_marker("slow") else each[_file(item.nodeid)])


def names(items: Iterable[pytest.Item]) -> set[str]:
    """Names of tests with their parameters, and of the fixtures that they share."""
    return {item.nodeid for item in items} | {name for item in items for name in shared_by(item)}


def unknown(items: Iterable[pytest.Item], known: dict[str, float]) -> list[str]:
    """Lines that name no test, fixture or file of these items."""
    there = names(items)
    return sorted(known.keys() - there - {_test(name) for name in there} - {_file(name) for name in there})


def _test(name: str) -> str:
    return name.split("[")[0]


def _file(name: str) -> str:
    return name.split("::")[0]


def renewed(old: dict[str, float], measured: dict[str, float], there: set[str]) -> dict[str, float]:
    """The old lines with what was measured, one for all parameters of a test where all of them are slow.

    Arguments:
        measured: Seconds by test with its parameters and by fixture.
        there: Tests and fixtures of all files that were collected. What else has a line in one of these files is gone.
    """
    files = {_file(name) for name in there}
    lines = {name: seconds for name, seconds in old.items() if _file(name) not in files}
    tests, rest = defaultdict(list), defaultdict(list)
    for name in there:
        tests[_test(name)].append(name)
    for test, cases in tests.items():
        now = {}
        for case in cases:
            before = old.get(case, old.get(test, 0.0))
            took = _same_or_new(before, measured.get(case, before))
            if took >= SLOW_S:
                now[case] = took
            else:
                rest[_file(case)].append(case)
        lines |= {test: max(now.values())} if len(now) == len(cases) else now
    for file, cases in rest.items():
        before, whole = old.get(file, 0.0), sum(measured.get(case, 0.0) for case in cases)
        lines[file] = _same_or_new(before, whole if measured.keys() >= set(cases) else max(before, whole))
    return lines


def _same_or_new(before: float, after: float) -> float:
    return before if before / KEPT <= after <= before * KEPT else after


def write(lines: dict[str, float], file: Path = FILE) -> None:
    file.write_text(HEAD + "".join(f"{float(f'{seconds:.2g}'):g} {name}\n" for name, seconds in sorted(lines.items())))


class Measuring:
    """The plugin. Workers of pytest-xdist time fixtures and say what they collected; where reports arrive it adds up."""

    def __init__(self) -> None:
        self.took: dict[str, float] = defaultdict(float)
        self.there: set[str] = set()
        self.made: list[tuple[str, float]] = []
        self.unknown: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: "pytest.FixtureDef[Any]") -> Generator[None, Any, Any]:
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self.made.append((_name(fixturedef), time.perf_counter() - began))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        report.user_properties = [*report.user_properties, ("made", self.made)]
        self.made = []
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:  # skipped or failed, it tells nothing of what it takes
            self.unknown.add(report.nodeid)
        self.took[report.nodeid] += report.duration
        for name, seconds in dict(report.user_properties).get("made", ()):
            self.took[report.nodeid] -= seconds
            self.took[name] = max(seconds, self.took[name])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.there |= names(items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.there |= set(getattr(node, "workeroutput", {}).get("there", ()))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["there"] = sorted(self.there)
        else:
            measured = {name: seconds for name, seconds in self.took.items() if name not in self.unknown}
            write(renewed(read(), measured, self.there))
