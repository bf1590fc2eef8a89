"""The columns of a pack file, which has one row per cell: those that `declarations` declares, and the further ones of a pack.

A metric with a value per evaluation, neuron or bin is a list column of the cell's row.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sweepkit.declarations.columns import FACTS, Column, Fact, Metric
from sweepkit.declarations.keys import KEYS
from sweepkit.declarations.metrics import METRICS, SEEDS, SHOWN, STATISTICS
from sweepkit.store.columns import check_further, column_of, field_of, is_list, known_field_of

DECLARED: dict[str, Column] = {**KEYS, **METRICS, **FACTS}
"""The columns that the package `declarations` declares, by name."""

CURVES = {column_of(metric): metric for metric in METRICS.values() if metric.per == "evaluation"}
"""List columns with one entry per evaluation. Under gradient descent, loss and training accuracy are means over the steps since
the last evaluation."""

NEURONS = {column_of(metric): metric for metric in METRICS.values() if metric.per in ("neuron", "bin")}
"""List columns with one entry per hidden neuron, or with a mean number of neurons per bin; NULL if nobody asked for them."""

_CELL_ID = Fact("cell_id", "id of the network", "text")
_HOLDS = (
    Fact("holds_curves", "whether the row has a curve", "truth"),
    Fact("holds_neurons", "whether the row has neurons", "truth"),
)
_MEASURED = Fact("measured", "metrics that the row was asked for and has", "text")
HELD = tuple(fact.name for fact in (*_HOLDS, _MEASURED))
"""Columns that say what a row holds besides its summary, so that planning need not read the lists. The first two are set here,
never by the caller. The caller sets `measured`: a list of `Metric.request`, NULL for none."""

SCHEMA = pa.schema([
    known_field_of(_CELL_ID),
    *(known_field_of(declared) for declared in DECLARED.values() if not getattr(declared, "expression", "")),
    *map(known_field_of, _HOLDS),
    pa.field(_MEASURED.name, pa.list_(pa.string()), metadata=known_field_of(_MEASURED).metadata),
])  # fmt: skip

PLAN_SCHEMA = pa.schema(
    {"sweep": pa.string(), "cell_id": pa.string(), "planned_at": pa.timestamp("us", tz="UTC"), "whole": pa.bool_()}
)
"""The columns of a plan file. `whole` says that it is the sweep's entire grid and so replaces what was planned before."""
PLANNED_FIND = pa.field("find", pa.string())
"""A further column in the plan of a sweep that searches: a network's question (`sweepkit.store.searches`) or NULL."""

OF_GRID = (b"grid", b"command")
"""Metadata of a plan file: the text of the grid as it was asked for, and the command. Plans of older versions have none."""
NOTES = b"notes"
"""Metadata of a file without rows among the plans: what a person says of a sweep, as JSON."""

REQUIRED = ("cell_id", "status", "pack_id", "finished_at", *(fact.name for fact in _HOLDS))
"""Columns without which a file is foreign. Any other column may be missing, as in files of an older version."""

STATUSES = ("ok", "diverged", "failed")
"""The statuses in order of preference: if a cell has several rows, the row with the first of these wins."""

BESIDE = ("_file", "_row", "file_row_number")
"""Columns, in lower case, that readers add to those of a file."""

_OF_ANALYSIS = (*STATISTICS, SEEDS, *SHOWN)
_INDICES = ("neuron", "eigenfunction", "example")
RESERVED = frozenset(name.lower() for name in (*SCHEMA.names, *PLAN_SCHEMA.names, *METRICS, *_INDICES, *BESIDE, *_OF_ANALYSIS))
"""Names, in lower case, that no further column may have. DuckDB ignores case, and a join of two views would be ambiguous."""

_SINGLE_VALUES = [(field.name, field.type) for field in SCHEMA if not pa.types.is_nested(field.type)]


def table_of(rows: Sequence[dict[str, Any]], declared: Iterable[Column] = ()) -> pa.Table:
    """Rows as a table with the columns of SCHEMA and the further columns in `declared`. Each column carries its declaration.

    A row holds a further key or metric by its name. A further key is left out if no row has a value for it and its declaration
    has no default. ValueError if a name is not declared or is that of another column, or if a value does not fit its column.
    """
    further = _further(declared)
    if unknown := sorted({name for row in rows for name in row} - set(SCHEMA.names) - further.keys()):
        raise ValueError(f"{unknown[0]!r} is not declared: every name in a row must be declared, as a key or as a metric")
    shown = [
        column
        for name, column in sorted(further.items())
        if isinstance(column, Metric)
        or getattr(column, "default", None) is not None
        or any(row.get(name) is not None for row in rows)
    ]
    fields = [(column, field_of(column)) for column in shown]
    single = [*_SINGLE_VALUES, *((column.name, field.type) for column, field in fields if not is_list(column))]
    for name, kind in single:
        for row in rows:
            if not _fits(row.get(name), kind):
                raise ValueError(f"{row[name]!r} does not fit column {name!r}, which is {kind}")
    held = [
        {
            **row,
            **{field.name: row.get(column.name) for column, field in fields},
            "holds_curves": _has_one(row, CURVES),
            "holds_neurons": _has_one(row, NEURONS),
        }
        for row in rows
    ]
    try:
        return pa.Table.from_pylist(held, schema=pa.schema([*SCHEMA, *(field for _, field in fields)]))
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(f"a value does not fit its column: {error}") from None


def _further(declared: Iterable[Column]) -> dict[str, Column]:
    """The columns that `declarations` does not declare, by name. ValueError if one is not valid or if two would have one name."""
    found: dict[str, Column] = {}
    for column in declared:
        known = DECLARED.get(column.name)
        if known == column:
            continue
        if known is not None and type(known) is type(column) and not isinstance(known, Metric):  # parts may share a key
            if known.kind != column.kind:
                raise ValueError(f"{column.name!r} is declared as {column.kind}, and the results have it as {known.kind}")
            continue
        alike = [other for other in found.values() if other.name.lower() == column.name.lower()]
        if column.name.lower() in RESERVED or any(_differ(column, other) for other in alike):
            raise ValueError(f"{column.role_of_column} {column.name!r} has the name of another column: case makes no difference")
        try:
            check_further(column)
        except ValueError as error:
            raise ValueError(f"{column.role_of_column} {column.name!r} cannot be declared so: {error}") from None
        found[column.name] = column
    return found


def _differ(one: Column, other: Column) -> bool:
    """Whether two declarations cannot share a column. Two networks share a key even if they give it different defaults."""
    return (one.name, one.kind, type(one)) != (other.name, other.kind, type(other))


def _has_one(row: dict[str, Any], columns: Iterable[str]) -> bool:
    return any(row.get(column) is not None for column in columns)


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Whether a single value can be stored unchanged. Arrow would cut 2.9 down to a whole 2, and take True for 1."""
    if value is None or pa.types.is_timestamp(kind):
        return True  # Arrow checks times itself
    if kind == pa.string():
        return isinstance(value, str)
    if kind == pa.bool_():
        return isinstance(value, bool | np.bool_)
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if kind == pa.int64():
        return whole or (isinstance(value, float | np.floating) and float(value).is_integer())
    return whole or isinstance(value, float | np.floating)


def parquet_bytes(table: pa.Table) -> bytes:
    """The table as a Parquet file, with the page checksums that `check` and `compact` verify."""
    # Row groups of about 32 MB: large enough to scan fast, small enough that a filter on the sort keys skips most.
    rows_per_group = int(min(65536, max(1024, (32 << 20) * table.num_rows // max(1, table.nbytes))))
    text = [field.name for field in table.schema if field.type == pa.string()]
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=text, row_group_size=rows_per_group, write_page_checksum=True)
    return sink.getvalue().to_pybytes()
