"""Columns of a pack file: one row a cell, its curves and neurons as list columns of that row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KEYS = {
    "task": pa.string(), "L": pa.int64(), "d": pa.int64(), "width": pa.int64(), "width1": pa.int64(), "gamma": pa.float64(),
    "gamma_label": pa.string(), "sigma2": pa.float64(), "prefactor": pa.string(),
    "P": pa.int64(), "patch": pa.int64(), "network": pa.string(), "scaling": pa.string(), "kappa": pa.float64(),
    "loss": pa.string(), "chains": pa.int64(),
    "seed": pa.int64(), "steps": pa.int64(),
    "batch": pa.int64(), "eval_every": pa.int64(), "test_size": pa.int64(), "base_lr": pa.float64(), "dtype": pa.string(),
}  # fmt: skip
"""Grid keys, NULL where a task has no such key. A user's own task adds its keys as further columns."""

SUMMARY = {
    "status": pa.string(), "reason": pa.string(), "best_test_acc": pa.float64(), "final_test_acc": pa.float64(),
    "final_train_acc": pa.float64(), "final_train_loss": pa.float64(), "readout_ratio": pa.float64(),
    "alignment_pos": pa.float64(), "alignment_neg": pa.float64(), "activation_change": pa.float64(),
    "alignment_f": pa.float64(), "alignment_f_se": pa.float64(), "test_mse": pa.float64(), "train_mse": pa.float64(),
    "n_specialised_1": pa.float64(), "n_specialised_2": pa.float64(),
    "magnitude_1": pa.float64(), "magnitude_2": pa.float64(), "r_hat": pa.float64(), "ess": pa.float64(),
    "mixed": pa.bool_(), "acceptance": pa.float64(),
    "engine": pa.string(), "device": pa.string(), "seconds": pa.float64(), "pack_id": pa.string(),
    "finished_at": pa.timestamp("us", tz="UTC"), "git_sha": pa.string(), "science_version": pa.string(),
    "host": pa.string(), "log_path": pa.string(), "weights_file": pa.string(),
}  # fmt: skip
"""What is measured (accuracies in [0, 1], loss in nats; of networks at equilibrium alignment, mean squares, specialising neurons
and whether the chains mixed) and where the number comes from; `weights_file`: path of the file with
hidden weights (store.weights), NULL where the grid did not ask for `weights`."""

CURVES = {
    "curve_step": pa.list_(pa.int64()), "curve_train_loss": pa.list_(pa.float64()),
    "curve_train_acc": pa.list_(pa.float64()), "curve_test_acc": pa.list_(pa.float64()),
    "curve_train_mse": pa.list_(pa.float64()), "curve_alignment_f": pa.list_(pa.float64()),
}  # fmt: skip
"""One entry an evaluation; loss and training accuracy are means over the steps since the one before."""

NEURONS = {
    "neuron_readout": pa.list_(pa.float32()), "neuron_alignment": pa.list_(pa.float32()), "overlap": pa.list_(pa.float64()),
}  # fmt: skip
"""One entry a hidden neuron; NULL where the grid did not ask for `neurons`. `overlap`: neurons by their overlap with the target's
direction, a mean number for each bin of trainables.equilibrium.measures.OVERLAP_EDGES."""

HELD = {"holds_curves": pa.bool_(), "holds_neurons": pa.bool_()}
"""Which list columns the row has, so that planning need not read them. Set here, never by the caller."""

SCHEMA = pa.schema({"cell_id": pa.string(), **KEYS, **SUMMARY, **CURVES, **NEURONS, **HELD})

PLAN_SCHEMA = pa.schema(
    {"sweep": pa.string(), "cell_id": pa.string(), "planned_at": pa.timestamp("us", tz="UTC"), "whole": pa.bool_()}
)
"""A plan file; `whole` says that it is the sweep's entire grid and so replaces what was planned before."""

REQUIRED = ("cell_id", "status", "pack_id", "finished_at", *HELD)
"""Columns without which a file is foreign; any other may be missing, as in files of an older version."""

STATUSES = ("ok", "diverged", "failed")
"""In order of preference: where a cell has several rows, the first of these wins."""

_AGGREGATED = (
    "n", "mean", "median", "sd", "low", "high", "seeds", "diverged", "value", "point", "theory", "threshold", "residual",
)  # fmt: skip
"""What analysis calls the statistics beside the keys of networks."""

_VIEWED = (
    "step", "train_loss", "train_acc", "test_acc", "chain_train_mse", "chain_alignment_f", "neuron", "readout", "alignment",
    "file_row_number",
)  # fmt: skip
RESERVED = frozenset(name.lower() for name in (*SCHEMA.names, *PLAN_SCHEMA.names, *_VIEWED, *_AGGREGATED))
"""Names, in lower case, that no further key may have: DuckDB knows no case, and a join of two views would be ambiguous."""

EXTRA_TYPES = (pa.int64(), pa.float64(), pa.string(), pa.bool_())
"""What a user's own key may be."""


def table_of(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows as a table of the pinned schema; keys it does not know are appended, typed by their values.

    ValueError where a value does not fit its column, and where a user's key mixes types, is no number, text or truth value
    or has the name of another column.
    """
    names = sorted({key for row in rows for key in row} - set(SCHEMA.names))
    for name in names:
        if name.lower() in RESERVED or sum(name.lower() == other.lower() for other in names) > 1:
            raise ValueError(f"key {name!r} has the name of another column: case makes no difference")
    for field in SCHEMA:
        for row in rows:
            if not _fits(row.get(field.name), field.type):
                raise ValueError(f"{row[field.name]!r} does not fit column {field.name!r}, which is {field.type}")
    extras = [pa.field(name, kind) for name in names if (kind := _type_of(name, rows)) is not None]
    held = [
        {
            **row,
            "holds_curves": row.get("curve_step") is not None,
            "holds_neurons": row.get("neuron_readout") is not None or row.get("overlap") is not None,
        }
        for row in rows
    ]
    try:
        return pa.Table.from_pylist(held, schema=pa.schema([*SCHEMA, *extras]))
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(f"a value does not fit its column: {error}") from None


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Whether a single number or text can be stored as it is: Arrow cuts 2.9 down to a whole 2, and takes True for 1."""
    if value is None or kind not in (pa.int64(), pa.float64(), pa.string()):
        return True  # Arrow sees to lists and times
    if kind == pa.string():
        return isinstance(value, str)
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if kind == pa.int64():
        return whole or (isinstance(value, float | np.floating) and float(value).is_integer())
    return whole or isinstance(value, float | np.floating)


def _type_of(name: str, rows: Sequence[dict[str, Any]]) -> pa.DataType | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    if not values:
        return None
    try:
        kind = pa.array(values).type
    except pa.ArrowException as error:
        raise ValueError(f"key {name!r} mixes types: {error}") from None
    if kind not in EXTRA_TYPES:
        raise ValueError(f"key {name!r} is a {kind}: a column must be whole, a number, text or true/false")
    return kind


def parquet_bytes(table: pa.Table) -> bytes:
    """The table as a Parquet file, with the page checksums that `check` and `compact` verify."""
    # Row groups of about 32 MB: large enough to scan fast, small enough that a filter on the sort keys skips most.
    rows_per_group = int(min(65536, max(1024, (32 << 20) * table.num_rows // max(1, table.nbytes))))
    text = [field.name for field in table.schema if field.type == pa.string()]
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=text, row_group_size=rows_per_group, write_page_checksum=True)
    return sink.getvalue().to_pybytes()
