"""Charts by name: any metric against any parameter or along training, as Python, the command line and reports ask for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from analysis.asked_chart import Where, asked_points, explored, key_named, look_for, selected
from analysis.charts.along import MOST_PANELS, along, evaluated, points_along, tasks_without_along
from analysis.charts.captions import others_told, setting_told, tasks_told
from analysis.charts.curves import Look
from analysis.charts.explore import Choices, Explored, narrowed
from analysis.data.choosing import axes_of, main_measures, rest_of, settled, suggested
from analysis.data.comparing import fitting, named, of_commonest_version
from analysis.data.keys import with_gamma
from analysis.data.networks.evaluations import STEP
from analysis.data.points import CENTRES, Points
from analysis.data.selection import Selection, grid_keys
from analysis.data.source import ResultsError
from analysis.overlays.overlays import Compute
from sweepkit.console.words import capital, listed, nearest, show
from sweepkit.declarations.columns import Metric


@dataclass(frozen=True)
class AskedChart:
    """A chart as people ask for it: None where they leave the choice to what suits the networks."""

    sweep: str | None = None
    where: Where | None = None
    x: str | None = None
    """A parameter that is a number, or `step` for a chart along training."""
    y: str | None = None
    by: str | None = None
    """The parameter that tells curves apart; empty for a single curve."""
    panels: str | None = None
    """The parameter with a panel for each value; empty for a single panel."""
    centre: str = "mean"
    theory: bool = True
    residuals: bool = True
    intervals: bool = True
    seeds: bool = False
    log_x: bool | None = None
    log_y: bool | None = None
    suited: bool = False
    """If true, panels are chosen too where neither `x` nor `panels` is named."""


class Answer(NamedTuple):
    """A chart with its data, the metric that it shows, and its axes."""

    explored: Explored
    measure: Metric
    look: Look

    @property
    def title(self) -> str:
        """`Best test accuracy against input dimension d`, `Training loss along training`."""
        look = self.look
        along = "along training" if look.x == STEP else f"against {look.title_of(look.x, self.explored.drawn.points)}"
        return f"{capital(self.measure.title)} {along}"


def draw(
    results: str,
    asked: AskedChart,
    compute: Compute | None,
    single: Mapping[str, int] | None = None,
    several: Mapping[str, int] | None = None,
) -> Answer:
    """The chart that was asked for. `compute` gets theory that is not on disk yet; None leaves it out.

    single, several: `width` and `height` in pixels of one panel, and of each of several, with their number of `columns`.
    ResultsError with the names that there are, for a mistake.
    """
    if asked.centre not in CENTRES:
        raise ResultsError(f"centre = {show(asked.centre)}{nearest(asked.centre, CENTRES) or ';'} say {listed(CENTRES)}")
    selection = selected(results, asked.sweep, asked.where)
    if asked.x == STEP:
        return _along_training(results, selection, asked, single or {}, several or {})
    points = asked_points(results, selection, asked.y)
    if asked.x is None and asked.y is None and not axes_of(points).numbers:  # another main metric may have some
        every = (asked_points(results, of, name) for name, of in main_measures(results, selection).items())
        points = next((one for one in every if axes_of(one).numbers), points)
    look = look_for(
        results, points, asked.x, asked.by, asked.panels, log_x=asked.log_x, log_y=asked.log_y, residual=asked.residuals,
        suited=asked.suited, single=single, several=several,
    )  # fmt: skip
    choices = Choices(look, (), asked.centre, asked.intervals, asked.seeds, asked.theory)
    return Answer(explored(results, selection, points, choices, compute), points.measure, look)


def _along_training(
    results: str, selection: Selection, asked: AskedChart, single: Mapping[str, int], several: Mapping[str, int]
) -> Answer:
    """The chart whose abscissa is the training step; by default one curve for each value of the main parameter."""
    held = evaluated(results, selection)
    if not held:
        raise ResultsError("no curve of these networks was saved: `save: [curves]` in a grid keeps them")
    name = asked.y or next(iter(held))
    if name not in held:
        raise ResultsError(f"no {show(name)} along training{nearest(name, held) or ';'} there are {listed(held)}")
    metric = held[name]
    points = named(points_along(results, selection, metric))
    by, panels = _axes_along(results, points, asked)
    axes = [key for key in (by, panels) if key]
    if lacking := [key for key in axes if key not in points.keys]:
        raise ResultsError(f"these networks have no {listed(lacking)}; they differ in {listed(axes_of(points).others)}")
    setting = settled(points, rest_of(points, axes), {})
    frame = of_commonest_version(points.frame[fitting(points.frame, setting, points.declared)])
    chosen = narrowed(selection, frame, setting)
    log_y = asked.log_y if asked.log_y is not None else metric.logarithmic
    size = {"width": 300, "height": 210, "columns": 2} | dict(several) if panels else dict(single)
    options: dict[str, Any] = {"log_x": bool(asked.log_x), "log_y": log_y, "declared": points.declared, **size}
    look = Look(STEP, by, panels, **options)
    sizes = [key for key in ("test_size",) if key in grid_keys(results)]
    same = {key: frame[key].dropna().iloc[0] for key in points.keys if key not in axes and frame[key].nunique() == 1}
    told, _ = setting_told(points, frame, setting, axes, selection)
    missing = others_told(points, frame, setting)
    if selection.sweep:
        missing += tasks_told(tasks_without_along(results, selection, metric), f"a saved curve of {metric.title}")
    whole = same | setting if asked.theory else None
    columns = list(dict.fromkeys([*with_gamma(axes), *sizes]))
    found = along(results, chosen, metric, look, columns, told, missing, asked.centre, asked.intervals, whole)
    if found is None:
        raise ResultsError(f"no finite value of {name} along training")
    return Answer(found, metric, look)


def _axes_along(results: str, points: Points, asked: AskedChart) -> tuple[str | None, str | None]:
    """The parameters for curves and for panels along training: those named, else the axes of the chart at the end of training."""
    offered = axes_of(points)
    x, colour = suggested(points, offered) if offered.numbers else (None, next(iter(offered.others), None))
    x = "gamma_label" if x == "gamma" and "gamma_label" in points.keys else x
    by = x or colour if asked.by is None else key_named(results, asked.by) if asked.by else None
    if asked.panels is not None:
        return by, key_named(results, asked.panels) if asked.panels else None
    other = colour if by == x else x
    few = other is not None and points.frame[other].nunique(dropna=False) <= MOST_PANELS
    return by, other if asked.suited and few and other != by else None
