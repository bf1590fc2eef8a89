"""Any measure against any key: points with intervals, the theory's curves, residuals."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from analysis.charts.curves import Look
from analysis.charts.explore import Choices, Explored, TooMuch, explore
from analysis.data.choosing import axes_of, fullest, having, measures_of, rest_beside, suggested, suits_log
from analysis.data.comparing import named
from analysis.data.keys import same_axis, title_of
from analysis.data.points import CENTRES, Points, in_order, task_of
from analysis.data.progress.showing import newest_of
from analysis.data.selection import Selection, Value
from analysis.python_lines import call_lines, figure_entry, plot_options
from app.choices import grouped, measure_choice
from app.controls import NONE, check_link, choice, sweep_choice, switch
from app.downloads import downloads
from app.parts.two_arms import two_arms
from app.setting_boxes import fixed
from app.shared import figure, remembered, remembered_with_theory
from app.styles import controls
from app.theory import compute_later

WIDTH, HEIGHT = 720, 400
COLUMNS = 2
"""Panels side by side."""


def show(results: str) -> None:
    """The page."""
    place = controls()
    with place:
        selection = sweep_choice(results, first=newest)
        names = remembered(measures_of, results, selection)
        measure = measure_choice(results, names) if names else ""
        points = remembered(_named, results, selection, measure) if names else None
        look = _look(points) if points is not None and axes_of(points).numbers else None
    if points is None:
        st.info("No finished networks yet. Curves come as packs finish; this page follows by itself.")
        return
    if look is None:
        st.info("No parameter that is a number has two values here. Choose another sweep, or all sweeps.")
        return
    with place:
        axes = [key for key in (look.x, look.colour, look.facet) if key]
        setting = _setting(having(points, look.x), axes, of_store=selection.sweep is None)
        choices = _choices(points, look, setting)
    try:
        found = remembered_with_theory(_explored, results, selection, measure, choices)
    except TooMuch as error:
        st.warning(f"{error}.")
        return
    if found is None:
        st.info("No networks with these values together; choose others.")
        return
    figure(found.chart, "curves")
    st.caption(found.caption)
    if on := _in_vain(choices, found):
        st.caption(f"No theory is known of this metric of these networks, so that {on}.")
    compute_later(found.missing)
    options, name = plot_options(selection, points, choices, found.drawn.points), f"{measure}-{look.x}"
    downloads(
        f"{selection.sweep}-{name}" if selection.sweep else name, found.frame, found.chart, found.sql,
        call_lines(results, "plot", options), listed=figure_entry(name, "curve", options),
    )  # fmt: skip
    if look.colour:
        common = {key: options[key] for key in ("y", "sweep", "where")}
        two_arms(results, look.colour, in_order(found.drawn.points, look.colour), axes_of_arms(look), common)
    # Streamlit would show 1.6e-12 as 0.000000000001. Values of parameters keep all digits that people write.
    digits = {str(name): 6 if name in points.keys else 4 for name in found.frame.select_dtypes("float")}
    numbers = {name: st.column_config.NumberColumn(format=f"%.{n}g") for name, n in digits.items()}
    st.dataframe(found.frame, hide_index=True, height=min(400, 38 + 35 * len(found.frame)), column_config=numbers)
    check_link(axes=axes)


def axes_of_arms(look: Look) -> list[str]:
    """The parameters along which two values of the colour are compared."""
    return [look.x, *([look.facet] if look.facet else [])]


def _in_vain(choices: Choices, found: Explored) -> str:
    """Words for the switches that are on where no theory applies; none if some does, or if they are off."""
    switches = {"Theory": choices.theory, "Residuals": choices.look.residual}
    on = [f"**{name}**" for name, is_on in switches.items() if is_on]
    drawn = [frame for frame in (found.drawn.theory, found.drawn.residuals) if frame is not None and len(frame)]
    if drawn or found.missing or not on:
        return ""
    return f"{' and '.join(on)} {'draw' if len(on) > 1 else 'draws'} nothing"


def newest(results: str) -> str | None:
    """The newest sweep that has a curve to show."""
    return newest_of(results, "curves")


def _explored(results: str, selection: Selection, measure: str, choices: Choices) -> Explored | None:
    return explore(results, selection, remembered(_named, results, selection, measure), choices)


def _named(results: str, selection: Selection, measure: str) -> Points:
    return named(grouped(results, selection, measure))


def _look(points: Points) -> Look:
    axes, title = axes_of(points), partial(title_of, task=task_of(points.frame), declared=points.declared)
    x, colour = suggested(points, axes)
    x = choice("Across", axes.numbers, x, "x", format_func=title)
    others = [key for key in axes.others if not same_axis(key, x)]
    colour = choice("Colour", [NONE, *others], colour, "colour", format_func=title)
    others = [key for key in others if not same_axis(key, colour)]
    facet = choice("Panels", [NONE, *others], NONE, "panels", format_func=title)
    small = facet != NONE
    return Look(
        x,
        None if colour == NONE else colour,
        None if facet == NONE else facet,
        width=WIDTH // COLUMNS - 20 if small else WIDTH,
        height=240 if small else HEIGHT,
        columns=COLUMNS if small else 1,
        declared=points.declared,
    )


def _setting(points: Points, axes: Sequence[str], of_store: bool) -> dict[str, Value]:
    """One value for each key that varies beside the axes; of all sweeps, first those of most networks."""
    rest = rest_beside(points, axes)
    if rest:
        st.caption("Values of the other parameters (only seeds are averaged):")
    return fixed(points, rest, places=st.columns(2), opening=fullest(points, rest, axes[0]) if of_store else None)


def _choices(points: Points, look: Look, setting: Mapping[str, Value]) -> Choices:
    left, right = st.columns(2)
    with left:
        log_x = switch("Log x", suits_log(points.frame[look.x]), f"log_{look.x}")
        intervals = switch("Intervals", True, "intervals")
        theory = switch("Theory", True, "theory")
    with right:
        log_y = switch("Log y", points.measure.logarithmic, f"log_{points.measure.name}")
        raw = switch("Each seed", False, "seeds")
        residual = switch("Residuals", True, "residuals")
    centre = choice("Centre", CENTRES, key="centre")
    return Choices(
        replace(look, log_x=log_x, log_y=log_y, residual=residual), tuple(setting.items()), centre, intervals, raw, theory
    )
