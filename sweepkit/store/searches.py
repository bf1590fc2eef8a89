"""The thresholds that sweeps searched for: a plan says of each network which search may ask for it."""

import json
import math
from contextlib import suppress
from typing import NamedTuple

import duckdb

from sweepkit.console.words import show
from sweepkit.store.sql import literal


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
            found = cls(**json.loads(text))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{show(text)} is no question of a search") from error
        is_typed = isinstance(found.axis, str) and isinstance(found.metric, str) and isinstance(found.falling, bool)
        is_number = isinstance(found.at, int | float) and not isinstance(found.at, bool)
        if not (is_typed and is_number and math.isfinite(found.at)):
            raise ValueError(f"{show(text)} is no question of a search")
        return found


def questions(connection: duckdb.DuckDBPyConnection, ids: str, sweep: str | None = None) -> list[Question]:
    """The questions for which a sweep, by default any, asked for some of these networks; that of most networks first. Texts that
    are no questions are left out, and `unread` names them.

    `ids`: SQL for the ids of the networks. Plans of older versions hold no questions; a sweep that is run again writes its plan
    anew.
    """
    of = "true" if sweep is None else f"sweep = {literal(sweep)}"
    if not connection.execute(f"SELECT 1 FROM internal.searches WHERE {of} LIMIT 1").fetchone():
        return []
    sql = f"SELECT find FROM internal.searches WHERE {of} AND cell_id IN ({ids}) GROUP BY find ORDER BY count(*) DESC, find"
    found = []
    for (text,) in connection.execute(sql).fetchall():
        with suppress(ValueError):
            found.append(Question.read(text))
    return found


def unread(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Sweeps whose plans hold a text that is no question, and what is wrong with it: `foreign: 'L >= 3' is no question ...`."""
    found = []
    sql = "SELECT DISTINCT sweep, find FROM internal.searches ORDER BY ALL"
    for sweep, text in connection.execute(sql).fetchall():
        try:
            Question.read(text)
        except ValueError as error:
            found.append((sweep, f"foreign: {error}"))
    return found
