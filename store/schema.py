"""Columns of a pack file: one row a cell, its curves and neurons as list columns of that row."""

from typing import Any

import pyarrow as pa

KEYS = {
    "task": pa.string(), "L": pa.int64(), "d": pa.int64(), "width": pa.int64(), "gamma": pa.float64(),
    "gamma_label": pa.string(), "sigma2": pa.float64(), "P": pa.int64(), "seed": pa.int64(), "steps": pa.int64(),
    "batch": pa.int64(), "eval_every": pa.int64(), "test_size": pa.int64(), "base_lr": pa.float64(), "dtype": pa.string(),
}  # fmt: skip
"""Grid keys, NULL where a task has no such key. A user's own task adds its keys as further columns."""

SUMMARY = {
    "status": pa.string(), "reason": pa.string(), "best_test_acc": pa.float64(), "final_test_acc": pa.float64(),
    "final_train_acc": pa.float64(), "final_train_loss": pa.float64(), "readout_ratio": pa.float64(),
    "alignment_pos": pa.float64(), "alignment_neg": pa.float64(), "activation_change": pa.float64(),
    "engine": pa.string(), "device": pa.string(), "seconds": pa.float64(), "pack_id": pa.string(),
    "finished_at": pa.timestamp("us", tz="UTC"), "git_sha": pa.string(), "science_version": pa.string(),
    "host": pa.string(), "log_path": pa.string(),
}  # fmt: skip
"""What is measured (accuracies in [0, 1], loss in nats) and where the number comes from."""

CURVES = {
    "curve_step": pa.list_(pa.int64()), "curve_train_loss": pa.list_(pa.float64()),
    "curve_train_acc": pa.list_(pa.float64()), "curve_test_acc": pa.list_(pa.float64()),
}  # fmt: skip
"""One entry an evaluation; loss and training accuracy are means over the steps since the one before."""

NEURONS = {"neuron_readout": pa.list_(pa.float32()), "neuron_alignment": pa.list_(pa.float32())}
"""One entry a hidden neuron; NULL where the grid did not ask for `neurons`."""

SCHEMA = pa.schema({"cell_id": pa.string(), **KEYS, **SUMMARY, **CURVES, **NEURONS})

_TYPE_OF = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table of the pinned schema; keys it does not know are appended, typed by their first value."""
    extra = {k: _TYPE_OF[type(v)] for row in rows for k, v in row.items() if k not in SCHEMA.names}
    schema = pa.schema([*SCHEMA, *(pa.field(k, t) for k, t in sorted(extra.items()))])
    return pa.Table.from_pylist(rows, schema=schema)
