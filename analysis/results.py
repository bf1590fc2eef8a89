"""Results in a notebook or a script: tables, charts beside theory, thresholds, verdicts and SQL."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pandas as pd

from analysis.asked_chart import Where, check_apart, key_named, measure_named, selected
from analysis.data.keys import ordering
from analysis.data.measures import measures
from analysis.data.points import CENTRES, points
from analysis.data.progress.coverage import sweeps
from analysis.data.selection import SEED, Value, grid_keys
from analysis.data.source import ResultsError, existing, location
from analysis.plots import Plots
from analysis.scaling.thresholds import threshold_table
from analysis.sql.statements import answer
from analysis.threshold_tables import AskedLevel
from analysis.two_arms import AskedArms
from sweepkit.console.errors import spelled
from sweepkit.console.words import listed, show
from sweepkit.declarations.metrics import STATISTICS
from sweepkit.store.sql import quoted
from sweepkit.store.views import run

__all__ = ["Results", "ResultsError"]


class Results(Plots):
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
        by: str | Sequence[str] | None = "",
        sweep: str | None = None,
        where: Where | None = None,
        falling: bool | None = None,
    ) -> pd.DataFrame:
        """The power with which the threshold of `of` grows with `over`, one row for each value of `by`: `exponent`, its 95%
        interval `low` to `high`, the number of `thresholds` that it rests on, those left out, and the theory's
        `prediction` where there is one. Other parameters that vary are held at one value, which has a column; a width that moves
        with d is held in proportion, `width/d`. NaN where fewer than three thresholds are reached: through two points every power
        law is perfect.

        `by`: one parameter or several; by default gamma, if the networks have it and neither `of` nor `over` is it. `falling` as
        for `threshold`.
        """
        law = AskedLevel(self.results, at, y, sweep, where, falling).law(of, over, by)
        _warn(law.left_out)
        return law.table()

    @spelled
    def compare(
        self,
        key: str,
        first: Value,
        second: Value,
        by: str | Sequence[str] | None = None,
        y: str | None = None,
        sweep: str | None = None,
        where: Where | None = None,
        *,
        of: str | None = None,
        over: str | None = None,
        at: float | None = None,
        falling: bool | None = None,
        ratio: bool = False,
    ) -> pd.DataFrame:
        """Networks with `key` = `first` compared with those with `key` = `second`, paired by their seeds: what a seed draws for
        both cancels. One row at each combination of `by`: `first` and `second`, their `difference`, with `ratio=True` their
        `ratio`, its 95% interval `low` to `high`, and the number of `seeds`.

        Means of `y` are compared, from pairs that agree in all other parameters; a network without a partner is left out. With
        `of="L"` the `L` are compared at which `y` reaches `at`, as for `threshold`: they are divided. With `over="d"`, too, the
        exponents of these in `d` are: first minus second, through those d at which both arms reach the level.

        `by`: one row for every configuration if it is left out; the others that vary get one value if it is named. Intervals are
        Student's t over pairs for differences of means, else the jackknife's over seeds.

        >>> r.compare("gamma", 1, "lazy", by="L", sweep="mine")  # doctest: +SKIP
        >>> r.compare("gamma", 1, 0.1, of="L", over="d", sweep="mine")  # doctest: +SKIP
        """
        names = [by] if isinstance(by, str) else list(by) if by is not None else None
        if over is not None:
            if of is None:
                raise ResultsError("over: an exponent is that of thresholds; say `of`, such as of='L'")
            names = [over, *(names or [])]
        asked = AskedArms(self.results, key, first, second, y, names, sweep, where, of, at, falling, ratio)
        return asked.table() if over is None else asked.exponents(asked.arms.axes[0])

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
