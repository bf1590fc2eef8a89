"""Cases of a law: networks of one kind, each case a series or a panel of its figure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from analysis.data.keys import captioned
from analysis.data.measures import knows
from analysis.data.points import Setting, described, one_setting, points, unusual
from analysis.data.selection import Selection, Value

CASE = "networks"
"""The column that names the case of a row."""


class Case(NamedTuple):
    """Networks of one kind by their keys, with the keys that vary among them."""

    title: str
    where: Mapping[str, Value | list[Value]]
    axes: Sequence[str]


class Found(NamedTuple):
    """The points of a case that a store has, in one setting of all other keys."""

    case: Case
    setting: Setting
    told: str
    """Words that name the setting."""
    selection: Selection
    """The networks of the setting."""
    sql: str


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
            yield Found(case, setting, f"{case.title}: {told}", selection.only(setting.values), of.sql)
