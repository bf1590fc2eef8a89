"""The results of one sweep: what was run, its main metric over its axes, training, a table, failures and thresholds."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from analysis.charts.along import evaluated
from analysis.data.choosing import main_measures, measures_of
from analysis.data.comparing import named
from analysis.data.keys import captioned, gamma_once, same_axis, spoken, title_of, value_of
from analysis.data.measures import measures
from analysis.data.networks.evaluations import STEP, main_and_loss
from analysis.data.networks.failures import remedy
from analysis.data.points import Points, described, numeric_keys, points
from analysis.data.progress.coverage import Progress, Reason, in_common
from analysis.data.selection import SEED, Selection, Value, axes
from analysis.data.source import ResultsError
from analysis.drawing import Answer, AskedChart, draw
from analysis.overlays.overlays import Compute
from analysis.report.facts import origins
from analysis.report.pictures import Picture, picture
from analysis.report.searched import Searched, searched
from analysis.report.table import Table, table, told_apart
from sweepkit.console.words import capital, listed
from sweepkit.declarations.metrics import METRICS
from sweepkit.store.provenance import brief
from sweepkit.store.views import declared, run

MOST_OWN = 3
"""Most charts of metrics on request: those of a user's own, then those of richness."""
FEWEST_OF_CHART = 3
"""Least number of values of a further parameter that gets a chart of its own."""
MOST_TASKS = 6
"""Most tasks of a sweep with charts of their own."""
MOST_CHARTS = 3
"""Most charts of the main metric."""
SIZE = {"width": 400, "height": 260}
TRAINING = {"width": 215, "height": 170, "columns": 3}
MOST_LISTED = 12
"""Most values of a parameter that are written out."""


class Failure(NamedTuple):
    """A reason why networks have no value, and what a person can do about it."""

    reason: Reason
    advice: str
    in_common: str
    """The parameters that these networks share and no finished network has, in words; empty if there are none."""


class OwnResults(NamedTuple):
    """The part of a report about one sweep."""

    progress: Progress
    varied: list[tuple[str, str, str]]
    """Title, name and values of each parameter that varies, the seed last."""
    fixed: str
    origins: list[dict[Hashable, Any]]
    charts: list[Picture]
    training: list[Picture]
    tables: list[Table]
    """The configurations with their main metric: a table for each metric of `main_measures`."""
    failures: list[Failure]
    searched: list[Searched]
    notes: list[str]
    """Why something is not shown."""


def own_results(results: str, progress: Progress, reasons: Sequence[Reason], compute: Compute) -> OwnResults:
    """The results of the sweep of this progress. `compute` gets theory that takes long."""
    selection, trained = Selection(progress.sweep), origins(results, progress.sweep)
    common = in_common(results, progress.sweep) if reasons else {}
    failures = [
        Failure(reason, remedy(reason.status, reason.reason, results), common.get((reason.status, reason.reason), ""))
        for reason in reasons
    ]
    held = measures_of(results, selection)
    if not held:
        varied, fixed = _settings(results, selection, None)
        return OwnResults(progress, varied, fixed, trained, [], [], [], failures, [], ["No network has finished yet."])
    notes: list[str] = []
    of_mains = main_measures(results, selection)
    mains = {name: named(points(results, of, name)) for name, of in of_mains.items()}
    found = mains[held[0]]
    varied, fixed = _settings(results, selection, [key for of_main in mains.values() for key in told_apart(of_main)])
    parts = _parts(results, of_mains, notes)
    charts = _charts(results, progress.sweep, found, held, parts, compute, notes)
    training = _training(results, selection, parts, notes)
    thresholds = searched(results, selection)
    tables = [
        table(results, selection, of_main, [name, *(one for one in held if one != name)]) for name, of_main in mains.items()
    ]
    return OwnResults(progress, varied, fixed, trained, charts, training, tables, failures, thresholds, notes)


class Part(NamedTuple):
    """Networks of a task that are judged by one metric."""

    metric: str
    selection: Selection
    task: str
    """Its task, where the sweep has several."""


def _parts(results: str, of_mains: Mapping[str, Selection], notes: list[str]) -> list[Part]:
    """Each task with the metric by which it is judged. A chart is of one task: others have other parameters."""
    found: list[Part] = []
    for metric, of in of_mains.items():
        taken = {part.task for part in found}
        tasks = [str(task) for task in axes(results, of).get("task", []) if task not in taken]
        with_value = [task for task in tasks if metric in measures_of(results, of.only({"task": [task]}))]
        found += [Part(metric, of.only({"task": [task]}), task) for task in with_value]
    if len(found) < 2:
        return [Part(metric, of, "") for metric, of in of_mains.items()]
    if left := [part.task for part in found[MOST_TASKS:]]:
        notes.append(f"Charts are of {MOST_TASKS} tasks; further ones: {listed(left)}.")
    return found[:MOST_TASKS]


def _settings(results: str, selection: Selection, differ: Sequence[str] | None) -> tuple[list[tuple[str, str, str]], str]:
    """The parameters that vary, and words for the others. differ: those that tell finished networks apart, None if none has
    finished."""
    known = declared(results)
    found = axes(results, selection)
    names = gamma_once(found, found)
    sql = f"SELECT list(DISTINCT {SEED} ORDER BY {SEED}) FROM {selection.source} WHERE {selection.condition}"
    seeds = (run(results, lambda connection: connection.execute(sql).fetchone()) or ([],))[0] or []
    tasks = found.get("task", [])
    task = str(tasks[0]) if len(tasks) == 1 else None
    several = [key for key in captioned(names, known) if len(found[key]) > 1]
    if differ is not None:  # a key that only some networks have is no axis if these agree in it
        several = [key for key in several if key in differ or None not in found[key]]
    varied = [(title_of(key, task, known), key, _written(key, found[key])) for key in several]
    if len(seeds) > 1:
        varied.append(("seed", SEED, _written(SEED, seeds)))
    fixed = described({key: found[key][0] for key in captioned(names, known) if len(found[key]) == 1})
    return [(title, spoken(key), text) for title, key, text in varied], fixed


def _written(key: str, values: Sequence[Value]) -> str:
    texts = ["not set" if value is None and key != "loss" else value_of(key, value) for value in values]
    if len(texts) <= MOST_LISTED:
        return ", ".join(texts)
    return f"{', '.join(texts[:4])}, ..., {', '.join(texts[-2:])} ({len(texts)} values)"


def _charts(
    results: str,
    sweep: str,
    found: Points,
    held: Sequence[str],
    parts: Sequence[Part],
    compute: Compute,
    notes: list[str],
) -> list[Picture]:
    """The main metric of each part over its main axes; then metrics on request, and the main metric over further parameters that
    vary."""
    known = measures(results)
    # The chart of a single task chooses its metric itself: another main one if no number varies among networks with the first.
    chosen = [part.metric if part.task or k else None for k, part in enumerate(parts)]
    asked = [AskedChart(sweep, dict(part.selection.where), y=y, suited=True) for part, y in zip(parts, chosen, strict=True)]
    drawn_ones = [(part, one) for part, each in zip(parts, asked, strict=True) if (one := _drawn(results, each, compute, notes))]
    if not drawn_ones:
        return []
    pictures = [_picture(one, sweep, part.task) for part, one in drawn_ones]
    first = drawn_ones[0][1]
    shown_ones = {key for _, one in drawn_ones for key in (one.look.x, one.look.colour, one.look.facet)}
    same_axes = AskedChart(sweep, x=first.look.x, by=first.look.colour or "", panels=first.look.facet or "")
    requested = [name for name in held[1:] if name not in METRICS and name in known]
    for name in sorted(requested, key=lambda name: not known[name].digest)[:MOST_OWN]:  # those of a user's own file first
        drawn = _drawn(results, replace(same_axes, y=name), compute, notes)
        pictures += [_picture(drawn, sweep)] if drawn else []
    others = [key for key in numeric_keys(found) if not any(other and same_axis(key, other) for other in shown_ones)]
    for key in [key for key in others if found.frame[key].nunique() >= FEWEST_OF_CHART][: MOST_CHARTS - 1]:
        drawn = _drawn(results, AskedChart(sweep, x=key), compute, notes)
        if drawn and drawn.explored.drawn.points[key].nunique() >= FEWEST_OF_CHART:
            pictures.append(_picture(drawn, sweep))
    return pictures


def _drawn(results: str, asked: AskedChart, compute: Compute | None, notes: list[str]) -> Answer | None:
    try:
        return draw(results, asked, compute, single=SIZE, several=TRAINING if asked.x == STEP else None)
    except ResultsError as error:
        notes.append(f"{capital(str(error))}.")
        return None


def _picture(answer: Answer, sweep: str, of: str = "") -> Picture:
    """A chart with its caption; `of` names the task of its networks, where there are several."""
    explored, measure, look = answer
    name = "-".join(filter(None, [sweep, measure.name, look.x, of]))
    title = f"{answer.title}, {of}" if of else answer.title
    return picture(title, explored.chart, explored.frame, explored.caption, name, explored.sql)


def _training(results: str, selection: Selection, parts: Sequence[Part], notes: list[str]) -> list[Picture]:
    """The main metric along training, and the loss, of each part."""
    if not evaluated(results, selection):
        notes.append("No training curve was saved: `save: [curves]` in a grid keeps them.")
        return []
    asked = [
        (part, AskedChart(selection.sweep, dict(part.selection.where), x=STEP, y=name, suited=True))
        for part in parts
        for name in main_and_loss(evaluated(results, part.selection))
    ]
    drawn = [(part, one) for part, each in asked if (one := _drawn(results, each, None, notes))]
    return [_picture(one, str(selection.sweep), part.task) for part, one in drawn]


def described_origins(trained: Sequence[dict[Hashable, Any]]) -> str:
    """Words for the machines, engines and versions behind a sweep."""
    if not trained:
        return ""
    each = {
        name: list(dict.fromkeys(str(origin[name]) for origin in trained if origin[name] and not pd.isna(origin[name])))
        for name in ("engine", "device", "host", "science_version", "git_sha")
    }
    each["git_sha"] = list(map(brief, each["git_sha"]))
    words = {"engine": "engine", "device": "on", "host": "of", "science_version": "science version", "git_sha": "code"}
    return ", ".join(f"{words[name]} {listed(values)}" for name, values in each.items() if values)
