"""Some hundred cases; `python -m tests.fuzz --count 10000` runs thousands. And that the fuzzer sees what it is for."""

import inspect
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import orchestrator.session
import orchestrator.sweep
from orchestrator.grid.own.files import register_user_file
from orchestrator.grid.own.source import UserFile
from sweepkit.store.store import Store
from tests.fuzz import own_others
from tests.fuzz.cases import Broken, Case, check, in_world
from tests.fuzz.command_lines import strategies
from tests.fuzz.grids import BOMB, VALID, dumped
from tests.fuzz.own_files import CLASHES, OWN, can_be_run, case_of
from tests.fuzz.tally import run
from tests.fuzz.watch import watched
from tests.fuzz.world import SECRET, make_world
from tests.store_rows import rows

COUNTS = {
    "grids and sweeps": 120,
    "own files": 60,
    "SQL in the app": 40,
    "SQL on the command line": 40,
    "store": 40,
    "reports and figures": 15,
    "from the field": 40,
}


@pytest.mark.parametrize("kind", COUNTS)
def test_bad_input_is_refused(kind: str, tmp_path: Path) -> None:
    tally = run(kind, COUNTS[kind], seed=0, folder=tmp_path / "world")
    assert tally.codes.total() >= COUNTS[kind] / 2 and tally.codes[2]


def test_all_kinds_are_run(tmp_path: Path) -> None:
    assert strategies(make_world(tmp_path / "world")).keys() == COUNTS.keys()


@pytest.mark.parametrize("what", [what for what, own in OWN.items() if can_be_run(own)])
def test_what_an_own_file_may_hold(what: str, own_world: Path) -> None:
    with in_world(own_world):
        check(case_of(OWN[what]), own_world)


@pytest.mark.parametrize("what", CLASHES)
def test_own_files_that_clash(what: str, own_world: Path) -> None:
    files, said = CLASHES[what]
    with in_world(own_world):
        assert said in check(case_of(*files), own_world).said


def test_a_file_is_read_alike_whatever_was_read_before(own_world: Path) -> None:
    """A task may have a key that a network of another grid has."""
    network = OWN["networks, good: the usual one"]
    task = replace(OWN["tasks, good: the usual one"], source=OWN["tasks, good: the usual one"].source.replace("bits", "gate"))
    grid = dumped({"tasks": ["own_task.py"], "grids": [{"task": "majority", "gate": 6, "width": 8, "gamma": 1, "seed": 0}]})
    with in_world(own_world):
        if can_be_run(network):
            check(case_of(network), own_world)
        check(Case("sweep", SWEEP, grid, beside=(("own_task.py", task.source.encode()),), expected=0), own_world)


def test_a_file_that_was_another_in_between_shows_its_own_lines(tmp_path: Path) -> None:
    path = str(tmp_path / "own_task.py")
    for source in (own_others.TASK, "x = 1\n" + own_others.TASK, own_others.TASK):
        [task] = register_user_file(UserFile(path, source)).tasks
        assert inspect.getsource(task.draw_symbols).lstrip().startswith("def draw_symbols")


@pytest.fixture(scope="module")
def own_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_world(tmp_path_factory.mktemp("own") / "world")


SWEEP = ("grid.yaml", "--dry-run")
HUGE = b"grids: [{task: same_different, L: {range: [2, 1000002]}, d: 8, width: 8, gamma: 1, seed: {range: 1000000}}]"
FOUND = {
    "10^12 cells": (HUGE, "the grid asks for 1,000,000,000,000 cells, over the limit of 200,000"),
    "lists nested deeper than their reader goes": (b"[" * 400 + b"]" * 400, "nested hundreds deep"),
    "mappings nested so": (b"{a: " * 400 + b"}" * 400, "nested hundreds deep"),
    "a tag that runs a program": (b"sweep: !!python/object/apply:os.system ['touch pwned']", "sweep = a list: must be a name"),
    "an alias of an alias of an alias": (BOMB.encode() + b"grids: *a9", "a block must hold keys and values, not a list"),
    "a name that leaves the directory": (b"sweep: ../x", "sweep = '../x': must be a name"),
    "a name that is markup": (b"sweep: '<img src=x onerror=alert(1)>'", "must be a name of at most 80 letters"),
    "a condition that runs a program": (
        b"grids: [{task: same_different, exclude: \"__import__('os').system('touch pwned') == 0\"}]", "but not \"__import__('os')"
    ),
    "a condition that takes for ever": (
        dumped(VALID[2]).replace(b"seed: 1", b"seed: 1\n  exclude: ['9**9**9**9 > L']"), "cannot be evaluated"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_what_a_grid_may_try(what: str, tmp_path: Path) -> None:
    grid, said = FOUND[what]
    world = make_world(tmp_path / "world")
    with in_world(world):
        outcome = check(Case("sweep", SWEEP, grid), world)
    assert outcome.code == 2 and said in outcome.said


def test_behind_two_dashes_an_option_is_a_value(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    with in_world(world):
        assert check(Case("sweep", ("grid.yaml", "--", "--dry-run"), dumped(VALID[0]), expected=2), world).code == 2


def test_a_report_looks_for_its_results_before_it_tries_to_write(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    with in_world(world):
        assert check(Case("report", ("--out", "/proc/x", "--results", "missing")), world).code == 2


@pytest.mark.parametrize("name", ["\udcff.yaml", "x\x1b[31m.yaml"])
def test_names_that_terminals_do_not_take(name: str, tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    with in_world(world):
        assert check(Case("sweep", (name, "--dry-run")), world).code == 2


@pytest.mark.parametrize("fault", ["a crash", "a write", "a program started", "Ray started", "silence"])
def test_the_fuzzer_sees(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each property, broken on purpose."""
    world = make_world(tmp_path / "world")

    def load_grid(*_: object, **__: object) -> None:
        match fault:
            case "a crash":
                raise KeyError("x")
            case "a write":
                (world / "results" / "x").write_text("x")
            case "a program started":
                os.system("true")
            case "Ray started":
                orchestrator.session._runner()  # type: ignore[call-arg]
        orchestrator.sweep.stop("?" if fault == "silence" else "refused")

    with in_world(world):
        monkeypatch.setattr(orchestrator.sweep, "load_grid", load_grid)
        with pytest.raises(Broken):
            check(Case("sweep", SWEEP, b"x"), world)


def test_a_case_answers_for_the_threads_that_it_starts_and_for_no_earlier_ones(tmp_path: Path) -> None:
    case_runs = threading.Event()

    def write(name: str) -> None:
        case_runs.wait()
        (tmp_path / name).write_text("")

    earlier = threading.Thread(target=write, args=("earlier",))
    earlier.start()
    with watched() as seen:
        case_runs.set()
        earlier.join()
        assert seen == []
        own = threading.Thread(target=write, args=("own",))
        own.start()
        own.join()
    assert seen == [f"opened {tmp_path / 'own'} for writing"]


def test_the_fuzzer_sees_a_secret_told(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    with in_world(world), pytest.raises(Broken, match="it tells what it must not read"):
        check(Case("guard", (f"SELECT '{SECRET}'",)), world)
    with in_world(world), pytest.raises(Broken, match="let through"):
        check(Case("guard", ("SELECT 1",), writes=True), world)


def test_the_fuzzer_sees_an_answer_that_depends_on_a_name(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    case = Case("query", ("SELECT count(*) FROM cells", "--results", "a~/results"), alike="a~/results")
    with in_world(world):
        assert check(case, world).code == 0
        Store(str(world / "a~/results")).commit("z", rows(20, 1))
        with pytest.raises(Broken, match="says"):
            check(case, world)


def test_the_fuzzer_sees_an_exit_code_that_depends_on_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(tmp_path / "world")
    case = Case("query", ("SELECT 1",), lost=(1,))
    with in_world(world):
        assert check(case, world).code == 0
        monkeypatch.setattr("tests.fuzz.cases._lost", lambda case: 1)
        with pytest.raises(Broken, match=r"leaves with 1 where \(1,\) cannot be written, else with 0"):
            check(case, world)
