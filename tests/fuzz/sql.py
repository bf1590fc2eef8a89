"""Strategies for SQL: the app's examples, changed word by word; what reads, nested; and what writes, hidden in what reads."""

import re
from functools import cache

import duckdb
from hypothesis import strategies as st

from analysis.sql.statements import EXAMPLES

COLUMNS = (
    "cell_id",
    "L",
    "d",
    "gamma",
    "gamma_label",
    "best_test_acc",
    "reason",
    "finished_at",
    "step",
    "sweep",
    "nothing",
    "*",
    "rowid",
)
VIEWS = ("cells", "curves", "neurons", "plans", "internal.rows", "internal.no_rows", "internal.hidden", "cell", "sqlite_master",
         "information_schema.tables", "duckdb_secrets()", "duckdb_settings()", "range(3)", "(VALUES (1), (NULL))", "os",
         "store")  # fmt: skip

PLACES = ("{out}", "{secret}", "{live}", "{world}/results/packs/new.parquet", "{world}/*", "{world}/results/**/*.parquet",
"file://{secret}",
          "https://example.org/x.parquet", "s3://bucket/x.parquet", "nowhere")  # fmt: skip
"""`{out}` is not there, `{secret}` is a file beside the store and `{live}` a file of it."""

WRITES = (
    "COPY cells TO '{place}'", "COPY (SELECT 1 AS x) TO '{place}' (FORMAT csv, USE_TMP_FILE false)",
    "COPY internal.no_rows FROM '{place}'",
    "COPY FROM DATABASE memory TO x", "EXPORT DATABASE '{place}'", "IMPORT DATABASE '{place}'", "ATTACH '{place}' AS x",
    "ATTACH ':memory:' AS x", "DETACH memory", "INSTALL httpfs", "LOAD '{place}'", "LOAD httpfs", "SET threads = 1",
    "SET enable_external_access = true", "SET GLOBAL memory_limit = '1TB'", "RESET ALL", "PRAGMA enable_profiling",
    "PRAGMA database_list", "CALL enable_logging(storage := 'file', storage_path := '{place}')", "USE memory",
    "CREATE TABLE x AS SELECT 1", "CREATE OR REPLACE VIEW cells AS SELECT 1", "CREATE MACRO f(x) AS x",
    "CREATE SECRET s (TYPE s3)",
    "CREATE TEMP TABLE x (a INT)", "INSERT INTO internal.no_rows SELECT * FROM internal.no_rows",
    "UPDATE internal.no_rows SET L = 1",
    "DELETE FROM internal.no_rows", "TRUNCATE internal.no_rows", "DROP VIEW cells",
    "ALTER TABLE internal.no_rows ADD COLUMN x INT",
    "MERGE INTO internal.no_rows USING (SELECT 1) ON true WHEN MATCHED THEN DELETE", "VACUUM", "ANALYZE", "CHECKPOINT",
    "BEGIN", "COMMIT",
    "PREPARE x AS SELECT 1", "EXECUTE x", "DEALLOCATE x", "COMMENT ON VIEW cells IS 'x'", "SET VARIABLE x = 1",
    "SELECT * INTO x FROM cells", "CREATE SEQUENCE s",
)  # fmt: skip
"""SQL that must be refused, alone and wherever it stands."""

READS_FILES = (
    "FROM read_csv('{place}')", "FROM read_text('{place}')", "FROM read_blob('{place}')", "FROM read_parquet('{place}')",
    "FROM read_json('{place}')", "FROM sniff_csv('{place}')", "FROM glob('{place}')", "FROM '{place}'",
    "FROM parquet_metadata('{place}')",
    "FROM parquet_kv_metadata('{place}')", "FROM read_duckdb('{place}')", "SELECT content FROM read_text(['{place}'])",
    "SELECT (SELECT content FROM read_text('{place}'))", "FROM enable_logging(storage := 'file', storage_path := '{place}')",
    "FROM enable_profiling(save_location := '{place}')", "SELECT getenv('HOME')",
    "FROM json_execute_serialized_sql(json_serialize_sql("
    "'SELECT * FROM read_text(''{place}'')'))", "FROM query('SELECT * FROM read_text(''{place}'')')",
    "FROM query_table('{place}')",
    "FROM which_secret('{place}', 's3')", "FROM checkpoint()", "FROM force_checkpoint()", "FROM truncate_duckdb_logs()",
)  # fmt: skip

# No products: of one in another, both materialised, DuckDB 2.0 waits for itself for ever (`test_what_would_not_end_is_stopped`).
WRAPPERS = (
    "{0}", "{0};", "; {0}", "EXPLAIN {0}", "EXPLAIN ANALYZE {0}", "EXPLAIN (ANALYZE, FORMAT json) {0}",
    "EXPLAIN /* ) */ ANALYZE {0}",
    "WITH a AS ({0}) SELECT 1", "WITH a AS ({0}) FROM a", "WITH a AS MATERIALIZED ({0}) FROM a", "FROM ({0})",
    "SELECT ({0})",
    "PIVOT ({0}) ON a", "UNPIVOT ({0}) ON x", "FROM query($${0}$$)", "FROM query($a${0}$a$)", "SUMMARIZE {0}", "DESCRIBE {0}",
    "SHOW {0}",
    "SELECT 1; {0}", "{0}; SELECT 1", "SELECT 1 /* ; */ ; -- x\n{0}", "-- x\n{0}", "/* /* */ */ {0}", "({0})", "\ufeff{0}",
    "\u00a0{0}",
    "{0} LIMIT 1", "{0} UNION ALL {0}", "SELECT EXISTS ({0})", "SELECT 1 WHERE 1 IN ({0})", "SELECT list(x) FROM ({0}) t(x)",
    "PREPARE p AS {0}", "CREATE VIEW v AS {0}", "WITH RECURSIVE r AS (SELECT 1 UNION {0}) FROM r", "SELECT 1) ; {0} --",
    "FROM ({0}\n) q",
)  # fmt: skip


@cache
def _functions() -> tuple[list[str], list[str]]:
    """Names of all functions that give a value, and of those that give rows, that this DuckDB has. Not those that may not end."""
    asked = (
        "SELECT DISTINCT function_name AS f FROM duckdb_functions() WHERE function_type IN ({}) AND f ~ '^[a-z_0-9]+$' ORDER BY 1"
    )
    slow = re.compile(r"^(repeat|range|generate_series|sleep|.*pad|test_all_types|.*_wait.*)$")
    kinds = ("'scalar', 'aggregate', 'macro'", "'table', 'table_macro', 'pragma'")
    found = [[name for (name,) in duckdb.execute(asked.format(kind)).fetchall() if not slow.match(name)] for kind in kinds]
    return found[0], found[1]


VALUES = st.one_of(
    st.integers(-9, 99).map(str), st.sampled_from(COLUMNS), st.floats().map(repr),
    st.sampled_from(["NULL", "''", "'a'", "'{place}'", "[]", "[1, 2]", "{{'a': 1}}", "MAP {{}}", "DATE '2026-01-01'",
    "'x'::BLOB", "true", "9e999",
                     "'nan'::DOUBLE", "x -> x", "INTERVAL 1 DAY", "1::HUGEINT", "'\\x00'", "chr(0)", "chr(27)",
                     "error('mine')", "DEFAULT"]),
)  # fmt: skip


@st.composite
def _calls(draw: st.DrawFn) -> str:
    scalar, table = _functions()
    words = ", ".join(draw(st.lists(VALUES, max_size=3)))
    if draw(st.booleans()):
        return f"FROM {draw(st.sampled_from(table))}({words})"
    return f"SELECT {draw(st.sampled_from(scalar))}({words}) FROM {draw(st.sampled_from(VIEWS))} LIMIT 5"


@st.composite
def _selects(draw: st.DrawFn) -> str:
    chosen = ", ".join(draw(st.lists(VALUES, min_size=1, max_size=3)))
    query = f"SELECT {chosen} FROM {draw(st.sampled_from(VIEWS))}"
    if draw(st.booleans()):
        query += (
            f" {draw(st.sampled_from(['', 'LEFT ', 'ASOF ', 'POSITIONAL ']))}JOIN {draw(st.sampled_from(VIEWS))} USING (cell_id)"
        )
    if draw(st.booleans()):
        query += (
            f" WHERE {draw(VALUES)} {draw(st.sampled_from(['=', '<', 'IN', 'LIKE', 'SIMILAR TO', '~', 'IS']))} {draw(VALUES)}"
        )
    if draw(st.booleans()):
        query += draw(st.sampled_from([" GROUP BY ALL", " ORDER BY ALL", " GROUP BY 1", " QUALIFY row_number() OVER () = 1",
        " LIMIT -1",
                                       " USING SAMPLE 1", " LIMIT 99999999999", " ORDER BY 7", " FOR UPDATE",
                                       " AT (VERSION => 1)"]))  # fmt: skip
    return query


@st.composite
def _changed(draw: st.DrawFn) -> str:
    """An example of the app, some of its words changed."""
    words = re.findall(r"\w+|\s+|[^\w\s]", draw(st.sampled_from(EXAMPLES)).sql)
    for _ in range(draw(st.integers(0, 4))):
        i = draw(st.integers(0, len(words) - 1))
        words[i] = draw(
            st.one_of(st.just(""), st.just(words[i] * 2), VALUES, st.sampled_from(VIEWS), st.sampled_from(words),
                      st.text(max_size=3).map(lambda text: text.replace("{", "").replace("}", "")),
                      st.sampled_from(list("();'\"$.-/*\0")))
        )  # fmt: skip
    return "".join(words)


def _odd_case(text: str) -> str:
    return "".join(c.upper() if i % 2 else c.lower() for i, c in enumerate(text))


@st.composite
def queries(draw: st.DrawFn) -> tuple[str, bool]:
    """A query, with {out} and the like to be filled in, and whether it surely writes or sets something were it let through."""
    writes = draw(st.integers(0, 3)) == 0
    if writes:
        core = draw(st.sampled_from(WRITES))
    else:
        core = draw(
            st.one_of(
                _calls(), _selects(), _changed(), _changed(), st.sampled_from(READS_FILES), st.text(max_size=20).map(_escaped)
            )
        )
    core = core.replace("{place}", draw(st.sampled_from(PLACES)))
    if draw(st.integers(0, 4)) == 0 and "{" not in core and "'" not in core:
        core = _odd_case(core)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        core = draw(st.sampled_from(WRAPPERS)).replace("{0}", core)
    return core, writes


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def filled(query: str, **places: str) -> str:
    """The query with the places of the world in it."""
    for name, place in places.items():
        query = query.replace("{" + name + "}", place)
    return query.replace("{{", "{").replace("}}", "}")
