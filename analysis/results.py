"""Results in a notebook or a script: tables, charts beside theory, thresholds, verdicts and SQL."""

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from analysis.asked_chart import Where, check_apart, key_named, measure_named, selected
from analysis.data.keys import ordering
from analysis.data.measures import measures
from analysis.data.points import CENTRES, points
from analysis.data.progress.coverage import sweeps
from analysis.data.selection import SEED, grid_keys
from analysis.data.source import ResultsError, existing, location
from analysis.drawing import AskedChart, draw
from analysis.overlays.declared import theories_in
from analysis.overlays.overlays import using
from analysis.overlays.theory import Theory
from analysis.overlays.waiting import computed, computed_within
from analysis.scaling.thresholds import threshold_table
from analysis.sql.statements import answer
from analysis.threshold_tables import AskedLevel
from sweepkit.console.errors import spelled
from sweepkit.console.words import listed, show
from sweepkit.declarations.metrics import STATISTICS
from sweepkit.store.sql import quoted
from sweepkit.store.views import run

__all__ = ["Results", "ResultsError"]


SINGLE = {"width": 420, "height": 260}
"""Size of a single panel in pixels. With its legend it is as wide as a page of a paper, 6 inches."""
SEVERAL = {"width": 240, "height": 180}
"""Size of each of several panels."""


class Results:
    """The networks of a results directory or a bucket.

    Every call reads what is finished at that moment, also while sweeps run. `sweep` limits an answer to the networks of one
    sweep, and `where` to those with the given values, such as `{"d": 128, "gamma": ["lazy", 1]}`. Tables are pandas DataFrames.
    A mistake raises ResultsError, whose message says what there is.
    """

    @spelled
    def __init__(self, results: str | os.PathLike[str] = "results") -> None:
        """Open `results`: a directory, or a URI such as `s3://bucket/prefix`. ResultsError if it holds no results."""
        self.results = location(results)
        existing(self.results, "name it in Results(...)")

    def __repr__(self) -> str:
        return f"Results({self.results!r})"

    @property
    def sweeps(self) -> list[str]:
        """Names of the sweeps that have networks here."""
        return sweeps(self.results)

    @spelled
    def sql(self, query: str) -> pd.DataFrame:
        """The answer to a query in DuckDB's SQL over the views `cells`, `curves`, `neurons` and `plans`. It can only read."""
        return answer(self.results, query)

    @spelled
    def cells(self, sweep: str | None = None, where: Where | None = None) -> pd.DataFrame:
        """One row per network, failed ones included: parameters, status, metrics and origin. Columns without a value are left
        out."""
        selection = selected(self.results, sweep, where)
        sql = f"SELECT cells.* FROM {selection.source} WHERE {selection.condition}"
        return _filled(run(self.results, lambda connection: connection.execute(sql).df()))

    @spelled
    def curves(self, sweep: str | None = None, where: Where | None = None) -> pd.DataFrame:
        """One row per network and evaluation: `cell_id`, the parameters that vary, `seed`, `step` and the metrics along
        training."""
        selection = selected(self.results, sweep, where)
        cells = self.cells(sweep, where)
        varying = [key for key in grid_keys(self.results) if key in cells and cells[key].nunique(dropna=False) > 1]
        names = ", ".join(f"chosen.{quoted(key)}" for key in [*varying, SEED])
        sql = f"""SELECT cell_id, {names}, curves.* EXCLUDE (cell_id)
        FROM (SELECT cells.* FROM {selection.source} WHERE {selection.condition}) AS chosen JOIN curves USING (cell_id)
        ORDER BY {names}, cell_id, step"""
        return _filled(run(self.results, lambda connection: connection.execute(sql).df()))

    @spelled
    def points(
        self,
        x: str | None = None,
        y: str | None = None,
        by: str | Sequence[str] | None = None,
        sweep: str | None = None,
        where: Where | None = None,
        centre: Literal["mean", "median"] = "mean",
    ) -> pd.DataFrame:
        """One row per configuration, averaged over seeds only: each parameter that varies (`by` and `x` first), then `n`, `mean`,
        `median`, `sd`, `low` and `high` (the 95% interval of the `centre`), and the number that `diverged`,
        which no mean includes; n = 0 where no other network finished.

        `y`: the metric, by default the main one of these networks.
        """
        if centre not in CENTRES:
            raise ResultsError(f"centre = {show(centre)}: say {listed(CENTRES)}")
        selection = selected(self.results, sweep, where)
        found = points(self.results, selection, measure_named(self.results, y, selection), centre).with_lost()
        first = [key_named(self.results, key) for key in ((by,) if isinstance(by, str) else by or ())]
        first += [key_named(self.results, x)] if x else []
        for key in first[:-1] if x else ():
            check_apart(x=x, by=key)
        first = list(dict.fromkeys(first))
        frame = found.frame
        lacking = [key for key in first if key not in frame]
        if lacking:
            raise ResultsError(f"these networks have no {listed(lacking)}; they have {listed(found.keys)}")
        others = [key for key in found.keys if frame[key].nunique(dropna=False) > 1 and key not in first]
        order = [ordering(key, frame) for key in first]
        return frame.sort_values(order, kind="stable")[[*first, *others, *STATISTICS]].reset_index(drop=True)

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
        size = {name: pixels for name, pixels in (("width", width), ("height", height)) if pixels is not None}
        in_full = partial(computed, otherwise="wait=False leaves it out")
        compute = (in_full if wait else None) if isinstance(wait, bool) else computed_within(wait)
        with nullcontext() if isinstance(theory, bool) else using(self._theories(theory)):
            drawn, measure, look = draw(self.results, asked, compute, SINGLE | size, SEVERAL | size)
        if library == "matplotlib":
            from analysis.charts.shown.in_matplotlib import figure

            return figure(drawn.drawn, measure, look, drawn.caption, title, centre)
        from analysis.charts.shown.shown_chart import shown

        words = drawn.caption if title is None else title
        titled = {"title": _titled(words, look.width * (look.columns if look.facet else 1), title is None)} if words else {}
        return shown(drawn.chart).properties(description=drawn.caption, **titled)

    def _theories(self, told: Callable[..., Any] | Sequence[Callable[..., Any]]) -> list[Theory]:
        functions = [told] if callable(told) else told
        return theories_in(functions, [*measures(self.results)], [*grid_keys(self.results), SEED, "step"])

    @spelled
    def threshold(
        self,
        x: str = "L",
        at: float | None = None,
        y: str | None = None,
        by: Sequence[str] | str | None = None,
        sweep: str | None = None,
        where: Where | None = None,
        falling: bool | None = None,
    ) -> pd.DataFrame:
        """The `x` at which the mean of `y` crosses `at`, one row per curve: `threshold` with its 95% interval `low` to
        `high`, the number of `seeds` behind it, and its `state` (reached, not reached, already at the smallest x).

        `at`: by default the level usual for the metric. `by`: the parameters that tell curves apart; the others that vary then
        get one value, which stands in a column of its own. By default, one row for every configuration. `falling`: whether `y`
        falls to `at` as `x` grows; by default as the curves do. x = 0 has no place on a logarithmic axis, and is left out.
        """
        names = [by] if isinstance(by, str) else by
        found = AskedLevel(self.results, at, y, sweep, where, falling).thresholds(x, names)
        _warn(found.left_out)
        frame = found.rows
        keys = [key for key in frame.columns if key != "threshold"]
        keep = [key for key in keys if frame[key].nunique(dropna=False) > 1 or key in (*found.by, *found.single)]
        return threshold_table(frame, keep)

    @spelled
    def exponent(
        self,
        of: str = "L",
        over: str = "d",
        at: float | None = None,
        y: str | None = None,
        by: str | None = "",
        sweep: str | None = None,
        where: Where | None = None,
        falling: bool | None = None,
    ) -> pd.DataFrame:
        """The power with which the threshold of `of` grows with `over`, one row for each value of `by`: `exponent`, its 95%
        interval `low` to `high`, the number of `thresholds` that it rests on, those left out, and the theory's
        `prediction` where there is one. Other parameters that vary are held at one value, which has a column; a width that moves
        with d is held in proportion, `width/d`. NaN where fewer than three thresholds are reached: through two points every power
        law is perfect.

        `by`: by default gamma, if the networks have it and neither `of` nor `over` is it. `falling` as for `threshold`.
        """
        if by is not None and not isinstance(by, str):
            raise ResultsError(f"by = {show(by)}: name one parameter, such as by='gamma'; hold others by `where`")
        law = AskedLevel(self.results, at, y, sweep, where, falling).law(of, over, by)
        _warn(law.left_out)
        return law.table()

    @spelled
    def claims(self, file: str | os.PathLike[str] | None = None, *, study: str | None = None, sweep: None = None) -> pd.DataFrame:
        """One row per statement: its verdict on the networks here, the value `measured` with its interval, the number of networks
        `n` behind it, the value `expected`, and why.

        `file`: a claims file of yours. `study`: the name of one study. By default the statements of all studies.
        """
        if sweep is not None:
            raise ResultsError("claims are judged by all networks of the results: leave `sweep` out")
        from analysis.claims.check import check, claims_frame, load_claims
        from analysis.studies.loading import load

        name = None if study is None else load(study).name
        files = [] if file is None else [Path(file)]
        try:
            claims = load_claims(*files, known_measures=measures(self.results), study=name)
        except (OSError, ValueError) as error:
            raise ResultsError(str(error)) from None
        return claims_frame(check(self.results, claims))


def _warn(words: str) -> None:
    """Warn the caller of a method of Results, which `spelled` wraps."""
    if words:
        warnings.warn(words, stacklevel=4)


def _filled(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame without columns that hold no value. One without rows keeps all."""
    return frame.dropna(axis="columns", how="all") if len(frame) else frame


def _titled(words: str, width: int, is_caption: bool) -> Any:
    """Words above a chart, in lines of the chart's width; those of a caption are smaller and grey."""
    import textwrap

    import altair as alt

    if not is_caption:
        return alt.TitleParams(textwrap.wrap(words, max(30, width // 7)), anchor="start")
    lines = textwrap.wrap(words, max(40, width // 6))
    return alt.TitleParams(" ", subtitle=lines, fontSize=1, subtitleColor="#666", subtitleFontSize=11, anchor="start")
