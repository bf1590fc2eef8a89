"""SQL as users type it: one reading statement, its answer, and errors that point into the user's own text."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from analysis.data.source import ResultsError, existing
from sweepkit.store.database import locked
from sweepkit.store.views import run

if TYPE_CHECKING:  # a query on the command line needs no pandas, which takes a second to import
    import pandas as pd

READING = ("SELECT", "EXPLAIN", "MULTI")
"""Kinds of statement that may only read (MULTI is how DuckDB sees a PIVOT)."""


class Example(NamedTuple):
    """A query worth starting from."""

    title: str
    sql: str


EXAMPLES = (
    Example(
        "Accuracy by L and gamma",
        "SELECT d, width, sigma2, prefactor, steps, gamma_label, L, avg(best_test_acc) AS acc, count(*) AS n "
        "FROM cells GROUP BY ALL ORDER BY ALL",
    ),
    Example("Why cells failed", "SELECT reason, count(*) FROM cells WHERE status <> 'ok' GROUP BY ALL"),
    Example(
        "Mean training curves",
        "SELECT d, width, sigma2, gamma_label, step, avg(test_acc) FROM curves JOIN cells USING (cell_id) WHERE L = 3 "
        "GROUP BY ALL ORDER BY ALL",
    ),
    Example("Cells of a sweep", "FROM cells JOIN plans USING (cell_id) WHERE sweep = 'eq3'"),
)

_EXPLAIN = re.compile(r"\s*EXPLAIN\b(\s+ANALYZE\b|\s*\([^)]*\))?", re.IGNORECASE)

_WRITING_NODE = re.compile(r'"type":"[A-Z]+_QUERY_NODE"')
"""COPY, INSERT, UPDATE or DELETE in a parse tree. Quotes in strings are escaped there, so no string looks like this."""


def checked(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The one reading statement in the text. ResultsError for anything else, duckdb.Error for bad syntax."""
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise ResultsError(f"the query is no text: its character {error.start + 1} is a byte that is not UTF-8") from None
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise ResultsError("one query at a time" if statements else "the query is empty")
    kind = statements[0].type.name
    if kind not in READING:
        kind = "INSTALL" if kind == "LOAD" and "INSTALL" in _words(statements[0].query) else kind  # DuckDB has one kind for both
        raise _writes(f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind} statement")
    query = _without_semicolon(connection, statements[0].query)
    _check_that_it_reads(connection, _EXPLAIN.sub("", query, count=1) if kind == "EXPLAIN" else query)
    return query


def _check_that_it_reads(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    # Only a query that gives rows may stand in brackets: COPY and CREATE are bad syntax there, even if an EXPLAIN ANALYZE or a
    # PIVOT hides them from the kind of the statement.
    try:
        kinds = {statement.type.name for statement in connection.extract_statements(bracketed(query))}
    except duckdb.Error:
        raise _writes("a statement that gives no rows of its own") from None
    # A WITH that nothing refers to may hold a COPY, which is then neither bound nor run.
    if kinds == {"SELECT"} and _WRITING_NODE.search(_parsed(connection, query)):
        raise _writes("a WITH that writes")
    # A WITH may hold a COPY. DuckDB runs part of a PIVOT before it binds the rest, so a COPY there must be found in the text.
    if kinds != {"SELECT"} and "COPY" in _words(query):
        raise _writes("a COPY")
    try:
        connection.execute(f"EXPLAIN {bracketed(query)}").fetchall()
    except duckdb.Error as error:
        if "must be at the top level" in str(error):
            raise _writes("a WITH that writes") from None
        raise in_own_words(error) from None


def _parsed(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """DuckDB's parse tree of the query, as JSON text; its message if it has none to give."""
    (tree,) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0]
    return str(tree)


def _words(query: str) -> set[str]:
    """All words outside of strings, in capitals, including the words of comments and quoted names."""
    starts = [start for start, _ in duckdb.tokenize(query)]
    return {
        word.upper()
        for start, end in zip(starts, [*starts[1:], len(query)], strict=True)
        if not query.startswith("'", start)
        for word in re.findall(r"\w+", query[start:end])
    }


def _writes(what: str) -> ResultsError:
    return ResultsError(f"{what}: this reads results only, by one SELECT, FROM, WITH, PIVOT, DESCRIBE or SUMMARIZE")


def bracketed(query: str) -> str:
    """The query as a table in another, on lines of its own."""
    return f"FROM (\n{query}\n)"


def in_own_words(error: duckdb.Error) -> duckdb.Error:
    """The error of a query in brackets, with its line numbers as if the query had stood alone."""
    return type(error)(re.sub(r"\bLINE (\d+):", lambda line: f"LINE {int(line[1]) - 1}:", str(error)))


class Bound(NamedTuple):
    """A query that DuckDB understood: names and types of its columns, and SQL for its rows."""

    columns: list[str]
    types: list[str]
    sql: str


def _has_zone(kind: str) -> bool:
    return "TIME ZONE" in kind  # fetching it takes pytz


def bound(connection: duckdb.DuckDBPyConnection, sql: str, limit: int = 0, as_text: Callable[[str], bool] = _has_zone) -> Bound:
    """The one reading statement in the text, with no more rows than the limit (0 for all). Columns of types for which `as_text`
    holds are cast to text. Errors as in `checked`."""
    query = checked(connection, sql)
    if connection.extract_statements(query)[0].type.name == "EXPLAIN":
        return Bound(["explain_key", "explain_value"], ["VARCHAR", "VARCHAR"], query)
    try:
        found = connection.sql(bracketed(query))
    except duckdb.Error as error:
        raise in_own_words(error) from None
    types = [str(kind) for kind in found.types]
    quoted = ['"' + name.replace('"', '""') + '"' for name in found.columns]
    chosen = ", ".join(f"{q}::VARCHAR AS {q}" if as_text(t) else q for q, t in zip(quoted, types, strict=True))
    chosen = chosen if any(map(as_text, types)) else "*"
    return Bound(found.columns, types, f"SELECT {chosen} {bracketed(query)}" + (f" LIMIT {limit}" if limit else ""))


def answer(results: str, sql: str) -> "pd.DataFrame":
    """The whole answer to one reading statement. ResultsError for a statement that does not read, or that DuckDB refuses."""

    def ask(connection: duckdb.DuckDBPyConnection) -> "pd.DataFrame":
        found = bound(connection, sql)
        try:
            return connection.execute(found.sql).df()
        except duckdb.Error as error:
            raise in_own_words(error) from None

    try:
        return run(existing(results), ask, opener=locked)
    except duckdb.Error as error:
        raise ResultsError(str(error)) from None


def _without_semicolon(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """The query up to the semicolon that ends it, so that it can stand in brackets; a semicolon in a string or a comment
    stays."""
    for i in (i for i, letter in enumerate(query) if letter == ";"):
        with suppress(duckdb.Error):
            if not connection.extract_statements(query[i + 1 :]) and connection.extract_statements(query[:i]):
                return query[:i]
    return query
