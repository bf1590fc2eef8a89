"""Networks that failed or diverged: their reasons, alike but for numbers, and the parameters that they have in common and no
finished network has."""

from collections.abc import Mapping, Sequence
from typing import Any

from sweepkit.declarations.columns import Key
from sweepkit.store.files import Files
from sweepkit.store.sql import literal, quoted
from sweepkit.store.views import declared, run

FIRST_LINES = r"""SELECT *, try_cast(regexp_extract(first, 'at step ([0-9]+)', 1) AS HUGEINT) AS number
FROM (SELECT *, coalesce(split_part(trim(reason), chr(10), 1), 'no reason given') AS first FROM {source} WHERE status <> 'ok')"""
"""One row per such network of `source`: the first line of its reason, and the step in it, if any."""
ALIKE = "regexp_replace(first, '[0-9]+', '#', 'g')"
"""The expression that is equal for rows of one reason."""
ONE_REASON = r"""CASE WHEN min(number) < max(number) THEN regexp_replace(min(first), 'at step [0-9]+',
    'at steps ' || min(number)::VARCHAR || ' to ' || max(number)::VARCHAR) ELSE min(first) END"""
"""The reason of a group of such rows."""


FEWEST = 2
"""Least number of networks that can have something in common."""
_LABEL, _SEED = "gamma_label", "seed"

Range = tuple[Any, Any]
"""The least and the greatest value of a key in a group of networks."""


def in_common(results: str | Files, sweep: str | None = None) -> dict[tuple[str, str], str]:
    """By status and reason, as `reasons` words it, a sentence such as `all 9 have base_lr = 10; no finished network has`.

    The networks are those of a sweep, or of the whole store. A reason has no entry if nothing tells its networks apart from the
    finished ones, or if none finished.
    """
    kinds = {name: column.kind for name, column in declared(results).items() if isinstance(column, Key)}

    def work(connection: Any) -> dict[tuple[str, str], str]:
        there = {name for name, *_ in connection.execute("DESCRIBE cells").fetchall()}
        keys = [name for name in kinds if name in there]
        of_sweep = "true" if sweep is None else f"cell_id IN (SELECT cell_id FROM plans WHERE sweep = {literal(sweep)})"
        columns = ", ".join(f"count({quoted(key)}), min({quoted(key)}), max({quoted(key)})" for key in keys)
        groups = connection.execute(
            f"""SELECT status, {ONE_REASON}, count(*), {columns}
            FROM ({FIRST_LINES.format(source=f"(SELECT * FROM cells WHERE {of_sweep})")})
            GROUP BY status, {ALIKE} HAVING count(*) >= {FEWEST}"""
        ).fetchall()
        finished = f"FROM cells WHERE status = 'ok' AND {of_sweep}"
        found = {}
        for status, reason, n, *values in groups:
            ranges = {
                key: (values[3 * i + 1], values[3 * i + 2])
                for i, key in enumerate(keys)
                if values[3 * i] == n and (values[3 * i + 1] == values[3 * i + 2] or (kinds[key] != "text" and key != _SEED))
            }
            if words := _words(connection, finished, n, ranges):
                found[status, reason] = words
        return found

    return run(results, work)


def _words(connection: Any, finished: str, n: int, ranges: Mapping[str, Range]) -> str:
    """The sentence about a group of n networks whose keys have these ranges."""

    def counts(*conditions: str) -> list[int]:
        columns = ", ".join(f"count(*) FILTER ({one})" for one in conditions)
        return list(connection.execute(f"SELECT {columns} {finished}").fetchone())

    n_finished, *within = counts("true", *(_condition(key, ends) for key, ends in ranges.items()))
    if not n_finished:
        return ""
    alone = [key for key, inside in zip(ranges, within, strict=True) if inside == 0]
    if alone:
        return f"all {n:,} have {_listed(alone, ranges)}; no finished network has{'' if len(alone) == 1 else ' any of these'}"
    single = [low == high for low, high in ranges.values()]
    together = [key for key, inside, is_single in zip(ranges, within, single, strict=True) if inside < n_finished and is_single]
    if not together or counts(" AND ".join(_condition(key, ranges[key]) for key in together))[0]:
        return ""
    for key in list(together):  # a key that the others do without is left out
        others = [other for other in together if other != key]
        if others and not counts(" AND ".join(_condition(other, ranges[other]) for other in others))[0]:
            together = others
    return f"all {n:,} have {_listed(together, ranges)}; no finished network has all of these"


def _condition(key: str, ends: Range) -> str:
    low, high = map(literal, ends)
    return f"{quoted(key)} BETWEEN {low} AND {high}"


def _listed(keys: Sequence[str], ranges: Mapping[str, Range]) -> str:
    """`base_lr = 10 and width = 64 to 512`; gamma by its label where both are there."""
    names = {key: "gamma" if key == _LABEL else key for key in keys if not (key == "gamma" and _LABEL in keys)}
    words = [f"{name} = {_value(*ranges[key])}" for key, name in names.items()]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _value(low: Any, high: Any) -> str:
    first, last = (f"{end:.6g}" if isinstance(end, float) else str(end) for end in (low, high))
    return first if low == high else f"{first} to {last}"
