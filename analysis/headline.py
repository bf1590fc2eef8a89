"""The chart to show first of a sweep: the thresholds that it searched for, or its main metric over the axes that suit it."""

from typing import Any, NamedTuple

import pandas as pd

from analysis.asked_chart import asked_points, explored, look_for
from analysis.charts.explore import Choices
from analysis.data.choosing import axes_of, measures_of
from analysis.data.questions import asked_of
from analysis.data.selection import Selection
from analysis.scaling.growth import answering, growth

WIDTH, HEIGHT = 400, 200


class Headline(NamedTuple):
    """A chart, its data, and its caption."""

    chart: Any
    frame: pd.DataFrame
    caption: str


def headline(results: str, selection: Selection, width: int = WIDTH, height: int = HEIGHT) -> Headline | None:
    """The chart, with theory as far as it is cheap or on disk; None if no number varies among finished networks. ResultsError if
    there are more points than a chart can show."""
    if not measures_of(results, selection):
        return None
    for question in asked_of(results, selection):
        found = answering(results, selection, question)
        if found and (law := growth(found, question, width, height)):
            return Headline(law.chart, law.table, " ".join([law.caption, *(f"{one}." for one in law.laws)]))
    asked = asked_points(results, selection, None)
    if not axes_of(asked).numbers:
        return None
    look = look_for(results, asked, None, None, None, single={"width": width, "height": height})
    shown = explored(results, selection, asked, Choices(look), None)
    return Headline(shown.chart, shown.frame, shown.caption)
