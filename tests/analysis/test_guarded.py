"""The SQL of people who may type anything: what it reads, what it refuses, and that it ends."""

import hashlib
import resource
import time
from pathlib import Path

import duckdb
import pytest

from analysis.guarded import guarded_query
from analysis.source import ResultsError
from analysis.statements import EXAMPLES
from store.files import LocalFiles
from store.store import Store
from tests.store_rows import names, rows


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(str(tmp_path / "it's results"))
    store.commit("p", rows(0, 3))
    store.commit("q", rows(2, 3, minute=1))
    store.write_plan("eq3", [f"{i:020x}" for i in range(5)])
    return store


def test_an_answer(store: Store) -> None:
    found = guarded_query(store.results, "SELECT seed, best_test_acc AS acc, finished_at FROM cells ORDER BY seed; -- all")
    assert (found.columns, found.types) == (["seed", "acc", "finished_at"], ["BIGINT", "DOUBLE", "TIMESTAMP"])
    assert ([row[0] for row in found.rows], found.truncated) == ([0, 1, 2, 3, 4], False)
    assert list(found.frame.seed) == [0, 1, 2, 3, 4]
    assert guarded_query(store.results, "SELECT 1 WHERE false").frame.shape == (0, 1)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_the_examples_work(store: Store, example: tuple[str, str]) -> None:
    assert guarded_query(store.results, example[1]).columns


@pytest.mark.parametrize(
    "sql",
    [
        "DESCRIBE cells", "SHOW TABLES", "SUMMARIZE cells", "WITH a AS (FROM cells) SELECT count(*) FROM a -- end;", "VALUES (1)",
        "PIVOT (SELECT L, seed FROM cells) ON seed", "SELECT ';' AS x /* ; */ ;", "SELECT now(), 'COPY', 1 AS copy",
        "EXPLAIN FROM cells", "EXPLAIN ANALYZE FROM cells", "EXPLAIN (ANALYZE, FORMAT json) FROM cells", "SELECT 1 AS a, 2 AS a",
        "FROM curves", "FROM neurons", "FROM cells JOIN plans ON cells.cell_id = plans.cell_id",
    ],
)  # fmt: skip
def test_what_reads_is_answered(store: Store, sql: str) -> None:
    found = guarded_query(store.results, sql)
    assert len(found.columns) == len(found.types)
    assert all(len(row) == len(found.columns) for row in found.rows)


REFUSED = {
    "SELECT 1; SELECT 2": "one query at a time",
    "": "the query is empty",
    "COPY cells TO '{out}'": "a COPY statement: this reads results only",
    "COPY (PIVOT (SELECT 1 AS a) ON a) TO '{out}'": "this reads results only",
    "EXPLAIN ANALYZE COPY cells TO '{out}'": "this reads results only",
    "EXPLAIN (ANALYZE) COPY cells TO '{out}'": "this reads results only",
    "EXPLAIN /* ) */ ANALYZE COPY cells TO '{out}'": "this reads results only",
    "WITH a AS (COPY cells TO '{out}') SELECT 1": "a WITH that writes: this reads results only",
    "EXPLAIN ANALYZE WITH a AS (COPY cells TO '{out}') SELECT 1": "this reads results only",
    "WITH a AS (COPY (SELECT 1 AS x) TO '{out}' (USE_TMP_FILE false)) SELECT 1": "this reads results only",
    "WITH a AS (COPY (SELECT 1 AS x) TO '{out}' (USE_TMP_FILE false)) PIVOT a ON x": "this reads results only",
    "FROM query($$WITH a AS (COPY (SELECT 1) TO '{out}' (USE_TMP_FILE false)) SELECT 1$$)": "this reads results only",
    "WITH a AS (DELETE FROM internal.no_rows RETURNING *) FROM a": "this reads results only",
    "ATTACH '{out}'": "an ATTACH statement: this reads results only",
    "EXPORT DATABASE '{out}'": "this reads results only",
    "INSTALL httpfs": "this reads results only",
    "LOAD httpfs": "this reads results only",
    "SET memory_limit = '100GB'": "a SET statement: this reads results only",
    "RESET memory_limit": "this reads results only",
    "PRAGMA database_list": "a PRAGMA statement: this reads results only",
    "CALL pragma_version()": "this reads results only",
    "CREATE TABLE x AS FROM cells": "a CREATE statement: this reads results only",
    "CREATE TABLE x AS PIVOT (SELECT 1 AS a) ON a": "this reads results only",
    "CREATE VIEW cells AS SELECT 1": "this reads results only",
    "DROP VIEW cells": "this reads results only",
    "PREPARE x AS SELECT 1": "this reads results only",
    "BEGIN": "this reads results only",
    "FROM read_csv('/etc/passwd')": "only the results can be read here",
    "FROM read_text('/etc/passwd')": "only the results can be read here",
    "FROM read_blob('/etc/passwd')": "only the results can be read here",
    "FROM read_text('/proc/self/environ')": "only the results can be read here",
    "FROM sniff_csv('/etc/passwd')": "only the results can be read here",
    "FROM glob('/')": "only the results can be read here",
    "FROM glob('/*')": "only the results can be read here",
    "FROM read_parquet('{secret}')": "only the results can be read here",
    "FROM parquet_metadata('{secret}')": "only the results can be read here",
    "FROM '{secret}'": "only the results can be read here",
    "FROM read_parquet('https://example.org/x.parquet')": "only the results can be read here",
    "PIVOT (SELECT content FROM read_text('/etc/passwd')) ON content": "only the results can be read here",
}


@pytest.mark.parametrize("sql", REFUSED)
@pytest.mark.parametrize("target", ["elsewhere", "a file of the store"])
def test_what_does_not_is_refused(store: Store, tmp_path: Path, sql: str, target: str) -> None:
    secret = tmp_path / "secret.parquet"
    duckdb.execute(f"COPY (SELECT 1 AS x) TO '{secret}'")
    live = store.files.address(names(store.results)[0])
    out = live.replace("'", "''") if target != "elsewhere" else str(tmp_path / "out")
    before = {path: digest(path) for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ResultsError, match=REFUSED[sql]):
        guarded_query(store.results, sql.format(out=out, secret=secret))
    assert {path: digest(path) for path in tmp_path.rglob("*") if path.is_file()} == before


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


WRONG = {
    "SELEC 1": "syntax error at or near",
    "SELECT 1 / ": "syntax error",
    "SELECT 1), (SELECT 2": "syntax error",
    "SELECT accuracy FROM cells": 'Referenced column "accuracy" not found.*LINE 1: SELECT accuracy FROM cells',
    "SELECT *\nFROM cell": "Table with name cell does not exist.*LINE 2: FROM cell",
    "SELECT 'a'::INT": "Could not convert string 'a'.*LINE 1: SELECT 'a'::INT",
    "FROM '/etc/passwd'": "Table with name /etc/passwd does not exist",
    "SELECT * FROM store": "does not exist",  # Python's variables are no tables
    "SELECT error('mine')": "mine",
    "FROM enable_logging('QueryLog', storage = 'file', storage_path = '/tmp/x')": "the configuration has been locked",
}


@pytest.mark.parametrize("sql", WRONG)
def test_a_wrong_query_has_duckdbs_message(store: Store, sql: str) -> None:
    with pytest.raises(duckdb.Error, match=f"(?s){WRONG[sql]}") as caught:
        guarded_query(store.results, sql)
    assert "FROM (" not in str(caught.value)


ENDLESS = {
    "a product of ranges": "SELECT count(*) FROM range(10000000000) a, range(100) b",
    "a recursion": "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT max(i) FROM t",
    "a filter that nothing passes": "SELECT a.range FROM range(10000000000) a WHERE hash(a.range) = 1",
    "one explained": "EXPLAIN ANALYZE SELECT count(*) FROM range(10000000000) a, range(100) b",
    "values to pivot on": "PIVOT (SELECT max(a.range) AS m FROM range(10000000000) a, range(100) b) ON m",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_would_not_end_is_stopped(store: Store, name: str) -> None:
    started = time.monotonic()
    with pytest.raises(ResultsError, match=r"stopped after 0\.3 s: ask for less"):
        guarded_query(store.results, ENDLESS[name], timeout_s=0.3)
    assert time.monotonic() - started < 20  # it took 0.4 s; a busy machine takes longer
    assert guarded_query(store.results, "SELECT count(*) FROM cells").rows == [(5,)]


def test_what_needs_too_much_memory_is_stopped(store: Store) -> None:
    with pytest.raises(ResultsError, match=r"more than 0\.2 GB: ask for less"):
        guarded_query(store.results, "SELECT list(range) FROM range(1000000000)", timeout_s=60, memory_gb=0.2)
    assert not list(Path().glob(".tmp*"))  # nothing is spilled


def test_a_giant_answer_is_cut(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = guarded_query(store.results, "FROM range(10000000000)", max_rows=1000)
    assert (found.rows[-1], len(found.rows), found.truncated) == ((999,), 1000, True)
    assert guarded_query(store.results, "FROM range(1000)", max_rows=1000).truncated is False
    monkeypatch.setattr("analysis.guarded.MAX_BYTES", 1 << 20)
    found = guarded_query(store.results, "SELECT repeat('x', 10000) FROM range(1000000)")
    assert (found.truncated, 90 < len(found.rows) < 110) == (True, True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 << 10


def test_it_reads_past_a_compaction(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from store import views
    from store.compact import compact

    connect_to, times = views.connect_to, []

    def connect_then_compact(files: LocalFiles, snapshot: views.Snapshot) -> duckdb.DuckDBPyConnection:
        times.append(connect_to(files, snapshot))
        compact(files, now=True)
        return times[-1]

    monkeypatch.setattr(views, "connect_to", connect_then_compact)
    assert guarded_query(store.results, "SELECT count(*) FROM cells").rows == [(5,)]
    assert len(times) == 2


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no results directory at"):
        guarded_query(str(tmp_path / "none"), "SELECT 1")
