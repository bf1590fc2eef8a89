"""Names and values as SQL."""

import re
from functools import cache
from math import isfinite

import duckdb

from sweepkit.store.schema import SCHEMA


def quoted(name: str) -> str:
    """A column's name as SQL, in quotes if it needs them: a user's key may be a word of SQL, or no identifier at all."""
    plain = name in _OURS or (re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in _words_of_sql())
    return name if plain else in_quotes(name)


def in_quotes(name: str) -> str:
    """Any column name as SQL, in quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str | int | float | bool) -> str:
    """A value as SQL, exactly the same number: DuckDB reads 0.1 as a decimal and 0.1e0 as a double."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float) and not isfinite(value):
        return f"'{value}'::DOUBLE"
    if isinstance(value, float):
        return repr(value) if "e" in repr(value) else f"{value!r}e0"
    return str(value)


_OURS = frozenset(SCHEMA.names)


@cache
def _words_of_sql() -> frozenset[str]:
    with duckdb.connect() as connection:
        return frozenset(word for (word,) in connection.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall())
