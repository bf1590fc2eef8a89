"""Templates of strings: the error on symbols never seen against the training strings, for each network, beside the theory."""

from typing import Any

import streamlit as st

from analysis.charts.curves import Look, curves_chart
from analysis.data.points import Points, averaged, numeric_keys
from analysis.data.questions import asked_of
from analysis.data.selection import axes
from analysis.overlays import overlays
from analysis.python_lines import sql_lines
from analysis.scaling.levels import levels
from analysis.scaling.thresholds import threshold_table, thresholds, without_infinite
from app.choices import captioned_of, level_choice, measure_choice, nothing_yet, points_of, rest, threshold_measures
from app.controls import NONE, check_link, choice, sweep_choice
from app.downloads import downloads
from app.setting_boxes import name
from app.shared import figure, remembered
from app.styles import controls_above
from app.theory import compute_later
from sweepkit.declarations.metrics import STATISTICS

from ..by_network import DECLARED, KINDS, LEVEL, OVER, SERIES, ByNetwork, by_network, caption, of_task

TASKS = ("template", "symbolic_template")
FIRST = {"task": TASKS[0], "template": "aba/abb"}
"""The choices to begin with, if they are there."""
MEASURES = ("test_mse", "picked_test_acc")
"""The measures of [Boix23], which stand first."""
STATE = 190
"""Pixels of the column that tells whether a level is reached: a browser would make it as wide as its title."""
NEEDED = "it needs networks on strings of one set of templates at two P"


def show(results: str) -> None:
    """The page."""
    place = controls_above()
    with place:
        selection = sweep_choice(results)
        for key, title in (("task", "Task"), ("template", "Template")):
            known = remembered(axes, results, selection).get(key, [])
            values = [value for value in known if value in TASKS] if key == "task" else known
            if not values:
                nothing_yet(results, "relations", NEEDED)
                return
            selection = selection.only({key: choice(title, values, FIRST[key], key=name(key), width=170)})
        asked = remembered(asked_of, results, selection)
        searched = [question.metric for question in asked if question.axis == OVER]
        offered = threshold_measures(results, selection)
        first = [one for one in (*searched, *MEASURES) if one in offered]
        measure = measure_choice(results, list(dict.fromkeys([*first, *offered])), width=190)
    found = points_of(results, selection, measure)
    with place:
        panels = _panels(found)
        own = of_task(found) - {OVER, panels}
        frame = rest(found, [key for key in found.keys if key not in own]).frame
    drawn = by_network(found._replace(frame=frame), selection, panels)
    if drawn.frame.empty:
        nothing_yet(results, "relations", NEEDED)
        return
    with place:
        level = level_choice(found.measure, levels(drawn.frame, found.measure, OVER, asked, LEVEL))
    beside = overlays.beside(drawn.frame, measure, wait=False)
    by = [] if panels is None else [panels]
    theory = overlays.curves(drawn.frame, measure, OVER, by, wait=False)
    width, height = (560, 340) if panels is None else (330, 230)
    look = Look(OVER, SERIES, panels, True, level=level, width=width, height=height, columns=2, kinds=KINDS, declared=DECLARED)
    chart = curves_chart(drawn.frame, found.measure, look, theory)
    figure(chart)
    fixed = captioned_of(results, {key: frame[key].iloc[0] for key in found.keys if key in own and frame[key].nunique() == 1})
    st.caption(caption(drawn, *filter(None, [fixed]), averaged(drawn.frame), f"dashed: {level:g}"))
    sql = ";\n\n".join(drawn.queries)
    numbers = overlays.joined(drawn.frame[[SERIES, *by, OVER, *STATISTICS]], beside.values)
    downloads("relations", numbers, chart, sql, sql_lines(results, found.sql))
    _suffices(drawn, found, by, level)
    compute_later(beside.missing)
    check_link(name("template"))


def _panels(found: Points) -> str | None:
    """The key of which each value gets a panel of its own."""
    keys = [key for key in numeric_keys(found) if key != OVER]
    chosen = choice("Panels", [NONE, *keys], NONE, key="panels", width=170)
    return None if chosen == NONE else str(chosen)


def _suffices(drawn: ByNetwork, found: Points, by: list[str], level: float) -> None:
    """The table of the P at which each network reaches the level."""
    found_at = thresholds(drawn.frame, level, OVER, found.measure.falls, found.declared)
    table = threshold_table(found_at, [SERIES, *by]).sort_values(
        SERIES, key=lambda names: names.map(list(drawn.told).index), kind="stable"
    )
    shown = without_infinite(table).rename(columns={"threshold": OVER, "smallest x": "P from", "largest x": "to"})
    shown["state"] = shown["state"].replace("already at the smallest x", f"already at the smallest {OVER}")
    columns: dict[str, Any] = {column: st.column_config.NumberColumn(format="%.4g") for column in (OVER, "low", "high")}
    columns["state"] = st.column_config.TextColumn(width=STATE)
    st.subheader(
        "The P that suffices", anchor=False, help=f"Where the mean {found.measure.short} is {level:g}, with its 95% interval"
    )
    st.dataframe(shown, hide_index=True, width="content", column_config=columns, placeholder="")
    downloads("relations-thresholds", table)
