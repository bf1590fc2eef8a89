"""Two values of the colour compared, a part of the pages Curves and Scaling: their difference or ratio, paired by seed."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from analysis.data.keys import spoken, value_of
from analysis.data.selection import Value
from analysis.data.source import ResultsError
from analysis.figures.drawn import Titled
from analysis.figures.two_arms import comparison
from analysis.python_lines import call_lines, figure_entry
from analysis.two_arms import AskedArms
from app.controls import choice, switch
from app.downloads import downloads
from app.shared import figure, remembered
from sweepkit.console.words import capital

SIZE = {"width": 520, "height": 260}


def two_arms(
    results: str,
    colour: str,
    values: Sequence[Value],
    axes: Sequence[str],
    common: Mapping[str, Any],
    of_thresholds: bool = False,
) -> None:
    """A switch, and below it the comparison of two values of `colour` along the first of `axes`.

    common: `y`, `sweep` and `where` of the page, and for thresholds `of` and `at`, as `Results.plot_comparison` takes them.
    """
    if len(values) < 2 or not switch(f"Compare two {spoken(colour)}", False, "compare"):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = choice("First", values, values[-1], key=f"first_{colour}", format_func=lambda v: value_of(colour, v), width=140)
        others = [value for value in values if value != first]
        second = choice("Second", others, others[0], key=f"second_{colour}", format_func=lambda v: value_of(colour, v), width=140)
        ratio = False if of_thresholds else switch("Ratio", False, "ratio", help="Means divided, in place of their difference.")
    asked: dict[str, Any] = {"key": spoken(colour), "first": first, "second": second, **common, "ratio": ratio}
    try:
        drawn = remembered(_comparison, results, tuple(axes), _hashable(asked))
    except ResultsError as error:
        st.info(f"{capital(str(error))}.")
        return
    figure(drawn.chart, "compared")
    st.caption(drawn.caption)
    options = asked | {"x": axes[0], "by": spoken(axes[1]) if axes[1:] else None}
    listed = figure_entry("compare", "compare", {k: v for k, v in options.items() if k not in ("key", "first", "second") and v})
    listed["arms"] = f"{spoken(colour)}={first},{second}"
    downloads(drawn.name, drawn.frame, drawn.chart, python=call_lines(results, "plot_comparison", options), listed=listed)


def _hashable(asked: Mapping[str, Any]) -> tuple[Any, ...]:
    where = tuple((key, tuple(value) if isinstance(value, list) else value) for key, value in asked["where"].items())
    return tuple({**asked, "where": where}.items())


def _comparison(results: str, axes: tuple[str, ...], asked: tuple[Any, ...]) -> Titled:
    options = dict(asked)
    where = {key: list(value) if isinstance(value, tuple) else value for key, value in options.pop("where")}
    return comparison(AskedArms(results, by=[*map(spoken, axes)], where=where, **options), spoken(axes[0]), dict(SIZE))
