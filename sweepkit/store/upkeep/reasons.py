"""SQL for the reasons of networks that failed or diverged: reasons that differ in numbers alone are one, with the range of the
step."""

FIRST_LINES = r"""SELECT *, try_cast(regexp_extract(first, 'at step ([0-9]+)', 1) AS HUGEINT) AS number
FROM (SELECT *, coalesce(split_part(trim(reason), chr(10), 1), 'no reason given') AS first FROM {source} WHERE status <> 'ok')"""
"""One row per such network of `source`: the first line of its reason, and the step in it, if any."""
ALIKE = "regexp_replace(first, '[0-9]+', '#', 'g')"
"""The expression that is equal for rows of one reason."""
ONE_REASON = r"""CASE WHEN min(number) < max(number) THEN regexp_replace(min(first), 'at step [0-9]+',
    'at steps ' || min(number)::VARCHAR || ' to ' || max(number)::VARCHAR) ELSE min(first) END"""
"""The reason of a group of such rows."""
