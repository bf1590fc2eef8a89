"""Cases of a law: networks of one kind, each case a series or a panel of its figure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from analysis.data.keys import captioned
from analysis.data.measures import knows
from analysis.data.points import Setting, described, one_setting, points, unusual
from analysis.data.selection import Selection
from analysis.studies.along import Case
from sweepkit.declarations.columns import Column

CASE = "networks"
"""The column that names the case of a row."""


class Found(NamedTuple):
    """The points of a case that a store has, in one setting of all other keys."""

    case: Case
    setting: Setting
    told: str
    """Words that name the setting."""
    selection: Selection
    """The networks of the setting."""
    sql: str
    declared: Mapping[str, Column]
    """The columns of its store."""


def found(results: str, sweep: str | None, cases: Iterable[Case], measure: str) -> Iterator[Found]:
    """The cases whose networks have two values of each of their axes."""
    for case in cases:
        if not knows(results, measure, (*case.where, *case.axes)):
            continue
        selection = Selection(sweep).only(case.where)
        of = points(results, selection, measure)
        if of.frame.empty or not {*case.axes} <= {*of.keys}:
            continue
        setting = one_setting(of.frame, of.keys, case.axes, {}, of.declared)
        if all(setting.frame[axis].nunique() > 1 for axis in case.axes):
            told = described(setting.values, captioned(unusual(setting.values, of.declared), of.declared))
            yield Found(case, setting, f"{case.title}: {told}", selection.only(setting.values), of.sql, of.declared)
