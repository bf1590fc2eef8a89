"""Figures of anyone's own sweep: `threshold`, its growth with another parameter, and `rescaled`, curves over a rescaled axis."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import altair as alt
import pandas as pd

from analysis.asked_chart import Where, asked_points, check_apart, key_named, measure_named, setting_for
from analysis.charts.captions import joined, setting_told
from analysis.charts.curves import styled
from analysis.data.choosing import having, is_number
from analysis.data.keys import spoken, value_of
from analysis.data.measures import measures
from analysis.data.points import Points, grouping_keys, in_order, n_seeds, numeric_keys, task_of, with_intervals
from analysis.data.questions import asked_of
from analysis.data.source import ResultsError
from analysis.figures.drawn import Titled
from analysis.scaling.charts import collapse_panels, slope_name
from analysis.scaling.law_chart import LawChart, law_chart
from analysis.scaling.levels import levels, searched_level, usual_level
from analysis.scaling.opening import Laws
from analysis.scaling.proportion import RATIO, by_proportion, proportions
from analysis.scaling.rescaling import Rescaled, best, family, rescaled
from analysis.scaling.thresholds import fitted
from analysis.threshold_tables import AskedLevel, AskedThresholds
from sweepkit.console.words import capital, counted, listed, show
from sweepkit.stats.fits import STEEPEST
from sweepkit.stats.rounding import with_bounds
from sweepkit.store.searches import Question

FITTED, BEST = "fitted", "best"
"""Names of exponents by which curves are rescaled: that of the thresholds, or that of the best collapse."""
SIZE = {"width": 400, "height": 320}
SEVERAL = {"width": 300, "height": 240}


@dataclass(frozen=True)
class AskedLaw:
    """Thresholds of `of` against `over`, as people ask for them: None where they leave the choice to what suits the networks,
    which is what a sweep searched for, if it did."""

    results: str
    sweep: str | None = None
    where: Where | None = None
    of: str | None = None
    over: str | None = None
    y: str | None = None
    at: float | None = None
    by: str | None = None
    """The parameter that tells laws apart; empty for none."""
    panels: str | None = None
    """The parameter with a panel for each value; empty for a single panel."""
    falling: bool | None = None

    @cached_property
    def question(self) -> Question | None:
        """The question for which a sweep of these networks searched, if it fits what is asked for."""
        known = measures(self.results)
        asked = asked_of(self.results, self.level(None).selection)
        return next((one for one in asked if self._fits(one) and one.falling == known[one.metric].falls), None)

    def _fits(self, one: Question) -> bool:
        return self.y in (None, one.metric) and self.of in (None, one.axis) and self.over != one.axis

    def level(self, at: float | None) -> AskedLevel:
        """The question for a level, by default the usual one."""
        return AskedLevel(self.results, at, self.y, self.sweep, self.where, self.falling)

    def complete(self) -> tuple["AskedLaw", str]:
        """The question with all names and the level chosen, and words for why this level. ResultsError if there is nothing to
        draw."""
        question = self.question
        y = measure_named(self.results, self.y or (question.metric if question else None), self.level(None).selection)
        points = asked_points(self.results, self.level(None).selection, y)
        of, over = (None if key is None else key_named(self.results, key) for key in (self.of, self.over))
        numbers = numeric_keys(points)
        for axis, key in (("of", of), ("x", over)):
            if key in points.frame and not is_number(points.frame[key]) and key != "gamma_label":
                raise ResultsError(f"{axis} = {spoken(str(key))}: must be a parameter that is a number: {listed(numbers)}")
        of_ratio, of_width = proportions(points)
        laws = Laws(by_proportion(points) if of_ratio > of_width else points)
        of = of or (question.axis if question else None) or laws.first_over([k for k in numbers if k != over], ("L", "P"))
        if of is None:
            raise ResultsError(f"no threshold: a curve needs two values of a number; there are {listed(numbers) or 'none'}")
        over = over or laws.first_against(of, [key for key in numbers if key != of], "d")
        if over is None:
            raise ResultsError(
                f"thresholds in {spoken(of)} do not differ in another number: `threshold` of Results gives them as a table"
            )
        every = grouping_keys(laws.points, of, over, self.panels or "")
        groups = [key for key in every if key != RATIO and ("gamma" not in (of, over) or key != "gamma_label")]
        by = laws.first_colour(of, over, groups) if self.by is None else self.by
        check_apart(by=by, panels=self.panels)
        names = [key_named(self.results, key) for key in (over, by, self.panels) if key]
        at, why = self._at(points, of, [of, *names], question)
        return replace(self, of=of, over=over, y=y, by=by or "", at=at), why

    def _at(self, points: Points, of: str, axes: Sequence[str], question: Question | None) -> tuple[float, str]:
        if self.at is not None:
            return self.at, ""
        if question and (searched := searched_level([question], of, points.measure)) is not None:
            return searched, "the level that a sweep searched for"
        if pd.notna(usual := usual_level(points.measure)):
            return usual, ""
        frame = setting_for(having(points, of), axes).frame
        found = levels(frame, points.measure, of)
        return found.start, f"this level: {found.why}"


def threshold(asked: AskedLaw, size: Mapping[str, int] | None = None) -> Titled:
    """The figure `threshold`. `size` may hold `width` and `height` of a panel in pixels. ResultsError for a mistake."""
    asked, why = asked.complete()
    of, over, level = str(asked.of), str(asked.over), float(asked.at or 0.0)
    (against, by, facet), found = _found(asked, of, over)
    measure = found.points.measure
    charts = _panels(found, of, against, by, facet, (SEVERAL if facet else SIZE) | dict(size or {}))
    told = [*_held(asked, found.points, [of, against, by, facet]), _networks(found.points.frame), why]
    panels = []
    if facet:
        told.append(f"{of}*: mean {measure.short} {level:g}, 95% intervals")
    for value, one in charts.items():
        laws = one.exponents_told(of, against, by, in_order(one.table, by) if by else [None])
        if facet:
            titled = f"{spoken(facet)} = {value_of(facet, value)}"
            panels.append(one.panel.properties(title=titled))
            told.append(f"{titled}: {', '.join(laws)}")
        else:
            panels.append(one.panel)
            told += [one.told(of, measure, level), *laws, *one.meanings]
    table = pd.concat([one.table for one in charts.values()], ignore_index=True)
    chart = styled(alt.concat(*panels, columns=2) if facet else panels[0])
    title = f"Threshold {of}* of {measure.title} {level:g} against {spoken(over)}"
    return Titled(title, joined([*told, found.left_out]), chart, table, _file_name(asked, "threshold", of, over))


def _panels(
    found: AskedThresholds, of: str, against: str, by: str | None, facet: str | None, size: Mapping[str, Any]
) -> dict[Any, LawChart]:
    """The panel of each value of `facet`, or the only one; all share their legends."""
    rows, points = found.rows, found.points
    parts = {value: rows[rows[facet] == value] for value in in_order(rows, facet)} if facet else {None: rows}
    laws = [fitted(part, of, against, by) for part in parts.values()] if facet else []
    lines = ["fitted", *(slope_name(said) for law in laws for said in law.predictions.values())] if facet else []
    named: dict[str, Any] = {"declared": points.declared, "task": task_of(points.frame), "lines_of_all": lines}
    apart = [facet] if facet else []
    return {
        value: law_chart(part, of, against, by, points.measure, apart=apart, **named, **size) for value, part in parts.items()
    }


def collapse(asked: AskedLaw, exponent: str | float = FITTED, size: Mapping[str, int] | None = None) -> Titled:
    """The figure `rescaled`: for each value of `by`, the curves over `of` as measured, and over `of` / `over`^e.

    exponent: a number e; FITTED, that of the thresholds; or BEST, that of the best collapse. ResultsError for a mistake, and if
    no two curves overlap.
    """
    asked, _ = asked.complete()
    if asked.panels:
        raise ResultsError("a collapse has two panels for each curve of `by`: leave `panels` out")
    of, over = str(asked.of), str(asked.over)
    (against, by, _), found = _found(asked, of, over)
    points = found.points
    data = with_intervals(points.frame, points.measure)
    laws = asked.level(asked.at).law(of, over, asked.by or None).groups[0].fits if exponent == FITTED else None
    rows, frames, told = [], [], []
    lost: dict[str, list[str]] = {}
    for value in in_order(data, by) if by else [None]:
        name = f"{spoken(by)} = {value_of(by, value)}: " if by else ""
        try:
            scaled, which = _rescaled(data if by is None else data[data[by] == value], of, against, points, exponent, laws, value)
        except ValueError as error:
            lost.setdefault(str(error), []).append(name.removesuffix(": "))
            continue
        first, second = collapse_panels(
            scaled, of, against, points.measure, **{"width": 300, "height": 240} | dict(size or {}), declared=points.declared
        )
        if name:
            title = first.to_dict()["title"]
            first = first.properties(title=f"{name}{title}")
        rows.append(alt.hconcat(first, second, spacing=24))
        q = scaled.quality
        told.append(f"{name}rescaled by {scaled.by}, {which}: S = {q.quality:.3g} over {q.n_points} of {q.n_total} points")
        frames.append(scaled.frame[[*([by] if by else []), of, against, "rescaled", "n", "mean", "low", "high", "error"]])
    without = [f"no collapse{' at ' * bool(by)}{', '.join(of_these)}: {why}" for why, of_these in lost.items()]
    if not rows:
        raise ResultsError("; ".join(without))
    chart = styled(alt.vconcat(*rows).resolve_scale(color="independent") if len(rows) > 1 else rows[0])
    parts = [*_held(asked, points, [of, against, by]), _networks(points.frame), *told, *without]
    meaning = "S near 1: the curves fall together within their errors [Houdayer & Hartmann 2004]; means with 95% intervals"
    title = f"{capital(points.measure.title)} over {spoken(of)} at each {spoken(over)}, as measured and rescaled"
    frame = pd.concat(frames, ignore_index=True)
    return Titled(title, joined([*parts, meaning, found.left_out]), chart, frame, _file_name(asked, "rescaled", of, over))


def _found(asked: AskedLaw, of: str, over: str) -> tuple[tuple[str, str | None, str | None], AskedThresholds]:
    """The columns of `over`, `by` and `panels`, and the thresholds that they tell apart."""
    axes = [key for key in (over, asked.by, asked.panels) if key]
    found = asked.level(asked.at).thresholds(of, axes, in_proportion=True)
    names = iter(found.by)
    against = next(names)
    against = "gamma" if against == "gamma_label" else against
    if lost := [key for key in found.by if found.rows[key].isna().all()]:
        raise ResultsError(f"the networks that count here have no {listed(map(spoken, lost))}: choose others by --where")
    if not is_number(found.rows[against]):
        raise ResultsError(f"x = {spoken(against)}: must be a parameter that is a number")
    by, facet = (next(names) if key else None for key in (asked.by, asked.panels))
    return (against, by, facet), found


def _rescaled(
    data: pd.DataFrame, of: str, against: str, points: Points, exponent: str | float, laws: Any, value: Any
) -> tuple[Rescaled, str]:
    """Curves of one group in rescaled units, and words for where the exponent comes from. ValueError if there are none."""
    curves = family(data, of, against, points.measure)
    if exponent == BEST:
        found = best(curves).exponent
        scaled, which = rescaled(curves, found.value), f"the exponent of the best collapse {with_bounds(found)}"
    elif isinstance(exponent, str):
        if value not in laws.fits:
            raise ValueError(f"no exponent of thresholds, {laws.problems.get(value, '')}; name one, or say {BEST}")
        scaled, which = rescaled(curves, laws.fits[value].interval.value), "the exponent of the thresholds"
    else:
        scaled, which = rescaled(curves, exponent), "an exponent of your choice"
    if not scaled.quality.n_points:
        raise ValueError(f"rescaled by {scaled.by}, no two curves overlap")
    return scaled, which


def exponent_of(said: str | float) -> str | float:
    """The exponent that is meant: FITTED, BEST or a number. ResultsError for another."""
    if said in (FITTED, BEST):
        return said
    try:
        number = math.nan if isinstance(said, bool) else float(said)
    except (TypeError, ValueError):
        number = math.nan
    if not abs(number) <= STEEPEST:  # NaN too
        raise ResultsError(f"exponent = {show(said)}: say {FITTED}, {BEST} or a number from {-STEEPEST:g} to {STEEPEST:g}")
    return number


def _held(asked: AskedLaw, points: Points, axes: Iterable[str | None]) -> list[str]:
    """Words for what all networks have in common; what they have by default is left out."""
    selection = asked.level(None).selection
    return setting_told(points, points.frame, {}, [key for key in axes if key], selection)[0]


def _networks(frame: pd.DataFrame) -> str:
    return f"{counted(int(frame['n'].sum()), 'network')}, {n_seeds(frame)} per point"


def _file_name(asked: AskedLaw, figure: str, of: str, over: str) -> str:
    return "-".join([asked.sweep or "all", figure, spoken(of), spoken(over)])
