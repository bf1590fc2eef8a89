"""The chart to show first of a sweep: its main metric over the axes that suit its networks."""

from analysis.asking import asked_points, explored, look_for
from analysis.charts.explore import Choices, Explored
from analysis.data.choosing import axes_of, measured
from analysis.data.selection import Selection

WIDTH, HEIGHT = 400, 200


def headline(results: str, selection: Selection, width: int = WIDTH, height: int = HEIGHT) -> Explored | None:
    """The chart, with theory as far as it is cheap or on disk; None if no number varies among finished networks. ResultsError if
    there are more points than a chart can show."""
    if not measured(results, selection):
        return None
    points = asked_points(results, selection, None)
    if not axes_of(points).numbers:
        return None
    look = look_for(results, points, None, None, None, log_x=None, log_y=None, residual=False, width=width, height=height)
    return explored(results, selection, points, Choices(look), None)
