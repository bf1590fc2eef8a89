"""Shared parts of the pages that show theory: reads kept until the store changes, controls, and captions."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from analysis.charts.explore import networks_of
from analysis.data.choosing import matching, measures_of, rest_of, settled
from analysis.data.keys import captioned
from analysis.data.measures import measures
from analysis.data.points import Points, Setting, described, groups, in_order, n_seeds, settings_of, with_intervals
from analysis.data.points import unmixed as unmixed_of
from analysis.data.progress.showing import NEEDS
from analysis.data.questions import asked_of
from analysis.data.selection import Selection, Value, tasks_of
from analysis.data.source import declared, state
from analysis.overlays.theory import ACCURACIES
from analysis.scaling.levels import Levels, levels
from analysis.scaling.proportion import RATIO, by_proportion
from analysis.scaling.thresholds import falls_along, thresholds
from app.controls import choice, sweep_choice
from app.pages import PAGES
from app.pages_with_data import looking
from app.setting_boxes import name, one
from app.shared import links, remembered
from sweepkit.console.commands import sweep_command
from sweepkit.console.words import counted
from sweepkit.declarations.columns import Metric
from sweepkit.stats import Interval


def grouped(results: str, selection: Selection, measure: str) -> Points:
    """`groups`, kept until the store changes."""
    return remembered(groups, results, selection, measure)


def points_of(results: str, selection: Selection, measure: str) -> Points:
    """`points`, kept until the store changes."""
    return remembered(_points_of, results, selection, measure)


def _points_of(results: str, selection: Selection, measure: str) -> Points:
    found = grouped(results, selection, measure)
    return found._replace(frame=with_intervals(found.frame, found.measure))


class _Held(NamedTuple):
    """The setting of a page, hashable."""

    values: tuple[tuple[str, Value], ...]
    by_proportion: bool
    """True if width/d tells networks apart instead of width. If it has one value, `values` holds it; else it is an axis."""


class AskedThreshold(NamedTuple):
    """The question of page Scaling: the least `over` at which the mean of `measure` is `level`, against the key `against`, for
    each value of `by`."""

    over: str
    against: str
    by: str | None
    measure: Metric
    level: float


def crossings(results: str, selection: Selection, setting: Setting, measure: str, level: float, over: str) -> pd.DataFrame:
    """`thresholds` of the curves of one setting of a selection, kept until the store changes."""
    return remembered(_crossings, results, *_of(selection, setting, measure), level, over)


def _crossings(results: str, selection: Selection, held: _Held, measure: str, level: float, over: str) -> pd.DataFrame:
    found = _of_setting(results, selection, held, measure)
    falling = falls_along(found.frame, over, found.measure.falls)
    return thresholds(found.frame, level, over, falling, found.declared)


def started(results: str, selection: Selection, setting: Setting, measure: str, over: str) -> Levels:
    """`levels` of the same curves, kept until the store changes."""
    return remembered(_started, results, *_of(selection, setting, measure), over)


def _started(results: str, selection: Selection, held: _Held, measure: str, over: str) -> Levels:
    found = _of_setting(results, selection, held, measure)
    chosen = networks_of(found.frame, {key: value for key, value in held.values if key != RATIO})
    from analysis.figures.registry import thresholds_of  # all figures take a tenth of a second to import

    asked = asked_of(results, selection.only(chosen))
    return levels(found.frame, found.measure, over, asked, of_figures=thresholds_of(selection.sweep))


def _of(selection: Selection, setting: Setting, measure: str) -> tuple[Selection, _Held, str]:
    return selection, _Held(tuple(setting.values.items()), RATIO in setting.frame), measure


def _of_setting(results: str, selection: Selection, held: _Held, measure: str) -> Points:
    found = grouped(results, selection, measure)
    found = by_proportion(found) if held.by_proportion else found
    return found._replace(frame=found.frame[matching(found.frame, dict(held.values))])


def unmixed(results: str, selection: Selection, points: pd.DataFrame) -> str:
    """`points.unmixed` for some points of a selection."""
    return unmixed_of(points, grouped(results, selection, "unmixed"))


MOST_DIGITS = 7
"""From so many digits on a level is written as 1.20e-13."""


def format_of(step: float) -> str:
    """How a slider writes its level: with as many digits as its step has."""
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"%.{digits}f" if digits < MOST_DIGITS else "%.2e"


def level_choice(measure: Metric, found: Levels) -> float:
    """A slider for a level in the measure's own range. It starts where `levels` says until it is moved; all pages share its
    value."""
    key = "level" if measure.is_accuracy else f"level_{measure.name}"
    held, started_at = st.session_state.get(key), st.session_state.get(f"_start_of_{key}")
    value = found.start if held is None or held == started_at else float(held)
    # Assigned each time, as in `choice`: the start changes as a store grows.
    st.session_state[key] = min(max(value, found.low), found.high)
    st.session_state[f"_start_of_{key}"] = found.start
    return float(
        st.slider(
            "Target accuracy" if measure.is_accuracy else f"Target level of {measure.short}",
            found.low, found.high, step=found.step, key=key, bind="query-params", persist_state="session", width=220,
            format=format_of(found.step), help=f"At first {found.start:g}: {found.why}.",
        )
    )  # fmt: skip


def measure_choice(results: str, names: Sequence[str], **more: Any) -> str:
    """A select box of metrics. Its key and words are the same on all pages, so that the choice lasts from one to the next."""
    known = remembered(measures, results)
    return str(choice("Metric", names, key="measure", format_func=lambda key: known[key].title, **more))


def threshold_measures(results: str, selection: Selection) -> list[str]:
    """Measures of the selected networks for which a level makes a threshold: those of which higher or lower is better."""
    known = remembered(measures, results)
    return [name for name in remembered(measures_of, results, selection) if known[name].better]


def accuracy_choice(results: str, *more: str) -> str:
    """A select box of the test accuracies, and of `more` measures."""
    return measure_choice(results, (*ACCURACIES, *more), width=190)


def task_choice(results: str, classifying: bool = True, first: Callable[[str, str], list[str]] | None = None) -> Selection:
    """Select boxes of the sweep and, if there are several, of the task; `classifying` offers only tasks that have an accuracy.
    `first`: from the results and a sweep, the tasks of which one is shown first."""
    selection = sweep_choice(results)
    if classifying:
        frame = grouped(results, selection, "best_test_acc").frame
        tasks = in_order(frame, "task") if "task" in frame else []
    else:
        tasks = remembered(tasks_of, results, selection)
    if len(tasks) > 1:
        known = remembered(first, results, selection.sweep) if first and selection.sweep else []
        usual = known[0] if known and "same_different" not in known else "same_different"
        selection = selection.only({"task": choice("Task", tasks, usual, key=name("task"), width=170)})
    return selection


def lacking(results: str, page: str, found: Points, least: Mapping[str, int]) -> bool:
    """Say so, and where there are more, if the points have too few values of some keys; true if they have."""
    counts = {key: found.frame[key].nunique() if key in found.keys else 0 for key in least}
    short = [
        f"{least[key]} values of {key} (there {'is' if n == 1 else 'are'} {n})" for key, n in counts.items() if n < least[key]
    ]
    if short:
        of_tasks = f" of {', '.join(in_order(found.frame, 'task'))}" if "task" in found.keys else ""
        nothing_yet(results, page, f"it needs finished networks{of_tasks} at {' and '.join(short)}")
    return bool(short)


MOST_LINKED = 5
"""Most sweeps that are named where a page has nothing to draw of the chosen one."""


def nothing_yet(results: str, page: str, why: str) -> None:
    """Say in one sentence why the page, one of NEEDS, draws nothing. If other sweeps have networks for it, name them with links;
    else show the command that trains some."""
    known = looking(results).look(state(results)) or {}
    there = [sweep for sweep, pages in known.items() if page in pages and sweep != st.session_state.get("sweep")]
    if there:
        few = ", ".join(f"`{sweep}`" for sweep in there[:MOST_LINKED])
        more = f" and {len(there) - MOST_LINKED} more" if len(there) > MOST_LINKED else ""
        have = "has" if len(there) == 1 else "have"
        st.info(f"Nothing to draw of this choice: {why}. Choose another sweep: {few}{more} {have} what this page shows.")
        for sweep in there[:MOST_LINKED] if links else ():
            st.page_link(links[page], label=f"{PAGES[page][0]} of {sweep}", query_params={"sweep": sweep})
        return
    need = NEEDS[page]
    st.info(f"Nothing to draw yet: {why}. The grid `{need.grid}` trains some{f'; {need.others}' if need.others else ''}.")
    st.code(sweep_command(need.grid, results), language="bash", wrap_lines=True)


def rest(found: Points, axes: Iterable[str], prefer: Mapping[str, Value] | None = None, among: Points | None = None) -> Setting:
    """The points of one setting of every key but `axes`, with a select box for each that varies. `among`: the points whose
    settings are shown first, if there are any."""
    axes = list(axes)
    usual = settings_of(found.frame) | {"sigma2": 0.0, "scaling": "standard"} | dict(prefer or {})
    opening = settled(among, rest_of(found, axes), {}, prefer=usual) if among is not None and len(among.frame) else None
    return one(found, axes, usual, opening=opening, width=170)


def number(label: str, low: float, high: float, default: float, step: float, key: str, **more: Any) -> float:
    """A number box whose value lives in the URL."""
    more = {"width": 150} | more
    return float(st.number_input(label, low, high, default, step, key=key, bind="query-params", persist_state="session", **more))


MOST_DIGITS = 5


def interval_text(interval: Interval, digits: int = 2, sign: str = "") -> str:
    """Words such as `1.09 (0.85 to 1.34)`; with more digits where these would show two bounds that differ as one."""
    while digits < MOST_DIGITS and 0 < interval.high - interval.low < 2 * 10.0**-digits:
        digits += 1
    value, low, high = (f"{number:{sign}.{digits}f}" for number in interval[:3])
    return value if pd.isna(interval.low) else f"{value} ({low} to {high})"


def captioned_of(results: str, values: Mapping[str, Value]) -> str:
    """The fixed keys in words, for a caption."""
    return described(values, captioned(values, remembered(declared, results)))


def about(results: str, setting: Setting, *more: str, unmixed: str = "") -> str:
    """A caption: what is fixed, how many networks, how many of them did not mix, and more."""
    networks = ", ".join(
        filter(None, [counted(int(setting.frame["n"].sum()), "network"), unmixed, f"{n_seeds(setting.frame)} per point"])
    )
    text = "; ".join(filter(None, [captioned_of(results, setting.values), networks, *more]))
    return f"{text}."


def mean_text(mean: Interval | None) -> str:
    """Words such as `0.467 (0.46 to 0.47), n = 6`; none for no networks."""
    if mean is None:
        return ""
    around = f" ({mean.low:.4g} to {mean.high:.4g})" if mean.n > 1 else ""
    return f"{mean.value:.4g}{around}, n = {mean.n}"
