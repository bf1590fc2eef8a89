"""Figures of anyone's own sweep by name, from the options of the command line: which options each takes, and what draws it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from analysis.asked_chart import where_of
from analysis.charts.shown.sizing import sized
from analysis.data.networks.evaluations import STEP
from analysis.data.source import ResultsError
from analysis.drawing import AskedChart
from analysis.figures.drawn import Titled
from analysis.figures.names import COMPARE, CURVE, MAP, OWN, RESCALED, THRESHOLD
from analysis.figures.own import LIBRARIES, colour_map, curve
from analysis.figures.thresholds import FITTED, AskedLaw, collapse, exponent_of, threshold
from analysis.figures.two_arms import comparison
from analysis.overlays.overlays import Compute
from analysis.two_arms import AskedArms
from sweepkit.console.words import listed, nearest, show

USUAL = {"width": 420, "height": 280}
"""Size of a comparison in pixels."""


def check_options(figure: str, given: Iterable[str]) -> None:
    """ResultsError if an own figure does not take one of these options, with the figures that do."""
    lost = [option for option in given if option not in OWN[figure]]
    if not lost:
        return
    taking = [name for name, options in OWN.items() if all(option in options for option in lost)]
    whose = f"for {' and '.join(f'`{name}`' for name in taking)} only" if taking else f"not for `{figure}`"
    raise ResultsError(f"{', '.join(f'--{option}' for option in lost)}: {whose}")


def own_figure(
    figure: str, results: str, sweep: str | None, own: Mapping[str, Any], size: dict[str, int], compute: Compute
) -> Titled:
    """The figure, one of OWN, from the values of the options. ResultsError for a mistake, with what there is instead."""
    check_options(figure, [option for option, value in own.items() if value is not None])
    where = where_of(results, sweep, own["where"] or ())
    by, panels = ("" if value == "none" else value for value in (own["by"], own["panels"]))
    if figure in (CURVE, MAP):
        asked = AskedChart(
            sweep, where, own["x"], own["y"], by, panels, own["centre"] or "mean",
            theory=own["no-theory"] is None, residuals=own["no-theory"] is None and own["no-residuals"] is None,
            intervals=own["no-intervals"] is None, seeds=own["seeds"] is not None, log_x=own["log-x"], log_y=own["log-y"],
        )  # fmt: skip
        if figure == MAP:
            drawn = colour_map(results, asked)
            return drawn._replace(chart=sized(drawn.chart, **size))
        library = own["library"] or LIBRARIES[0]
        if library not in LIBRARIES:
            raise ResultsError(f"--library {library}{nearest(library, LIBRARIES) or ';'} there are {listed(LIBRARIES)}")
        return curve(results, asked, compute, library, size)
    if figure in (THRESHOLD, RESCALED):
        law = AskedLaw(results, sweep, where, own["of"], own["x"], own["y"], own["at"], by, panels)
        return threshold(law, size) if figure == THRESHOLD else collapse(law, exponent_of(own["exponent"] or FITTED), size)
    return _compared(results, sweep, where, own, by, USUAL | size)


def _compared(
    results: str, sweep: str | None, where: Any, own: Mapping[str, Any], by: str | None, size: dict[str, int]
) -> Titled:
    key, first, second = arms_of(results, sweep, own["arms"])
    x = own["x"]
    if x == STEP:
        raise ResultsError(f"--x {STEP}: arms are compared at the end of training; `{CURVE}` draws both along it, by {key}")
    if x is None:
        raise ResultsError(f"say --x: the parameter along which {key} = {show(first)} and {show(second)} are compared")
    names = [x, *([by] if by else [])]
    asked = AskedArms(
        results, key, first, second, own["y"], names, sweep, where, own["of"], own["at"], ratio=own["ratio"] is not None
    )
    return comparison(asked, x, size)


def arms_of(results: str, sweep: str | None, text: str | None) -> tuple[str, Any, Any]:
    """The parameter and the two values in words such as `gamma=1,0.1`. ResultsError for others."""
    found = re.fullmatch(r"\s*([^=]+?)\s*=\s*([^,]+?)\s*,\s*([^,]+?)\s*", text or "")
    if not found:
        said = f"--arms {text}" if text else f"`{COMPARE}` takes --arms"
        raise ResultsError(f"{said}: say a parameter and two of its values, such as --arms gamma=1,0.1")
    key, *values = found.groups()
    one, other = (where_of(results, sweep, [f"{key}={value}"])[key][0] for value in values)
    return key, one, other
