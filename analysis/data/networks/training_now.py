"""Networks that are in training, with their curves as far as they have come."""

from typing import Any

import pandas as pd

from sweepkit.declarations.metrics import METRICS
from sweepkit.store.files import open_files
from sweepkit.store.training_now import curves_under_way

_NAMES = {metric.column.removeprefix("curve_"): name for name, metric in METRICS.items() if metric.per == "evaluation"}
"""Columns of `curves` by the names that training has for them."""


def in_training(results: str) -> tuple[list[dict[str, Any]], pd.DataFrame]:
    """The keys and `cell_id` of each network whose curve can be read now, and these curves, one row per evaluation."""
    found = curves_under_way(open_files(results))
    rows = [{"cell_id": cell_id, **one["keys"]} for cell_id, one in found.items()]
    frames = [pd.DataFrame(one["curve"]).rename(columns=_NAMES).assign(cell_id=cell_id) for cell_id, one in found.items()]
    return rows, pd.concat(frames, ignore_index=True).astype({"step": int}) if frames else pd.DataFrame()
