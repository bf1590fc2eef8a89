"""The thresholds that sweeps searched for: a plan says of each network which search may ask for it."""

import json
from typing import NamedTuple

import duckdb

from store.sql import literal


class Question(NamedTuple):
    """Where along `axis` does the mean of `metric` over seeds reach `at`, or fall to it?"""

    axis: str
    metric: str
    at: float
    falling: bool = False

    def written(self) -> str:
        """The question as plans hold it."""
        return json.dumps(self._asdict())

    @classmethod
    def read(cls, text: str) -> "Question":
        """The question of a plan. ValueError if the text holds none."""
        try:
            return cls(**json.loads(text))
        except TypeError as error:
            raise ValueError(f"{text!r} is no question of a search") from error


def questions(connection: duckdb.DuckDBPyConnection, ids: str, sweep: str | None = None) -> list[Question]:
    """The questions for which a sweep, by default any, asked for some of these networks; that of most networks first.

    `ids`: SQL for the ids of the networks. Plans of older versions hold no questions; a sweep that is run again writes its plan
    anew.
    """
    of = "true" if sweep is None else f"sweep = {literal(sweep)}"
    if not connection.execute(f"SELECT 1 FROM internal.searches WHERE {of} LIMIT 1").fetchone():
        return []
    sql = f"SELECT find FROM internal.searches WHERE {of} AND cell_id IN ({ids}) GROUP BY find ORDER BY count(*) DESC, find"
    return [Question.read(text) for (text,) in connection.execute(sql).fetchall()]
