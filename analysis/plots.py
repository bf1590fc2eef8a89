"""Charts of results in a notebook or a script: curves beside theory, thresholds with their laws, collapses, and two arms."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal

from analysis.asked_chart import Where
from analysis.data.measures import measures
from analysis.data.selection import SEED, Value, grid_keys
from analysis.data.source import ResultsError
from analysis.drawing import AskedChart, draw
from analysis.overlays.declared import theories_in
from analysis.overlays.overlays import using
from analysis.overlays.theory import Theory
from analysis.overlays.waiting import computed, computed_within
from sweepkit.console.errors import spelled
from sweepkit.console.words import show

SINGLE = {"width": 420, "height": 260}
"""Size of a single panel in pixels. With its legend it is as wide as a page of a paper, 6 inches."""
SEVERAL = {"width": 240, "height": 180}
"""Size of each of several panels."""


class Plots:
    """The charts of `Results`. All return Altair charts: `chart.save("figure.pdf")`."""

    results: str

    @spelled
    def plot(
        self,
        x: str | None = None,
        y: str | None = None,
        by: str | None = None,
        sweep: str | None = None,
        where: Where | None = None,
        *,
        panels: str | None = None,
        centre: Literal["mean", "median"] = "mean",
        theory: bool | Callable[..., Any] | Sequence[Callable[..., Any]] = True,
        residuals: bool = True,
        intervals: bool = True,
        seeds: bool = False,
        log_x: bool | None = None,
        log_y: bool | None = None,
        wait: bool | float = 20.0,
        library: Literal["altair", "matplotlib"] = "altair",
        width: int | None = None,
        height: int | None = None,
        title: str | None = None,
    ) -> Any:
        """A chart of `y` against `x`, one curve for each value of `by`, with 95% intervals, theory and residuals.

        Without `x` the axes are those that suit the networks; `x="step"` draws a metric along training. Without `by` the curves
        differ in the parameter that suits; `by=""` draws a single curve. Parameters that are neither axes nor in `where` get one
        value, the paper's where there is one; the chart's subtitle says which. Theory that is not known yet is computed for
        `wait` seconds, or to the end with `wait=True`; values are kept on disk, and what is left out is told. `theory=[error]`
        draws functions of yours alone, whose arguments are keys: beside all networks, or beside those that `theory` of
        `analysis.study` names.

        `title`: by default the parameters that all networks share, the intervals and n; `title=""` draws none, and the chart's
        `description` still holds these words. `width` and `height` of a panel are in pixels: 96 to the inch in a PDF.

        Returns an Altair chart (`chart.save("figure.pdf")`, also .svg, .html, and .png, with more pixels by `ppi=300`),
        or with `library="matplotlib"` a matplotlib Figure, whose title and legend fit any size: `fig.set_size_inches(3.3, 2.5)`.
        """
        if library not in ("altair", "matplotlib"):
            raise ResultsError(f"library = {show(library)}: say altair, matplotlib")
        shows = theory if isinstance(theory, bool) else True
        asked = AskedChart(sweep, where, x, y, by, panels, centre, shows, residuals, intervals, seeds, log_x, log_y)
        size = _size(width, height)
        in_full = partial(computed, otherwise="wait=False leaves it out")
        compute = (in_full if wait else None) if isinstance(wait, bool) else computed_within(wait)
        with nullcontext() if isinstance(theory, bool) else using(self._theories(theory)):
            drawn, measure, look = draw(self.results, asked, compute, SINGLE | size, SEVERAL | size)
        if library == "matplotlib":
            from analysis.charts.shown.in_matplotlib import figure

            return figure(drawn.drawn, measure, look, drawn.caption, title, centre)
        return _shown(drawn.chart, drawn.caption, title)

    def _theories(self, told: Callable[..., Any] | Sequence[Callable[..., Any]]) -> list[Theory]:
        functions = [told] if callable(told) else told
        return theories_in(functions, [*measures(self.results)], [*grid_keys(self.results), SEED, "step"])

    @spelled
    def plot_threshold(
        self,
        of: str | None = None,
        over: str | None = None,
        at: float | None = None,
        y: str | None = None,
        by: str | None = None,
        sweep: str | None = None,
        where: Where | None = None,
        *,
        panels: str | None = None,
        falling: bool | None = None,
        width: int | None = None,
        height: int | None = None,
        title: str | None = None,
    ) -> Any:
        """A chart of the thresholds of `of` against `over`, such as L* against d, with 95% intervals, a fitted power law for each
        value of `by`, and the slopes that theory predicts. The numbers are those of `threshold` and `exponent`.

        What is left out is chosen: what a sweep searched for, if it did; else the parameters with most thresholds.
        `title`, `width` and `height` as for `plot`.
        """
        from analysis.figures.thresholds import AskedLaw, threshold

        asked = AskedLaw(self.results, sweep, where, of, over, y, at, by, panels, falling)
        drawn = threshold(asked, _size(width, height))
        return _shown(drawn.chart, drawn.caption, title)

    @spelled
    def plot_rescaled(
        self,
        of: str | None = None,
        over: str | None = None,
        at: float | None = None,
        y: str | None = None,
        by: str | None = None,
        sweep: str | None = None,
        where: Where | None = None,
        *,
        exponent: float | Literal["fitted", "best"] = "fitted",
        falling: bool | None = None,
        width: int | None = None,
        height: int | None = None,
        title: str | None = None,
    ) -> Any:
        """For each value of `by`, two panels: the curves over `of` at each `over` as measured, and over of / over^e, with the
        quality S of their collapse, which is near 1 if they fall together within their errors.

        `exponent`: e, by default that fitted to the thresholds; "best" is that of the least S. The rest as for `plot_threshold`.
        """
        from analysis.figures.thresholds import AskedLaw, collapse, exponent_of

        asked = AskedLaw(self.results, sweep, where, of, over, y, at, by, falling=falling)
        drawn = collapse(asked, exponent_of(exponent), _size(width, height))
        return _shown(drawn.chart, drawn.caption, title)

    @spelled
    def plot_comparison(
        self,
        key: str,
        first: Value,
        second: Value,
        x: str,
        y: str | None = None,
        by: str | None = None,
        sweep: str | None = None,
        where: Where | None = None,
        *,
        of: str | None = None,
        at: float | None = None,
        falling: bool | None = None,
        ratio: bool = False,
        width: int | None = None,
        height: int | None = None,
        title: str | None = None,
    ) -> Any:
        """A chart of what `compare` gives against `x`, one curve for each value of `by`: the difference of two arms, or the ratio
        of their means or thresholds, with 95% intervals over seeds. A dashed line marks equal arms."""
        from analysis.figures.two_arms import comparison
        from analysis.two_arms import AskedArms

        if not isinstance(by, str | None):
            raise ResultsError(f"by = {show(by)}: name one parameter, whose values tell curves apart")
        names = [x, *([by] if by else [])]
        asked = AskedArms(self.results, key, first, second, y, names, sweep, where, of, at, falling, ratio)
        drawn = comparison(asked, x, SINGLE | _size(width, height))
        return _shown(drawn.chart, drawn.caption, title)


def _size(width: int | None, height: int | None) -> dict[str, int]:
    for name, pixels in (("width", width), ("height", height)):
        if pixels is not None and (isinstance(pixels, bool) or not isinstance(pixels, int | float) or pixels < 1):
            raise ResultsError(f"{name} = {show(pixels)}: must be a number of pixels, 1 or more")
    return {name: pixels for name, pixels in (("width", width), ("height", height)) if pixels is not None}


def _shown(chart: Any, caption: str, title: str | None) -> Any:
    """The chart as a notebook shows it, below its caption or a title of one's own; none if that is empty."""
    from analysis.charts.shown.shown_chart import shown
    from analysis.charts.shown.titles import captioned, titled

    above = captioned(chart, caption) if title is None else titled(chart, title) if title else chart
    return shown(above).properties(description=caption)
