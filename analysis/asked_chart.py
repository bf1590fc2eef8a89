"""A question about results as people put it in Python or on a command line: names checked, one configuration chosen."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from analysis.charts.curves import Look
from analysis.charts.explore import Choices, Explored, TooMuch, explore
from analysis.data.choosing import (
    Axes,
    axes_of,
    having,
    is_number,
    label,
    measures_of,
    rest_beside,
    settled,
    suggested,
    suggested_colour,
    suggested_panels,
    suits_log,
)
from analysis.data.comparing import lacking, named
from analysis.data.keys import same_axis, spoken, value_of
from analysis.data.measures import measures
from analysis.data.networks.evaluations import STEP
from analysis.data.points import Points, Setting, groups, one_setting, settings_of
from analysis.data.progress.coverage import sweeps
from analysis.data.selection import SEED, Selection, Value, axes, grid_keys, seeds_of, values_of
from analysis.data.source import ResultsError, columns_of_views
from analysis.overlays.overlays import Compute
from sweepkit.console.words import listed, nearest, show
from sweepkit.declarations.columns import Key
from sweepkit.declarations.keys import KEYS
from sweepkit.declarations.synonyms import meant
from sweepkit.shipped import page

Where = Mapping[str, Value | Iterable[Value]]
MOST_LISTED = 12
"""Most parameters, or sweeps, that a message lists."""
SIDE_BY_SIDE = 2
"""Panels in a row."""


def selected(results: str, sweep: str | None, where: Where | None) -> Selection:
    """The networks of a sweep with these values. ResultsError for an unknown sweep, parameter or value."""
    if not (sweep is None or isinstance(sweep, str)):
        raise ResultsError(f"sweep = {show(sweep)}: must be the name of one sweep, such as 'eq3', or None for all networks")
    if sweep is not None and sweep not in (there := sweeps(results)):
        raise ResultsError(
            f"no sweep {show(sweep)} in {results}{nearest(sweep, there) or ';'} there are {listed(there, MOST_LISTED)}"
        )
    if not (where is None or isinstance(where, Mapping)):
        raise ResultsError(f"where = {show(where)}: must be a dictionary, such as {{'d': 3}}, or None for all networks")
    whole = Selection(sweep)
    if not where:
        return whole
    known, found = axes(results, whole), {}
    for name, value in where.items():
        key = SEED if name == SEED else key_named(results, name, known)
        values = list(values_of(value))
        if key in found:
            raise ResultsError(f"where = {listed(where)}: {spoken(key)} is there twice")
        if key == "gamma_label":
            values = [v if v is None or isinstance(v, str) else f"{v:g}" for v in values]
        held = known.get(key, [])
        if key == SEED:
            held = seeds_of(results, whole)
        if not any(v in held for v in values):
            raise _no_value(name, values, held)
        found[key] = values
    return whole.only(found)


def _no_value(name: str, values: Iterable[Value], held: Sequence[Value]) -> ResultsError:
    """The error for values that no network has."""
    values = list(values)
    near = nearest(values[0], map(str, held)) if len(values) == 1 else ""
    own = f"; none is {value_of(name, None)}: {page('reference/keys.md')}" if name == "loss" and None in held else ""
    return ResultsError(
        f"no network has {name} = {listed(map(_said, values))}{near or ';'} there are {listed(map(_said, held))}{own}"
    )


def _said(value: Value) -> str:
    return "none" if value is None else str(show(value)).strip("'")


def where_of(results: str, sweep: str | None, words: Iterable[str]) -> dict[str, list[Value]]:
    """The values in words such as `d=128,256` and `gamma=lazy`. ResultsError for a word of another form, and for a parameter or
    a value that the networks of the sweep do not have."""
    known = axes(results, selected(results, sweep, None))
    found: dict[str, list[Value]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (name.strip() and equals and text.strip()):
            raise ResultsError(f"{show(word)}: say a parameter and its values, such as d=128,256 or gamma=lazy")
        name = name.strip()
        texts = [part.strip() for part in text.split(",") if part.strip()]
        if name == SEED:
            if wrong := [part for part in texts if not part.isdecimal()]:
                raise ResultsError(f"seed = {listed(wrong)}: say whole numbers, such as seed=0,1,2")
            found[SEED] = found.get(SEED, []) + [int(part) for part in texts]
            continue
        key = key_named(results, name)
        held = known.get(key, [])
        values = {part: [value for value in held if _is(value, part)] for part in texts}
        if lacking := [part for part, fitting in values.items() if not fitting]:
            raise _no_value(name, lacking, held)
        found[name] = found.get(name, []) + [value for fitting in values.values() for value in fitting]
    return found


def _is(value: Value, text: str) -> bool:
    """True if the text means this value: `1e-3` means 0.001, and `none` a missing value."""
    if text.lower() == label(value).lower():
        return True
    try:
        return not isinstance(value, bool) and value is not None and float(value) == float(text)
    except ValueError:  # one of them is a word
        return False


def key_named(results: str, name: str, among: Iterable[str] | None = None) -> str:
    """The parameter of this name. `gamma` stands for its label, which is one for the lazy networks of every dimension.
    ResultsError for another name; it tells those `among` the networks in question, by default all."""
    known = grid_keys(results)
    if name == "gamma" and "gamma_label" in known:
        return "gamma_label"
    if name == STEP and name not in known:
        raise ResultsError(f"step {_ALONG}")
    there = _few(dict.fromkeys(map(spoken, known if among is None else among)))
    if name == SEED:
        raise ResultsError(f"seed is no axis: points are means over seeds; name another parameter: {there}")
    if name not in known and name in measures(results):
        raise ResultsError(f"{name} is a metric, not a parameter: say y = {name}; parameters are {there}")
    if name not in known:
        raise ResultsError(f"no parameter {show(name)}{meant(name, known) or ';'} there are {there}")
    return name


def _few(names: Iterable[str]) -> str:
    """The names, or of many those that most networks have, and the page that tells all."""
    rank = {name: i for i, name in enumerate(KEYS)}
    every = sorted(names, key=lambda name: rank.get(name, len(rank)))
    told = listed(every, MOST_LISTED)
    return told if len(every) <= MOST_LISTED else f"{told}: {page('reference/keys.md')}"


def check_apart(**axes: str | None) -> None:
    """Two names of axes must be two parameters: ResultsError for `x` and `by` that are the same one."""
    named = [(axis, key) for axis, key in axes.items() if key]
    for (first, one), (second, other) in combinations(named, 2):
        if same_axis(one, other):
            raise ResultsError(f"{first} = {spoken(one)} and {second} = {spoken(other)}: name two parameters")


def measure_named(results: str, name: str | None, selection: Selection) -> str:
    """The metric of this name, by default the main one of the selected networks. ResultsError if they have none."""
    held = measures_of(results, selection)
    if not held:
        raise ResultsError(f"no finished networks of {_words(selection)} in {results}")
    if name is None:
        return held[0]
    if name not in (known := measures(results)) and name in _along_training(results):
        raise ResultsError(f"{name} {_ALONG}")
    if name not in known and name in ("gamma", *grid_keys(results)):
        raise ResultsError(f"{name} is a parameter, not a metric: say x = {name}; these networks have the metrics {listed(held)}")
    if name not in known:
        raise ResultsError(f"no metric {show(name)}{nearest(name, known) or ';'} these networks have {listed(held)}")
    if name not in held:
        raise ResultsError(f"these networks have no {name}; they have {listed(held)}")
    return name


_ALONG = "belongs to the evaluations along training: draw them with x = step, or read the table `curves`"


def _along_training(results: str) -> list[str]:
    return [name for name, _ in columns_of_views(results)["curves"][1]]


def _words(selection: Selection) -> str:
    parts = [f"sweep {selection.sweep}"] if selection.sweep else []
    parts += [f"{key} = {listed(map(show, values))}" for key, values in selection.where]
    return ", ".join(parts) or "any sweep"


def asked_points(results: str, selection: Selection, y: str | None) -> Points:
    """The configurations of a selection with their values of a metric, networks and trainings by name, without intervals."""
    return named(groups(results, selection, measure_named(results, y, selection)))


def look_for(
    results: str,
    points: Points,
    x: str | None,
    by: str | None,
    panels: str | None,
    *,
    log_x: bool | None = None,
    log_y: bool | None = None,
    residual: bool = False,
    suited: bool = False,
    single: Mapping[str, int] | None = None,
    several: Mapping[str, int] | None = None,
) -> Look:
    """The look of a chart of these points, over the axes of `axes_for`. Logarithmic axes, too, are chosen where none are asked
    for.

    single, several: `width` and `height` in pixels of one panel, and of each of several, with their number of `columns`.
    """
    x, by, facet = axes_for(results, points, x, by, panels, suited)
    log_x = suits_log(having(points, x).frame[x]) if log_x is None else log_x
    log_y = points.measure.logarithmic if log_y is None else log_y
    size: dict[str, Any] = (
        {"width": 340, "height": 240, "columns": SIDE_BY_SIDE, **(several or {})} if facet else dict(single or {})
    )
    return Look(x, by, facet, log_x, log_y, residual, declared=points.declared, **size)


def axes_for(
    results: str, points: Points, x: str | None, by: str | None, panels: str | None, suited: bool = False
) -> tuple[str, str | None, str | None]:
    """The parameters of the abscissa, of curves and of panels: those asked for, else the ones that suit the points. An empty
    `by` or `panels` is none at all; panels that suit are chosen if neither `x` nor `panels` is named and `suited` is true.
    ResultsError for names that do not fit."""

    def named_here(key: str | None) -> str | None:
        return key_named(results, key, points.keys) if key else None

    offered: Axes = axes_of(points)
    check_apart(x=x, by=by)
    check_apart(x=x, panels=panels)
    suits = suited and x is None and panels is None
    if x is None:
        if not offered.numbers:
            raise ResultsError("no parameter that is a number has two values here: there is no curve to draw")
        x, first = suggested(points, offered)
        by = first if by is None else named_here(by)
    else:
        x = key_named(results, x, points.keys)
        x = "gamma" if x == "gamma_label" else x
        if x not in points.frame or not is_number(points.frame[x]):
            raise ResultsError(f"x = {show(x)}: must be a parameter that is a number here: {listed(offered.numbers)}")
        by = suggested_colour(points, offered, x, named_here(panels)) if by is None else named_here(by)
    facet = named_here(panels) or (suggested_panels(points, x, by) if suits else None)
    if suits and facet and by and _is_part_of(by, facet, points):  # a parameter of one network is told apart within its network
        by, facet = facet, by
    by = None if by == facet else by
    for key in (by, facet):
        if key and key not in points.keys:
            raise ResultsError(f"these networks have no {key}; they differ in {listed(offered.others)}")
    return x, by, facet


def _is_part_of(part: str, key: str, points: Points) -> bool:
    """True if only some of the networks or trainings have the parameter `key`; `part` is `network` or `training`."""
    column = points.declared.get(key)
    return isinstance(column, Key) and column.part == part and bool(lacking(points.frame, key, points.declared).any())


def explored(results: str, selection: Selection, points: Points, choices: Choices, compute: Compute | None) -> Explored:
    """The chart of one configuration of these points. `compute` gets theory that is not on disk yet. ResultsError if no network
    fits, or more than a chart can show."""
    look = choices.look
    there = having(points, look.x)
    held = [key for key in (look.x, look.colour, look.facet) if key]
    setting = settled(there, rest_beside(there, held), dict(choices.setting))
    choices = replace(choices, setting=tuple(setting.items()))
    try:
        found = explore(results, selection, points, choices)
        if found is not None and found.missing and compute is not None and compute(found.missing):
            found = explore(results, selection, points, choices)
    except TooMuch as error:
        raise ResultsError(str(error)) from None
    if found is None:
        raise ResultsError(f"no finished network has these values together: {_words(selection)}")
    return found


def setting_for(points: Points, axes: Sequence[str]) -> Setting:
    """The points of one configuration of every parameter but `axes`: the paper's, where there is one."""
    return one_setting(points.frame, points.keys, axes, settings_of(points.frame), points.declared)
