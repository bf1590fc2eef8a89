"""Answers to SQL as files."""

import io

import pandas as pd

from analysis.guarded import guarded_query

MOST_ROWS = 1_000_000
"""Rows of a file at most; its bytes are limited by the guard."""
TIMEOUT_S = 60.0


def answer_bytes(results: str, sql: str, form: str) -> bytes:
    """The whole answer, within the guard's limits, as `csv` or `parquet`. Errors as in `guarded_query`."""
    frame: pd.DataFrame = guarded_query(results, sql, TIMEOUT_S, MOST_ROWS).frame
    if form == "csv":
        return frame.to_csv(index=False).encode()
    data = io.BytesIO()
    frame.to_parquet(data, index=False)
    return data.getvalue()
