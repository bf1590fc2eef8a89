"""`python -m analysis.query`: answers in four forms, and DuckDB's message for a wrong query."""

import csv
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from analysis.query import app
from sweepkit.store.store import Store
from sweepkit.store.upkeep.compact import compact
from tests.store_rows import rows


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(str(tmp_path / "results"))
    store.commit("p", rows(0, 3))
    return store


def ask(store: Store, *words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--results", store.results])


def python(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *words], capture_output=True, text=True)


def test_temporary_files_may_lie_anywhere(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "it's").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "it's"))
    assert ask(store, "SELECT count(*) AS n FROM cells", "--format", "csv").stdout.split() == ["n", "3"]


def test_table(store: Store) -> None:
    found = ask(store, "SELECT L, best_test_acc AS acc, reason, finished_at FROM cells ORDER BY L; -- all", "--format", "table")
    assert found.exit_code == 0
    lines = [line.split() for line in found.stdout.splitlines() if line.strip()]
    assert lines[0] == ["L", "acc", "reason", "finished_at"]
    assert lines[3] == ["3", "0.500001", "NULL", "2026-01-01", "00:00:00"]


def test_wide_table_in_a_pipe_is_not_folded(store: Store) -> None:
    lines = [line for line in ask(store, "FROM cells", "--format", "table").stdout.splitlines() if line.strip()]
    assert len(lines) == 2 + 3


def test_a_pipe_gets_csv(store: Store) -> None:
    assert ask(store, "SELECT 1 AS a, 'b,c' AS b").stdout == 'a,b\n1,"b,c"\n'


def test_table_stops_at_its_limit_and_says_so(store: Store) -> None:
    found = ask(store, "FROM range(2000)", "--rows", "5")
    assert found.stderr == "5 rows; the first 5 rows; --rows 0 shows all\n"
    assert len(ask(store, "FROM range(2000)", "--rows", "0").stdout.splitlines()) > 2000


def test_a_long_text_is_cut_in_a_table_alone(store: Store) -> None:
    """Bad input by the thousand once waited an hour for the table of a file of 300,000 lines."""
    sql = "SELECT repeat('a: 1' || chr(10), 300000) AS x"
    shown = ask(store, sql, "--format", "table")
    assert shown.exit_code == 0 and shown.stdout.count("a: 1") == 800 and "texts end after 4,000 characters" in shown.stderr
    assert ask(store, sql, "--format", "csv").stdout.count("a: 1") == 300_000


def test_csv(store: Store) -> None:
    found = ask(store, "SELECT seed, reason, [1, 2] AS l, 'a,b' AS t FROM cells ORDER BY 1;", "--format", "csv")
    assert list(csv.reader(io.StringIO(found.stdout)))[:2] == [["seed", "reason", "l", "t"], ["0", "", "[1, 2]", "a,b"]]


def test_json(store: Store) -> None:
    found = ask(store, "SELECT seed, reason FROM cells ORDER BY 1", "--format", "json")
    assert json.loads(found.stdout) == [{"seed": i, "reason": None} for i in range(3)]
    assert json.loads(ask(store, "SELECT 1 WHERE false", "--format", "json").stdout) == []


def test_json_has_null_for_what_is_no_number(store: Store) -> None:
    sql = """SELECT 'nan'::FLOAT AS "a b", 1.5::DOUBLE AS x, [1, '-inf'::DOUBLE, NULL] AS l, [['nan'::DOUBLE]] AS ll,
             {'u': 'inf'::DOUBLE, 'v': 'w'} AS s, 'NaN' AS t; -- end"""
    found = ask(store, sql, "--format", "json")
    assert (found.exit_code, found.stderr) == (0, "")
    expected = {"a b": None, "x": 1.5, "l": [1, None, None], "ll": [[None]], "s": {"u": None, "v": "w"}, "t": "NaN"}
    assert json.loads(found.stdout, parse_constant=lambda word: pytest.fail(word)) == [expected]
    found = ask(store, "SELECT seed, best_test_acc FROM cells ORDER BY seed DESC", "--format", "json")
    assert [row["seed"] for row in json.loads(found.stdout)] == [2, 1, 0]


def test_parquet(store: Store) -> None:
    found = ask(store, "SELECT * FROM curves", "--format", "parquet")
    assert pq.read_table(io.BytesIO(found.stdout_bytes)).num_rows == 9


@pytest.mark.parametrize("form", ["table", "csv", "parquet", "json"])
@pytest.mark.parametrize(
    "sql",
    [
        "DESCRIBE cells", "SHOW TABLES", "SUMMARIZE cells", "WITH a AS (FROM cells) SELECT count(*) FROM a -- end;",
        "PIVOT (SELECT L, seed FROM cells) ON seed", "SELECT ';' AS x /* ; */ ;", "SELECT now(), 1 AS \"a b\"", "FROM neurons",
    ],
)  # fmt: skip
def test_queries_of_all_kinds(store: Store, sql: str, form: str) -> None:
    found = ask(store, sql, "--format", form)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout_bytes


WRONG = {
    "SELEC 1": "syntax error at or near",
    "SELECT accuracy FROM cells": 'Referenced column "accuracy" not found',
    "SELECT * FROM cell": "Table with name cell does not exist",
    "SELECT 1 / ": "Parser Error",
    "SELECT 'a'::INT": "Could not convert string 'a'",
    "SELECT 1; SELECT 2": "one query at a time",
    "": "the query is empty",
    "COPY cells TO 'x.csv'": "a COPY statement: this reads results only",
    "CREATE TABLE x AS FROM cells": "this reads results only",
    "SELECT * FROM store": "does not exist",  # Python's variables are no tables
}


@pytest.mark.parametrize("form", ["table", "csv", "json"])
@pytest.mark.parametrize("sql", WRONG)
def test_wrong_query(store: Store, sql: str, form: str) -> None:
    found = ask(store, sql, "--format", form)
    assert (found.exit_code, found.stdout) == (2, "")
    assert WRONG[sql] in found.stderr
    assert "Traceback" not in found.stderr
    assert "COPY (" not in found.stderr  # the user's own text, not what was made of it


def test_unknown_format_names_the_legal_ones(store: Store) -> None:
    found = ask(store, "SELECT 1", "--format", "xml")
    assert found.exit_code == 2
    assert all(name in found.stderr for name in ("xml", "table", "csv", "parquet", "json"))


def test_missing_directory_and_unsupported_uri(tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["SELECT 1", "--results", str(tmp_path / "none")])
    assert (found.exit_code, "no results directory at" in found.stderr) == (2, True)
    found = CliRunner().invoke(app, ["SELECT 1", "--results", "gs://bucket"])
    assert (found.exit_code, "gs:// is not supported" in found.stderr) == (2, True)


def test_without_a_query_the_views_are_shown(store: Store, tmp_path: Path) -> None:
    for results in (store.results, str(tmp_path / "none")):
        found = CliRunner().invoke(app, ["--results", results])
        assert found.exit_code == 0
        for words in ("cells:", "curves:", "neurons:", "plans:", "best_test_acc double", "python -m analysis.query"):
            assert words in " ".join(found.stdout.split())  # lines are folded


def test_it_works_while_packs_come_and_are_compacted(store: Store) -> None:
    stop = threading.Event()

    def churn() -> None:
        i = 0
        while not stop.is_set():
            i += 1
            store.commit(f"p{i}", rows(1000 * i, 3))
            if i % 5 == 0:
                compact(store.files, now=True)

    thread = threading.Thread(target=churn)
    thread.start()
    counts = []
    for _ in range(20):
        found = ask(store, "SELECT count(*) AS n FROM cells", "--format", "csv")
        assert (found.exit_code, found.stderr) == (0, "")
        counts.append(int(found.stdout.split()[1]))
    stop.set()
    thread.join()
    assert counts == sorted(counts)
    assert all(count % 3 == 0 for count in counts)


def test_broken_pipe_is_silent(store: Store) -> None:
    command = f"{sys.executable} -m analysis.query --results {store.results} 'FROM range(1000000)' --format csv | head -1"
    found = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("range\n", "")


def test_help_imports_neither_ray_nor_torch() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from analysis.query import app; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; "
        "print(sorted({'ray', 'torch', 'trainables', 'orchestrator'} & set(sys.modules)))"
    )
    assert python("-c", code).stdout == "[]\n"


def test_module_runs_as_a_command(store: Store) -> None:
    found = python("-m", "analysis.query", "SELECT count(*) AS n FROM cells", "--results", store.results)
    assert (found.returncode, found.stderr, found.stdout.split()[0]) == (0, "", "n")
    assert python("-m", "analysis.query", "SELEC", "--results", store.results).returncode == 2


def test_no_answer_sends_an_escape_sequence_to_a_terminal(store: Store) -> None:
    """A form that was chosen is data in a pipe, byte by byte; on a terminal it is shown."""
    words = [
        sys.executable,
        "-m",
        "analysis.query",
        "SELECT chr(27) || '[31m' AS red",
        "--format",
        "csv",
        "--results",
        store.results,
    ]
    assert subprocess.run(words, capture_output=True, check=True).stdout == b"red\n\x1b[31m\n"
    terminal, its_end = os.openpty()
    subprocess.run(words, stdout=its_end, check=True)
    os.close(its_end)
    assert b"\x1b" not in (said := os.read(terminal, 1000)) and b"\\x1b[31m" in said
    os.close(terminal)
