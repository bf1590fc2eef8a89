"""Words above a chart, in lines as wide as its panels."""

import textwrap
from typing import Any

import altair as alt

from analysis.charts.shown.sizing import width_of

_LETTER, _SMALL = 7, 5.5
"""Pixels of a letter of a title and of a caption, on average."""


def titled(chart: Any, words: str) -> Any:
    """The chart below a title."""
    return chart.properties(title=alt.TitleParams(textwrap.wrap(words, max(30, int(width_of(chart) / _LETTER))), anchor="start"))


def captioned(chart: Any, words: str) -> Any:
    """The chart below a caption, which is smaller and grey: what was held fixed belongs into the picture."""
    lines = textwrap.wrap(words, max(40, int(width_of(chart) / _SMALL)))
    title = alt.TitleParams(" ", subtitle=lines, fontSize=1, subtitleColor="#666", subtitleFontSize=11, anchor="start")
    inner, own = chart.copy(deep=False), getattr(chart, "title", None)
    if isinstance(own, str | list) and own:  # a chart has one title alone
        config, inner.config = chart.config, alt.Undefined
        inner = alt.vconcat(inner)
        inner.config = config
    return inner.properties(title=title)
