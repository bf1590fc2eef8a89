"""Two arms compared, as people ask for it: networks with two values of one parameter, else equal, paired by their seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.asked_chart import Where, check_apart, key_named, measure_named, selected
from analysis.data.choosing import is_number
from analysis.data.keys import gamma_once, ordering, same_axis, spoken, value_of
from analysis.data.measures import measures
from analysis.data.points import in_order, one_setting, seeds, settings_of, varying
from analysis.data.questions import asked_of
from analysis.data.selection import SEED, Selection, Value, grid_keys
from analysis.data.source import ResultsError, declared
from analysis.scaling.arms import ARMS, Comparison, of_exponents, of_means, of_thresholds, pairs_of
from analysis.scaling.levels import check_level, usual_level
from analysis.scaling.thresholds import falls_along, without_lazy
from sweepkit.console.words import counted, listed, show, shown
from sweepkit.declarations.columns import Metric
from sweepkit.store.searches import Question


class Arms(NamedTuple):
    """Both arms in one configuration of all keys but the axes."""

    frame: pd.DataFrame
    """Pairs, or for thresholds the networks of both arms: `scaling.arms`."""
    axes: list[str]
    setting: dict[str, Value]
    along: dict[str, tuple[Value, Value]]
    """Keys with one value in each arm, and another in the other: they change along with the arm."""
    n_alone: int
    """Networks without a partner."""
    n_others: int
    """Pairs, or networks, of other configurations."""


@dataclass(frozen=True)
class AskedArms:
    """The question how networks with `key` = `first` differ from those with `key` = `second`. What is None is chosen."""

    results: str
    key: str
    first: Value
    second: Value
    y: str | None = None
    by: Sequence[str] | None = None
    """The parameters at each of whose values the arms are compared; None for every configuration."""
    sweep: str | None = None
    where: Where | None = None
    of: str | None = None
    """The parameter of whose thresholds the question is; None if it is of means."""
    at: float | None = None
    falling: bool | None = None
    ratio: bool = False
    """Whether means are divided; thresholds always are."""

    @cached_property
    def column(self) -> str:
        """The column of the key."""
        return key_named(self.results, self.key)

    @cached_property
    def selection(self) -> Selection:
        """The networks of both arms. ResultsError if an arm has none."""
        for value in (self.first, self.second):
            if not (value is None or isinstance(value, str | int | float | bool | np.number)):
                raise ResultsError(f"{spoken(self.key)} = {show(value)}: must be one value")
        if show(self.first) == show(self.second):
            raise ResultsError(f"{spoken(self.key)} = {show(self.first)} is both arms: name two values")
        if isinstance(self.where, dict) and self.key in self.where:
            raise ResultsError(f"where has {spoken(self.key)}, whose two values are the arms: leave it out there")
        for value in (self.first, self.second):
            selected(self.results, self.sweep, {**(self.where or {}), self.key: value})
        return selected(self.results, self.sweep, {**(self.where or {}), self.key: [self.first, self.second]})

    @cached_property
    def values(self) -> tuple[Value, Value]:
        """Both values as the column has them."""
        one, other = (selected(self.results, self.sweep, {self.key: value}).where[-1][1] for value in (self.first, self.second))
        return next(iter(one)), next(iter(other))

    @cached_property
    def measure(self) -> Metric:
        """The metric."""
        y = self.y or (self.question.metric if self.question else None)
        return measures(self.results)[measure_named(self.results, y, self.selection)]

    @cached_property
    def question(self) -> Question | None:
        """The question for which a sweep of these networks searched along `of`, if there is one."""
        asked = asked_of(self.results, self.selection) if self.of else []
        return next((one for one in asked if one.axis == self.of and self.y in (None, one.metric)), None)

    @cached_property
    def names(self) -> tuple[str, str]:
        """The arms in words, such as `gamma = 1`."""
        one, other = (f"{spoken(self.key)} = {value_of(self.column, value)}" for value in self.values)
        return one, other

    @cached_property
    def level(self) -> float:
        """The level of the thresholds."""
        searched = self.question.at if self.question else usual_level(self.measure)
        level = searched if self.at is None else self.at
        if self.at is None and pd.isna(level):
            raise ResultsError(f"say `at`: no level of {self.measure.title} is usual")
        check_level(level, self.measure)
        return level

    @cached_property
    def arms(self) -> Arms:
        """The arms. ResultsError if no pair agrees in all else."""
        named = [key_named(self.results, name) for name in self.by or ()]
        over = [] if self.of is None else [key_named(self.results, self.of)]
        for name in [*over, *named]:
            check_apart(arms=self.column, by=name)
        for name in named:
            check_apart(of=next(iter(over), None), by=name)
        if len({*named}) < len(named):
            raise ResultsError(f"by = {listed(map(spoken, named))}: a name is there twice")
        every = [key for key in grid_keys(self.results) if not same_axis(key, self.column)]
        networks = seeds(self.results, self.selection, self.measure.name, [*every, self.column])
        arm_of = dict(zip(self.values, ARMS, strict=True))
        networks = networks.assign(arm=networks[self.column].map(arm_of))
        both = [networks[networks["arm"] == arm] for arm in ARMS]
        for name, arm in zip(self.names, both, strict=True):
            if arm.empty:
                raise ResultsError(f"no finished network with {name} has a finite {self.measure.title}")
        for key in over:
            if not is_number(networks[ordering(key, networks)]):
                raise ResultsError(f"of = {spoken(key)}: must be a parameter that is a number")
        apart = [key for key in every if any(arm[key].nunique(dropna=False) > 1 for arm in both)]
        apart = [ordering(key, networks) if key in over else key for key in gamma_once(apart, networks)]
        only = {key: _only(both[0][key], both[1][key]) for key in every if key not in {*apart, "gamma"}}
        if lacking := [name for name in [*over, *named] if name not in apart and name not in only]:
            raise ResultsError(f"these networks have no {listed(lacking)}; they differ in {listed(map(spoken, apart))}")
        along = {key: pair for key, pair in only.items() if pair and show(pair[0]) != show(pair[1])}
        pairs = networks if over else pairs_of(networks, apart)
        if pairs.empty:
            raise ResultsError(self._no_pair(both, apart))
        n_alone = 0 if over else len(networks) - 2 * len(pairs)
        if self.by is None:
            return Arms(pairs, [key for key in varying(pairs, apart) if key not in over], {}, along, n_alone, 0)
        axes = [*over, *named, *(["arm"] if over else [])]
        keys = [*apart, *(["arm"] if over else [])]
        chosen = one_setting(pairs.assign(n=1), keys, axes, settings_of(pairs), declared(self.results))
        return Arms(chosen.frame, named, chosen.values, along, n_alone, len(pairs) - len(chosen.frame))

    def _no_pair(self, both: Sequence[pd.DataFrame], apart: Sequence[str]) -> str:
        seeds_of = (listed(map(shown, sorted(arm[SEED].unique())), 2 * MOST_NAMED) for arm in both)
        one, other = (f"{name} (seeds {found})" for name, found in zip(self.names, seeds_of, strict=True))
        never_equal = [key for key in apart if {*both[0][key].map(str)}.isdisjoint(both[1][key].map(str))]
        differ = listed(map(spoken, never_equal or apart), MOST_NAMED)
        return f"no network with {one} has a partner with {other}, of equal seed and equal in all else, such as {differ}"

    @cached_property
    def is_falling(self) -> bool:
        """True if the metric falls along `of`, by the means of both arms."""
        if self.falling is not None:
            return self.falling
        keys = [*self.arms.axes, "arm", str(self.of)]
        curves = self.arms.frame.groupby(keys, dropna=False)["value"].agg(n="size", mean="mean", sd="std").reset_index()
        return falls_along(curves, str(self.of), self.measure.falls)

    def groups(self, axes: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
        """The rows at each combination of values of the axes, in their order."""
        frame = self.arms.frame
        if not axes:
            yield {}, frame
            return
        order = {axis: {value: i for i, value in enumerate(in_order(frame, axis))} for axis in axes}
        groups = [(values, part) for values, part in frame.groupby(list(axes), dropna=False)]
        for values, part in sorted(groups, key=lambda group: [order[a].get(v, -1) for a, v in zip(axes, group[0], strict=True)]):
            yield dict(zip(axes, values, strict=True)), part

    def table(self) -> pd.DataFrame:
        """One row at each combination of `by`: both arms' means or thresholds, compared, with the interval over pairs."""
        kind = "ratio" if self.ratio or self.of else "difference"
        rows = [keyed | _row(self._compared(part), kind) for keyed, part in self.groups(self.arms.axes)]
        return pd.DataFrame(rows)

    def _compared(self, part: pd.DataFrame) -> Comparison:
        if self.of is None:
            return of_means(part, self.ratio)
        return of_thresholds(part, self.of, self.level, self.is_falling)

    def exponents(self, over: str) -> pd.DataFrame:
        """One row for each value of `by` but `over`: both arms' exponents in `over`, and the first minus the second."""
        against = ordering(over, self.arms.frame)
        if not is_number(self.arms.frame[against]):
            raise ResultsError(f"over = {spoken(over)}: must be a parameter that is a number")
        others = [key for key in self.arms.axes if key != over]
        rows = []
        for keyed, part in self.groups(others):
            part = without_lazy(part) if against == "gamma" else part
            found = of_exponents(part, str(self.of), against, self.level, self.is_falling)
            rows.append(keyed | _row(found, "difference") | {"thresholds": found.n_thresholds})
        return pd.DataFrame(rows)

    @property
    def told(self) -> list[str]:
        """Words on the arms: how many networks or pairs there are, what changes along with them, and what is left out."""
        found = self.arms
        unit, pairs = "network" if self.of else "pair", found.along.items()
        moving = [f"{spoken(key)} = {value_of(key, a)} and {value_of(key, b)} along with it" for key, (a, b) in pairs]
        return [
            f"{self.names[0]} and {self.names[1]}, paired by seed: {counted(len(found.frame), unit)}",
            *(moving if len(moving) <= MOST_NAMED else [f"{len(moving)} other parameters change along with it"]),
            f"{counted(found.n_alone, 'network')} without a partner" if found.n_alone else "",
            f"{counted(found.n_others, unit)} of other configurations not shown" if found.n_others else "",
        ]


MOST_NAMED = 3
"""Most parameters that a text names."""


def _row(found: Comparison, kind: str) -> dict[str, Any]:
    value, low, high, n, *_ = found.interval
    return {"first": found.first, "second": found.second, kind: value, "low": low, "high": high, "seeds": n}


def _only(one: "pd.Series[Any]", other: "pd.Series[Any]") -> tuple[Value, Value] | None:
    """The only value of a key in each arm; None if neither has one."""
    values = tuple(None if arm.isna().all() else arm.iloc[0] for arm in (one, other))
    return None if values == (None, None) else (values[0], values[1])
