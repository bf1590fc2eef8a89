"""Thresholds of a measure and the power laws through them, as somebody asks for them in Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import pandas as pd

from analysis.asked_chart import Where, asked_points, check_apart, key_named, selected, setting_for
from analysis.data.choosing import axes_of, having, is_number, measures_of
from analysis.data.keys import ordering, spoken, value_of
from analysis.data.measures import MAIN
from analysis.data.points import Points, varying
from analysis.data.selection import Selection, Value, axes
from analysis.data.source import ResultsError
from analysis.scaling.levels import check_level, usual_level
from analysis.scaling.proportion import RATIO, by_proportion, proportions
from analysis.scaling.thresholds import Fitted, exponents, falls_along, fitted, needed, thresholds, without_lazy
from sweepkit.console.words import counted, listed, show
from sweepkit.declarations.keys import KEYS

SIZES = tuple(name for name, key in KEYS.items() if key.part in ("task", "network") and key.kind in ("whole", "number"))
"""The parameters over which a message proposes an exponent: numbers of a task or a network."""


class AskedThresholds(NamedTuple):
    """Thresholds, the names of the parameters that tell their curves apart, and of those that vary and got one value; and words
    for the networks with other values, which are left out."""

    rows: pd.DataFrame
    by: list[str]
    single: list[str]
    left_out: str
    points: Points
    """The points of their curves: those of one setting, if there are names in `by`."""
    setting: dict[str, Value]
    """The values that got one value, or have one among all points."""


class Laws(NamedTuple):
    """Power laws of thresholds that differ in the first of `by` and in the parameter `against` alone."""

    fits: Fitted
    rows: pd.DataFrame
    values: dict[str, Any]
    """The values of the further ones of `by`."""


class Law(NamedTuple):
    """Power laws of thresholds over the parameter `against`, one for each value of `by`, and the parameters held at one value."""

    groups: list[Laws]
    by: list[str]
    against: str
    held: dict[str, Any]
    left_out: str

    @property
    def is_there(self) -> bool:
        """True if there is an exponent."""
        return any(laws.fits.fits for laws in self.groups)

    @property
    def rows(self) -> pd.DataFrame:
        """The thresholds."""
        return pd.concat([laws.rows for laws in self.groups], ignore_index=True)

    def table(self) -> pd.DataFrame:
        """One row for each value of `by`; a single one without it."""
        first = next(iter(self.by), None)
        tables = [exponents(laws.fits, laws.rows, first, self.against).assign(**laws.values) for laws in self.groups]
        every = pd.concat(tables, ignore_index=True)
        return every[[*self.by, *(name for name in every if name not in self.by)]].assign(**self.held)


@dataclass(frozen=True)
class AskedLevel:
    """A level of a measure among some networks; what is None is chosen as suits them."""

    results: str
    at: float | None
    y: str | None
    sweep: str | None
    where: Where | None
    falling: bool | None

    @cached_property
    def selection(self) -> Selection:
        """The networks that are asked about."""
        return selected(self.results, self.sweep, self.where)

    def thresholds(self, x: str, by: Sequence[str] | None, in_proportion: bool = False) -> AskedThresholds:
        """The thresholds over `x`, one for each value of `by`; without `by`, for each configuration. ResultsError if there are
        none.

        in_proportion: whether the width may move with d, as N = c d, where more values of d have such a width than one of their
        own.
        """
        if isinstance(x, Real):
            raise ResultsError(
                f"{show(x)} is a level, not a parameter: name the parameter first, then the level: 'L', at={show(x)}"
            )
        names = [key_named(self.results, key) for key in by or ()]
        found = asked_points(self.results, self.selection, self.y)
        x = ordering(key_named(self.results, x), found.keys)
        for key in names:
            check_apart(x=x, by=key)
        missing = [key for key in (x, *names) if key not in found.keys]
        if missing:
            raise ResultsError(self._without(missing, found))
        self._check_numbers(found, x=x)
        level = usual_level(found.measure) if self.at is None else self.at
        if self.at is None and pd.isna(level):
            raise ResultsError(f"say `at`: no level of {found.measure.title} is usual")
        check_level(level, found.measure)
        there = having(found, x)
        if x == "gamma":
            there = there._replace(frame=without_lazy(there.frame))
        if in_proportion and "d" in names and "width" not in (x, *names):
            of_ratio, of_width = proportions(there)
            there = by_proportion(there) if of_ratio > of_width else there
        setting = None if by is None else setting_for(there, [x, *names])
        frame = there.frame if setting is None else setting.frame
        falling = falls_along(frame, x, found.measure.falls) if self.falling is None else self.falling
        rows = thresholds(frame, level, x, falling, found.declared)
        if rows.empty:
            raise ResultsError(f"no curve has two values of {x}, which a threshold needs")
        rows = rows.assign(**{key: None for key in names if key not in rows})
        single = [key for key in varying(there.frame, there.keys) if key in setting.values] if setting else []
        left_out = _left_out(there, frame, single, setting.values) if setting else ""
        single += [RATIO] if RATIO in rows and RATIO not in single else []
        return AskedThresholds(rows, names, single, left_out, there._replace(frame=frame), setting.values if setting else {})

    def law(self, of: str, over: str, by: str | Sequence[str] | None) -> Law:
        """The power laws of the thresholds over `of` against `over`, one for each value of `by`, with "" of gamma where networks
        have it. ResultsError if there are no thresholds, or too few while other parameters have enough."""
        check_apart(of=of, over=over)
        found = self._law(of, over, by)
        if not found.is_there and (there := self._other(of, over, by)):
            values, reached = found.rows[found.against].nunique(), found.table()["thresholds"].max()
            raise ResultsError(
                f"no exponent of {of} over {over}: {needed(of, over)}; here it is {reached} of {values}. "
                f"There is an exponent of {there[0]} over {there[1]}: say of={there[0]!r}, over={there[1]!r}"
            )
        return found

    def _law(self, of: str, over: str, by: str | Sequence[str] | None) -> Law:
        frame, names, single, left_out, *_ = self.thresholds(of, [over, *self.told_by(of, over, by)], in_proportion=True)
        against, told = ordering(names[0], frame), names[1:]
        if lost := [key for key in names if frame[key].isna().all()]:
            raise ResultsError(f"the networks that count here have no {listed(map(spoken, lost))}: choose others by `where`")
        if not is_number(frame[against]):
            raise ResultsError(f"over = {spoken(against)}: must be a parameter that is a number")
        frame = without_lazy(frame) if against == "gamma" else frame
        held = {key: frame[key].iloc[0] for key in single if key in frame and frame[key].nunique(dropna=False) == 1}
        first, others = (told[0] if told else None), told[1:]
        groups = [
            Laws(fitted(part, of, against, first), part, dict(zip(others, values, strict=True)))
            for values, part in (frame.groupby(others, dropna=False, sort=True) if others else [((), frame)])
        ]
        return Law(groups, told, against, held, left_out)

    def _check_numbers(self, found: Points, **axes: str) -> None:
        """ResultsError for an axis that is no number."""
        for axis, key in axes.items():
            if key in found.frame and not is_number(found.frame[key]):
                numbers = listed(axes_of(found).numbers)
                raise ResultsError(f"{axis} = {spoken(key)}: must be a parameter that is a number here: {numbers}")

    def told_by(self, of: str, over: str, by: str | Sequence[str] | None) -> list[str]:
        """The names in `by`; for "" gamma, if the networks have it and neither axis is it."""
        if by == "":
            has_gamma = "gamma_label" in axes(self.results, self.selection)
            return ["gamma"] if has_gamma and "gamma" not in (spoken(of), spoken(over)) else []
        return [by] if isinstance(by, str) else list(dict.fromkeys(by or ()))

    def _other(self, of: str, over: str, by: str | Sequence[str] | None) -> tuple[str, str] | None:
        """Parameters between which there is an exponent: `of` over another size, or `over` over `of`."""
        sizes = [key for key in axes_of(asked_points(self.results, self.selection, self.y)).numbers if key in SIZES]
        tried = [*((of, key) for key in sizes if key not in (of, over, *self.told_by(of, over, by))), (over, of)]
        return next((pair for pair in tried if self._has_law(*pair, by)), None)

    def _has_law(self, of: str, over: str, by: str | Sequence[str] | None) -> bool:
        try:
            return self._law(of, over, by).is_there
        except ResultsError:  # there are no such curves
            return False

    def _without(self, missing: Sequence[str], found: Points) -> str:
        """Words for parameters that the networks with a metric do not have: what vary there, and whether another metric's
        networks have them."""
        names = listed(map(spoken, missing))
        others = (name for name in MAIN if name != found.measure.name and name in measures_of(self.results, self.selection))
        keyed = (name for name in others if {*missing} <= {*asked_points(self.results, self.selection, name).keys})
        if self.y is None and (other := next(keyed, None)):
            return f"the networks with {found.measure.name} have no {names}, those with {other} have: say y={other!r}"
        return f"these networks have no {names}; the numbers that vary among them are {listed(axes_of(found).numbers)}"


def _left_out(every: Points, kept: pd.DataFrame, single: Sequence[str], values: Mapping[str, Any]) -> str:
    """Words for the networks that differ from the kept ones in the parameters `single`; none if there are none."""
    n = int(every.frame["n"].sum() - kept["n"].sum())
    named = [key for key in single if key != RATIO and not (key == "gamma" and "gamma_label" in single)]
    if not n or not named:
        return ""
    told = ", ".join(f"{spoken(key)} = {value_of(key, values[key])}" for key in named)
    others = f"{counted(n, 'other')} {'is' if n == 1 else 'are'} left out"
    return f"only networks with {told} count here; {others}: choose by sweep, where or by"
