"""The SQL of people who may type anything: what it reads, what it refuses, and that it ends."""

import hashlib
import io
import resource
import threading
from pathlib import Path

import duckdb
import psutil
import pyarrow.parquet as pq
import pytest

from analysis.data.source import ResultsError
from analysis.sql import guarded
from analysis.sql.guarded import Request, answer_bytes, answered, guarded_query
from analysis.sql.statements import EXAMPLES
from sweepkit.store.files import LocalFiles
from sweepkit.store.store import Store
from tests.store_rows import rows
from tests.sweeps import wait_for


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(str(tmp_path / "it's results"))
    store.commit("p", rows(0, 3))
    store.commit("q", rows(2, 3, minute=1))
    store.write_plan("eq3", [f"{i:020x}" for i in range(5)])
    return store


def asked_here(store: Store, sql: str) -> dict[str, list[str]]:
    """What the process of a query says: in this one, which is quicker."""
    return answered(Request(store.results, sql, "rows", 10, 1000, 1.0, 1 << 20))[0]


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
        "FROM curves", "FROM neurons", """SELECT '"type":"COPY_QUERY_NODE"'""",
        "FROM cells JOIN plans ON cells.cell_id = plans.cell_id",
    ],
)  # fmt: skip
def test_what_reads_is_answered(store: Store, sql: str) -> None:
    found = asked_here(store, sql)
    assert len(found["columns"]) == len(found["types"]) > 0


REFUSED = {
    "SELECT 1; SELECT 2": "one query at a time",
    "": "the query is empty",
    "COPY cells TO '{out}'": "a COPY statement: this reads results only",
    "COPY (PIVOT (SELECT 1 AS a) ON a) TO '{out}'": "this reads results only",
    "EXPLAIN ANALYZE COPY cells TO '{out}'": "this reads results only",
    "EXPLAIN (ANALYZE) COPY cells TO '{out}'": "this reads results only",
    "EXPLAIN /* ) */ ANALYZE COPY cells TO '{out}'": "this reads results only",
    "WITH a AS (COPY cells TO '{out}') SELECT 1": "a WITH that writes: this reads results only",
    "WITH a AS (WITH a AS (COPY cells TO '{out}') SELECT 1) SELECT 1": "a WITH that writes: this reads results only",
    "SELECT 1 WHERE 0 IN (WITH b AS (COPY cells TO '{out}') SELECT 1)": "a WITH that writes: this reads results only",
    "EXPLAIN ANALYZE WITH a AS (COPY cells TO '{out}') SELECT 1": "this reads results only",
    "WITH a AS (COPY (SELECT 1 AS x) TO '{out}' (USE_TMP_FILE false)) SELECT 1": "this reads results only",
    "WITH a AS (COPY (SELECT 1 AS x) TO '{out}' (USE_TMP_FILE false)) PIVOT a ON x": "this reads results only",
    "FROM query($$WITH a AS (COPY (SELECT 1) TO '{out}' (USE_TMP_FILE false)) SELECT 1$$)": "this reads results only",
    "WITH a AS (DELETE FROM internal.no_rows RETURNING *) FROM a": "this reads results only",
    "ATTACH '{out}'": "an ATTACH statement: this reads results only",
    "EXPORT DATABASE '{out}'": "this reads results only",
    "INSTALL httpfs": "an INSTALL statement: this reads results only",
    "FORCE INSTALL httpfs": "an INSTALL statement: this reads results only",
    "LOAD httpfs": "a LOAD statement: this reads results only",
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
    live = store.files.address(store.files.entries("packs")[0])
    out = live.replace("'", "''") if target != "elsewhere" else str(tmp_path / "out")
    before = {path: digest(path) for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ResultsError, match=REFUSED[sql]):
        asked_here(store, sql.format(out=out, secret=secret))
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
    "SELECT CASE WHEN range = 2000000 THEN error('late') END FROM range(3000000) WHERE range NOT BETWEEN 9 AND 1999990": "late",
    "FROM enable_logging('QueryLog', storage = 'file', storage_path = '/tmp/x')": "the configuration has been locked",
}


@pytest.mark.parametrize("sql", WRONG)
def test_a_wrong_query_has_duckdbs_message(store: Store, sql: str) -> None:
    with pytest.raises(duckdb.Error, match=f"(?s){WRONG[sql]}") as caught:
        asked_here(store, sql)
    assert "FROM (" not in str(caught.value)


ENDLESS = {
    "a product of ranges": "SELECT count(*) FROM range(10000000000) a, range(100) b",
    "a recursion": "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT max(i) FROM t",
    "a filter that nothing passes": "SELECT a.range FROM range(10000000000) a WHERE hash(a.range) = 1",
    "one explained": "EXPLAIN ANALYZE SELECT count(*) FROM range(10000000000) a, range(100) b",
    "a product of products, for which DuckDB waits for ever": (
        "WITH a AS MATERIALIZED (WITH a AS MATERIALIZED (FROM duckdb_keywords()) FROM a, a b) FROM a, a b"
    ),
    "values to pivot on": "PIVOT (SELECT max(a.range) AS m FROM range(10000000000) a, range(100) b) ON m",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_would_not_end_is_stopped(store: Store, name: str) -> None:
    with pytest.raises(ResultsError, match=r"stopped after 0\.3 s: ask for less"):
        guarded_query(store.results, ENDLESS[name], timeout_s=0.3)
    assert guarded_query(store.results, "SELECT count(*) FROM cells").rows == [(5,)]


def test_what_needs_too_much_memory_is_stopped(store: Store) -> None:
    with pytest.raises(ResultsError, match=r"more than 0\.2 GB: ask for less"):
        guarded_query(store.results, "SELECT list(range) FROM range(1000000000)", timeout_s=600, memory_gb=0.2)
    assert not list(Path().glob(".tmp*"))  # nothing is spilled


def test_a_giant_answer_is_cut(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = guarded_query(store.results, "FROM range(10000000000)", max_rows=1000)
    assert (found.rows[-1], len(found.rows), found.truncated) == ((999,), 1000, True)
    assert guarded_query(store.results, "FROM range(1000)", max_rows=1000).truncated is False
    monkeypatch.setattr("analysis.sql.guarded.MAX_BYTES", 1 << 20)
    found = guarded_query(store.results, "SELECT repeat('x', 10000) FROM range(1000000)")
    assert (found.truncated, 90 < len(found.rows) < 110) == (True, True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 << 10


def test_it_reads_past_a_compaction(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from sweepkit.store import database
    from sweepkit.store.upkeep.compact import compact

    connect_to, times = database.connect_to, []

    def connect_then_compact(files: LocalFiles, snapshot: database.Snapshot) -> duckdb.DuckDBPyConnection:
        times.append(connect_to(files, snapshot))
        compact(files, now=True)
        return times[-1]

    monkeypatch.setattr(database, "connect_to", connect_then_compact)
    assert asked_here(store, "SELECT count(*) FROM cells")["columns"] == ["count_star()"]
    assert len(times) == 2


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no results directory at"):
        guarded_query(str(tmp_path / "none"), "SELECT 1")


BOMBS = {
    "SELECT repeat('x', 1000000000)": r"(?s)more than 1 GB: ask for less",
    "SELECT repeat('x', 1000000000) FROM range(100)": r"more than 1 GB: ask for less",
    "SELECT list(range) FROM range(500000000)": r"more than 1 GB: ask for less",
    "SELECT error(repeat('x', 1000000))": r"x{1000} \.\.\.$",
    "PIVOT (FROM range(5000)) ON range": "the answer has 5,000 columns, and 2,000 are the most",
    "PIVOT (SELECT repeat('x', 10000) AS a) ON a": "the name of a column has more than 1,000 characters",
}


@pytest.mark.parametrize("sql", BOMBS)
def test_a_giant_value_is_stopped(store: Store, sql: str) -> None:
    guarded_query(store.results, "SELECT 1")
    before = psutil.Process().memory_info().rss
    with pytest.raises((ResultsError, duckdb.Error), match=BOMBS[sql]) as caught:
        guarded_query(store.results, sql, timeout_s=600, max_rows=1000, max_chars=1000)
    assert psutil.Process().memory_info().rss - before < 50 << 20
    assert len(str(caught.value)) < 6000


@pytest.mark.parametrize("sql", ["SELECT list(range) AS x FROM range(5000000)", "SELECT repeat('x', 50000000) AS x"])
def test_a_great_value_is_cut(store: Store, sql: str) -> None:
    before = psutil.Process().memory_info().rss
    found = guarded_query(store.results, sql, max_chars=1000)
    assert (len(found.rows), len(found.rows[0][0]), found.cut, found.truncated) == (1, 1000, True, False)
    assert psutil.Process().memory_info().rss - before < 50 << 20
    assert not guarded_query(store.results, "SELECT 'é'", max_chars=1).cut


def test_a_row_beyond_the_limit_is_refused(store: Store) -> None:
    with pytest.raises(ResultsError, match="one row alone has more than 1 MB"):
        guarded_query(store.results, "SELECT repeat('x', 2000000)", max_bytes=1 << 20)


def test_a_killed_process_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = guarded._Worker.ask

    def killed_amid(worker: guarded._Worker, request: Request) -> tuple[bytes, bytes]:
        process = psutil.Process(worker.child.process.pid)
        before = sum(process.cpu_times())

        def kill() -> None:  # once it has worked for a while
            wait_for(lambda: sum(process.cpu_times()) > before + 3)
            process.kill()

        threading.Thread(target=kill).start()
        return ask(worker, request)

    with monkeypatch.context() as patch:
        patch.setattr(guarded._Worker, "ask", killed_amid)
        with pytest.raises(ResultsError, match=r"process was ended \(SIGKILL\), most likely because memory ran out"):
            guarded_query(store.results, ENDLESS["a product of ranges"], timeout_s=600)
    assert guarded_query(store.results, "SELECT 1").rows == [(1,)]
    guarded.close_waiting()
    assert not [child for child in psutil.Process().children() if "analysis.sql.guarded" in child.cmdline()]


ODD = """SELECT sum(seed) AS h, 170141183460469231731687303715884105727::HUGEINT AS hh, 1::UHUGEINT AS u, 1.5 AS d,
    INTERVAL 1 DAY AS i, [1, NULL] AS l, {'a': [1]} AS s, MAP {'a': 1} AS m, TIME '10:00' AS t, now() AS z, [now()] AS lz,
    'infinity'::DATE AS di, '-infinity'::TIMESTAMP AS ti, DATE '29000-01-01' AS dl, DATE '2026-01-01' AS da, uuid() AS id,
    '\\xAA'::BLOB AS b, '101'::BIT AS bit, union_value(a := 1) AS un, NULL AS n, 'a'::ENUM ('a') AS e,
    18446744073709551615::UBIGINT AS ub, '1'::JSON AS j, TIMESTAMP_NS '2020-01-01' AS ns, 'nan'::DOUBLE AS nan FROM cells"""


def test_values_of_all_types_are_shown_and_saved(store: Store, recwarn: pytest.WarningsRecorder) -> None:
    import pyarrow as pa

    found = guarded_query(store.results, ODD)
    row = dict(zip(found.columns, found.rows[0], strict=True))
    assert (row["h"], row["hh"], str(row["d"])) == (10, str(2**127 - 1), "1.5")
    assert (row["i"], row["l"], row["s"], row["m"]) == ("1 day", "[1, NULL]", "{'a': [1]}", "{a=1}")
    pa.Table.from_pandas(found.frame)  # as Streamlit does; where it fails, the server's log gets a traceback
    table = pq.read_table(io.BytesIO(answer_bytes(store.results, ODD, "parquet")))
    assert (table.num_rows, table["l"].to_pylist(), table["i"].to_pylist()) == (1, [[1, None]], ["1 day"])
    lines = answer_bytes(store.results, ODD, "csv").decode().splitlines()
    assert (len(lines), lines[0][:7], lines[1].split(",")[:2]) == (2, "h,hh,u,", ["10", str(2**127 - 1)])


def test_files_are_cut_between_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.sql.guarded.MAX_BYTES", 1 << 20)
    csv = answer_bytes(store.results, "SELECT range, 0.1::DOUBLE AS x FROM range(1000000)", "csv")
    assert (1 << 19) < len(csv) <= 1 << 20
    assert csv.endswith(b",0.1\n")
    parquet = answer_bytes(store.results, "SELECT uuid() AS a FROM range(1000000)", "parquet")
    assert (1 << 19) < len(parquet) <= 1 << 20
