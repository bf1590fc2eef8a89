"""Choices of a figure: the axes that points offer, and one value for each key that is no axis."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from analysis.data.comparing import PARTS, differing, fitting, lacking, most_parts, own
from analysis.data.keys import KINDS, gamma_once, is_label, ordering, same_axis, value_of
from analysis.data.measures import main_of, measures
from analysis.data.parts import with_parts
from analysis.data.points import Points, one_setting, settings_of
from analysis.data.selection import Aggregates, Selection, Value, tasks_without
from analysis.data.settings import Settings, distinct
from sweepkit.declarations.columns import Column


def measures_of(results: str, selection: Selection) -> list[str]:
    """Names of the measures that some selected network has a value of, that of `main_of` first."""
    return counts_of_measures(results).over(results, selection)


MOST_MAIN = 4
"""Most measures by which the networks of one sweep are judged."""


def main_measures(results: str, selection: Selection) -> dict[str, Selection]:
    """The measures by which selected networks are judged, each with the networks of the tasks that it serves: one measure, and
    further ones for tasks none of whose networks has a value of those before. Empty if no network has finished."""
    found: dict[str, Selection] = {}
    left = selection
    # A measure may have no value but those of networks that diverged: then the next one is tried for the same networks.
    while held := [name for name in measures_of(results, left) if name not in found][: MOST_MAIN - len(found)]:
        found[held[0]] = left
        tasks = tasks_without(results, left, measures(results)[held[0]])
        if not tasks:
            break
        left = left.only({"task": list(tasks)})
    return found


def counts_of_measures(results: str) -> Aggregates[list[str]]:
    """The question of `measures_of`."""
    known = measures(results)

    def read(row: Sequence[int]) -> list[str]:
        found = {name: n for name, n in zip(known, row, strict=True) if n}
        main = main_of(found)
        return sorted(found, key=lambda name: name != main)

    return Aggregates([f"count({measure.sql})" for measure in known.values()], read)


class Keyed(Protocol):
    """Points or networks: a frame, and the names of its columns that are grid keys."""

    @property
    def frame(self) -> pd.DataFrame: ...
    @property
    def keys(self) -> list[str]: ...
    @property
    def declared(self) -> Mapping[str, Column]: ...


class Axes(NamedTuple):
    """Keys for the abscissa, all numbers, and keys that can distinguish curves or panels: labels first, then numbers, then
    texts, of which the parts of a cell come first."""

    numbers: list[str]
    others: list[str]


def is_number(values: "pd.Series[Any]") -> bool:
    """True for numbers, which can be an abscissa; truth values tell curves apart."""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def axes_of(points: Points) -> Axes:
    """The keys that vary among some points, as axes; each kind in the order of declaration."""

    def is_text(key: str) -> bool:
        return not is_number(points.frame[key])

    numbers = [key for key in points.keys if not is_text(key) and points.frame[key].nunique() > 1]
    vary = differing(points.frame, points.keys, points.declared)
    return Axes(numbers, sorted(vary, key=lambda key: (not is_label(key, points.declared), is_text(key), key not in PARTS)))


def suggested(points: Points, axes: Axes) -> tuple[str, str | None]:
    """Abscissa and colour of a first figure: the number with most values, and a key that varies beside it (None if none
    does). One of KINDS is an abscissa only if no other number varies there. ValueError if no number varies."""
    if not axes.numbers:
        raise ValueError("no key that is a number varies")
    # Lazy networks have another gamma at each d, but one label.
    values = {key: "gamma_label" if key == "gamma" and "gamma_label" in points.frame else key for key in axes.numbers}
    first, beside = _first(points)

    def rank(key: str) -> tuple[bool, bool, bool, int, int]:
        n = first[values[key]].nunique()
        in_all = n > 1 and all(part[values[key]].nunique() > 1 for part in beside)
        return n > 1, key not in KINDS, in_all, n, points.frame[values[key]].nunique()

    ranked = sorted(axes.numbers, key=rank, reverse=True)
    looks = ((x, *_colour(points, axes, x)) for x in ranked[:MOST_TRIED])
    found = next(((x, colour) for x, colour, has_curve in looks if has_curve), None)
    return found or _of_most_points(points, axes, ranked[:MOST_TRIED])


def _of_most_points(points: Points, axes: Axes, candidates: Sequence[str]) -> tuple[str, str | None]:
    """Abscissa and colour with most points, for points of which no two make a curve; without a colour where none has two."""
    looks = [(x, key) for x in candidates for key in axes.others[:MOST_TRIED] if not same_axis(x, key)]
    counts = {look: len(_first_part(points, look)) for look in looks}
    best = max(counts, key=lambda look: counts[look], default=None)
    return best if best and counts[best] > 1 else (candidates[0], None)


MOST_TRIED = 5
"""Most abscissae that are tried for a first figure with a curve."""


def suggested_colour(points: Points, axes: Axes, x: str, panels: str | None = None) -> str | None:
    """The key that tells the curves of a first figure over `x` apart; None if no other key varies where its networks are."""
    return _colour(points, axes, x, panels)[0]


def _colour(points: Points, axes: Axes, x: str, panels: str | None = None) -> tuple[str | None, bool]:
    """`suggested_colour`, and whether its figure has a curve over `x`."""
    others = [key for key in axes.others if not any(taken and same_axis(key, taken) for taken in (x, panels))]
    together = along_with(points, x)
    others = [key for key in others if key not in together]
    facet = [panels] if panels else []
    part = _first_part(points, [x, *others[:1], *facet])
    if part[x].nunique() > 1:  # else these are other networks than those with a curve over x
        found = next((key for key in others if part[key].nunique(dropna=False) > 1), None)
        return found or _apart(points, x, others, together), True
    found = _apart(points, x, others, together)
    return found, found is not None or _first_part(points, [x, *facet])[x].nunique() > 1


def _apart(points: Points, x: str, candidates: Sequence[str], together: Sequence[str]) -> str | None:
    """The first of the keys that has two values among curves over `x` which agree in all others; None if none has. `together`:
    the keys that change along with `x`. Draws of the data are no such key."""
    points = having(points, x)
    settings = Settings(points.frame, [key for key in points.keys if key not in together])
    candidates = [key for key in candidates if key != "data_seed"]
    curve = distinct(settings.beside(x), settings.numbers[x]) > 1
    for key in candidates:
        rows = np.flatnonzero(curve & points.frame[key].notna().to_numpy())
        if distinct(settings.beside(x, key)[rows], settings.numbers[key][rows]).max(initial=0) > 1:
            return key
    return None


MOST_PANELS = 6
"""Most panels of a figure whose panels nobody asked for."""


def suggested_panels(points: Points, x: str, colour: str | None) -> str | None:
    """The key for the panels of a first figure: a further one that varies there, if it has few values; None if none has."""
    chosen = [key for key in (x, colour) if key]
    for key in rest_beside(having(points, x), chosen):
        if (points.frame[key].isna() & ~lacking(points.frame, key, points.declared)).any():
            continue  # a panel of networks that leave the key out has no name
        part = _first_part(points, [*chosen, key])
        curves = part.groupby(key, dropna=False)[x].nunique()
        if 1 < len(curves) <= MOST_PANELS and (curves > 1).sum() > 1:
            return key
    return None


def _first_part(points: Points, free: Sequence[str]) -> pd.DataFrame:
    """The points that a first figure shows if these keys are its axes: all other keys have one value."""
    there = having(points, free[0])
    setting = settled(there, rest_beside(there, free), {})
    return with_parts(there.frame)[fitting(there.frame, setting, there.declared)]


def _first(points: Points) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """The points of the task, network and training that are shown first, and those of each network and training of that task."""
    parts = [key for key in PARTS if key in points.keys]
    if not parts:
        return points.frame, [points.frame]
    frame = one_setting(points.frame, parts, [], settings_of(points.frame), points.declared).frame
    task = points.frame[points.frame["task"] == frame["task"].iloc[0]] if "task" in parts else points.frame
    return frame, [part for _, part in task.groupby(parts, dropna=False)]


def having(points: Points, x: str) -> Points:
    """The points that have this abscissa."""
    return points._replace(frame=points.frame.dropna(subset=[x]))


def suits_log(values: "pd.Series[Any]") -> bool:
    """Whether a logarithmic axis suits values: all are positive, and they span more than a factor of 20, or three or more of them
    grow by one factor, as 4, 8, 16 and 32 do."""
    distinct = np.unique(values.dropna().to_numpy(float))
    if not len(distinct) or distinct[0] <= 0:
        return False
    ratios = distinct[1:] / distinct[:-1]
    return bool(distinct[-1] > 20 * distinct[0] or (len(ratios) > 1 and np.allclose(ratios, ratios[0], rtol=0.01)))


def rest_of(points: Keyed, chosen: Iterable[str]) -> list[str]:
    """Keys that vary beside the chosen ones. Each must be fixed to one value, as only seeds are averaged over.

    If networks or trainings are compared, keys are left out that have a single value within each of them (`comparing.own`)."""
    chosen = list(chosen)
    vary = [key for key in differing(points.frame, points.keys, points.declared) if not any(same_axis(key, c) for c in chosen)]
    belong = own(points.frame, vary, chosen, points.declared)
    return [key for key in vary if key not in belong]


FEWEST_ALONG = 3
"""Fewest points of a curve along which a second key may change: between two points any two settings would agree so."""


def along_with(points: Keyed, x: str) -> list[str]:
    """Keys that change along with `x` and with nothing else, as P where a grid sets it by the width: numbers that rise or fall at
    each of its values. A curve over `x` holds all their values, and averages over none.

    A key with one value at several `x`, or a word, tells two experiments apart, whose points are not to be joined."""
    frame = points.frame.dropna(subset=[x])
    others = [key for key in gamma_once(points.keys, frame) if not same_axis(key, x)]
    return [key for key in others if _goes_along(frame, x, key)]


def _goes_along(frame: pd.DataFrame, x: str, key: str) -> bool:
    values = frame[ordering(key, frame)]  # gamma for its label
    if frame[key].nunique() < FEWEST_ALONG or not is_number(values) or values.isna().any():
        return False
    pairs = pd.DataFrame({"x": frame[x], "key": values}).drop_duplicates().sort_values("x")
    steps = np.diff(pairs["key"].to_numpy(float))
    return len(pairs) == pairs["x"].nunique() and bool((steps > 0).all() or (steps < 0).all())


def rest_beside(points: Keyed, axes: Sequence[str]) -> list[str]:
    """`rest_of` for curves over the first of `axes`, without the keys that change along with it."""
    together = along_with(points, axes[0])
    return [key for key in rest_of(points, axes) if key not in together]


def settled(
    points: Keyed,
    rest: Sequence[str],
    wanted: Mapping[str, Value],
    first: str | None = None,
    prefer: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """A value for each key of `rest`, such that there are points with all of them.

    Wanted values are taken if points have them, that of the key `first` before the others. The other keys get the values of
    `prefer` (without it, of the paper's setting of the task), or else those of most networks.
    """
    frame, fits = points.frame, partial(fitting, declared=points.declared)
    for key in sorted(wanted, key=lambda key: key != first):
        if key in rest and (part := fits(points.frame, {key: wanted[key]})[frame.index]).any():
            frame = frame[part]
    prefer = settings_of(frame) if prefer is None else prefer
    lacks = {key: lacking(points.frame, key, points.declared) for key in rest}
    axes = [key for key in points.keys if key not in rest]
    frame = most_parts(frame, rest, axes, points.declared)
    chosen: dict[str, Value] = {}
    # Other points may have keys that the parts of the first setting lack.
    while left := [key for key in rest if key not in chosen]:
        some = frame[~pd.concat([lacks[key][frame.index] for key in left], axis=1).all(axis=1)]
        axes = [key for key in gamma_once(points.keys, rest) if key not in left]
        values = one_setting(some if len(some) else frame, points.keys, axes, prefer, points.declared).values
        held = matching(frame, {key: values[key] for key in left})
        got = {key: values[key] for key in left if some.empty or not lacks[key][frame.index][held].all()}
        chosen |= got
        frame = frame[fits(points.frame, got)[frame.index]]
    return {key: chosen[key] for key in rest}


def fullest(points: Points, rest: Sequence[str], x: str) -> dict[str, Value]:
    """The values of the keys of `rest` that most networks of a curve over `x` have; none for a key that their parts lack."""
    if not rest:
        return {}
    groups = points.frame.groupby(list(rest), dropna=False)
    curves = points.frame[groups[x].transform("nunique") > 1]
    if curves.empty:
        return {}
    (most,) = curves.assign(n=groups["n"].transform("sum")).nlargest(1, "n").to_dict("records")
    return {key: most[key] for key in rest if not pd.isna(most[key])}


def matching(frame: pd.DataFrame, values: Mapping[str, Value]) -> "pd.Series[bool]":
    """Whether each row has these values; None stands for a missing value."""
    found = pd.Series(True, index=frame.index)
    for key, value in values.items():
        found &= frame[key].isna() if value is None else frame[key] == value
    return found


def values_of(points: Keyed, key: str) -> list[Value]:
    """The sorted values of a key among points: labels of gamma by gamma, None last if a part that has the key leaves it out."""
    frame = points.frame.sort_values(ordering(key, points.frame))
    known = frame[key].dropna().unique().tolist()
    none = points.frame[key].isna() & ~lacking(points.frame, key, points.declared)
    return [*known, *([None] if none.any() else [])]


def label(value: Value, key: str = "") -> str:
    """A value, of this key if it is one's, as select boxes and URLs show it."""
    return value_of(key, value)
