"""Points of measured curves: each stands for networks that differ in their seed only, aggregated by DuckDB, with an interval."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.keys import gamma_once, is_label, spoken, value_of
from analysis.data.measures import measures
from analysis.data.parts import are_at_equilibrium
from analysis.data.selection import SEED, VERSION, Selection, Value, finite, grid_keys, points_sql
from analysis.data.usual import LABELS, USUAL, filled, settings
from sweepkit.console.words import counted
from sweepkit.declarations.columns import Column, Key, Metric
from sweepkit.declarations.keys import KEYS, LEFT_OUT
from sweepkit.declarations.metrics import SEEDS, STATISTICS
from sweepkit.stats import (
    FEW,
    LEAST_MEDIAN,
    Interval,
    mean_interval,
    mean_intervals,
    median_interval,
    t_intervals,
    ties_of_shares,
)
from sweepkit.store.sql import quoted
from sweepkit.store.views import declared, run


class Points(NamedTuple):
    """Points: one row each, with STATISTICS and its keys (all but the seed and those that no point has)."""

    frame: pd.DataFrame
    keys: list[str]
    measure: Metric
    sql: str
    declared: Mapping[str, Column] = KEYS
    """The columns of the store."""
    lost: pd.DataFrame = pd.DataFrame()
    """Rows with n = 0: of their networks none finished, and some diverged."""

    def with_lost(self) -> "Points":
        """The points, and last those that are `lost`."""
        if self.lost.empty:
            return self
        lost = self.lost.dropna(axis="columns", how="all")
        keys = [key for key in map(str, self.lost) if key in self.keys or (key in lost and key not in {*STATISTICS, SEEDS})]
        return self._replace(frame=pd.concat([self.frame, lost], ignore_index=True), keys=keys)


CENTRES = ("mean", "median")
"""The statistics that a point can show of its networks, each with its own interval."""


def points(results: str, selection: Selection, measure: str = "best_test_acc", centre: str = "mean") -> Points:
    """All points of a selection; an empty frame if there are none. KeyError for an unknown measure."""
    found = groups(results, selection, measure)
    return found._replace(frame=with_intervals(found.frame, found.measure, centre))


def groups(results: str, selection: Selection, measure: str | Metric = "best_test_acc") -> Points:
    """The points of a selection before their interval is computed: with `seeds`, a list of values, in place of `low` and `high`.

    `with_intervals` computes the interval of these groups, or of some of them.
    """
    what = measures(results)[measure] if isinstance(measure, str) else measure
    keys = grid_keys(results)
    sql = points_sql(selection, what, keys, LEAST_MEDIAN)
    frame = run(results, lambda connection: connection.execute(sql).df())
    frame = frame[[*keys, "n", "mean", "median", "sd", "seeds", "diverged"]].sort_values(sorting(keys))
    there, lost = (frame[rows].reset_index(drop=True) for rows in (frame["n"] > 0, frame["n"] == 0))
    empty = [key for key in keys if there[key].isna().all()]
    return Points(there.drop(columns=empty), [key for key in keys if key not in empty], what, sql, declared(results), lost)


def with_intervals(frame: pd.DataFrame, measure: Metric, centre: str = "mean", resampled: int | None = None) -> pd.DataFrame:
    """Groups with the 95% interval of their mean or median, without their seeds.

    `resampled`: the most values of a group for which the bootstrap is worth its time, where Student's t serves as well.
    """
    bounds = (measure.low, measure.high)
    if centre == "median":
        low, high = np.full((2, len(frame)), np.nan)
        for i in np.flatnonzero(frame["n"] >= LEAST_MEDIAN):
            _, low[i], high[i], *_ = median_interval(frame["seeds"].iloc[i])
    else:
        means, sds = frame["mean"].to_numpy(float), frame["sd"].to_numpy(float)
        ties = sd_of_ties(measure, means, test_sizes(frame, measure))
        low, high = t_intervals(means, np.where(sds == 0, ties, sds), frame["n"].to_numpy(), bounds=bounds)
        # Many seeds: the bootstrap, which does not assume a normal distribution.
        many = np.flatnonzero((frame["n"] >= FEW) & (frame["n"] <= (resampled or np.inf)) & (sds > 0))
        low[many], high[many] = mean_intervals([frame["seeds"].iloc[i] for i in many], bounds)
    return frame.drop(columns="seeds").assign(low=low, high=high)


def sd_of_ties(measure: Metric, mean: Any, test_size: Any) -> Any:
    """Standard deviation to take for seeds with equal values: for an accuracy the binomial error of one evaluation, else 0."""
    if not measure.is_accuracy:
        return np.zeros_like(mean)
    return ties_of_shares(mean, test_size)


def test_sizes(frame: pd.DataFrame, measure: Metric) -> Any:
    """Number of test examples behind the measure of each point's networks; the usual number where it is not known."""
    told = pd.Series(np.nan, frame.index)
    for key in ("final_test_size", "test_size") if measure.name.startswith("final_") else ("test_size",):
        if key in frame:
            told = told.fillna(frame[key].astype(float))
    return told.fillna(USUAL["test_size"]).to_numpy()


def sorting(keys: Iterable[str]) -> list[str]:
    """The keys in the order to sort by, with `gamma_label` last: it is text, and gamma gives the order."""
    return sorted(keys, key=lambda key: key == "gamma_label")


def seeds(
    results: str, selection: Selection, measure: str | None, keys: Sequence[str], with_diverged: bool = False
) -> pd.DataFrame:
    """The raw values: one row per network with its keys, `seed`, `cell_id` and `value`, which is 0 if no measure is named.

    Networks that diverged are left out, or have the value inf.
    """
    value = measures(results)[measure].sql if measure else "0::DOUBLE"
    names = ", ".join(map(quoted, [*keys, SEED]))
    kept, shown = f"status = 'ok' AND isfinite({value})", value
    if with_diverged:
        kept, shown = f"({kept} OR status = 'diverged')", f"if(status = 'diverged', 'inf'::DOUBLE, {value})"
    sql = (
        f"SELECT cell_id, {names}, {shown} AS value FROM {selection.source} "
        f"WHERE {selection.condition} AND {kept} ORDER BY {names}"
    )
    return run(results, lambda connection: connection.execute(sql).df())


def varying(frame: pd.DataFrame, keys: Iterable[str]) -> list[str]:
    """Keys with more than one value. `gamma` is left out beside its label, which is one for the lazy networks of all d."""
    return [key for key in gamma_once(keys, frame) if frame[key].nunique(dropna=False) > 1]


def in_order(frame: pd.DataFrame, key: str) -> list[Any]:
    """The values of a key as a legend lists them: numbers by size and then words, gamma's labels by
    gamma."""
    if key == "gamma_label":
        return list(dict.fromkeys(frame.sort_values("gamma")["gamma_label"]))
    return sorted(frame[key].dropna().unique().tolist(), key=_size)


def _size(value: Any) -> tuple[bool, float, Any]:
    """Where a value stands among others: numbers by size, also where they are text, then words."""
    try:
        return False, float(value), value
    except ValueError:
        return True, 0.0, value


def numeric_keys(found: Points) -> list[str]:
    """Keys with several values, all of them numbers above 0: they can be logarithmic axes."""
    columns = {key: found.frame[key].dropna() for key in found.keys}
    return [k for k, c in columns.items() if pd.api.types.is_numeric_dtype(c) and c.nunique() > 1 and (c > 0).all()]


def grouping_keys(found: Points, *taken: str) -> list[str]:
    """Keys with several values that can tell curves apart, without the keys already taken: labels first."""
    others = [key for key in varying(found.frame, found.keys) if key not in taken]
    return sorted(others, key=lambda key: not is_label(key, found.declared))


class Setting(NamedTuple):
    """The part of some points in which nothing varies but the axes of a figure."""

    frame: pd.DataFrame
    values: dict[str, Value]
    others: int
    """Number of further settings that have points."""


def one_setting(
    frame: pd.DataFrame,
    keys: Iterable[str],
    axes: Iterable[str],
    prefer: Mapping[str, Value] | None = None,
    declared: Mapping[str, Column] = KEYS,
) -> Setting:
    """The points of one setting of all keys but `axes`; `declared` are the columns of their store.

    Ranks settings by: number of varying axes; nearness to `prefer`; other keys at their defaults; newest version of the code;
    number of points; number of networks. The first is taken. ValueError for an empty frame.
    """
    if frame.empty:
        raise ValueError("no points to choose a setting of")
    axes = {*axes} | ({"gamma_label"} if "gamma" in {*axes} else set())
    rest = [key for key in gamma_once(keys, frame) if key not in axes]
    if not rest:
        return Setting(frame, {}, 0)
    groups = list(frame.groupby(rest, dropna=False, sort=True))

    wanted = {key: value for key, value in (prefer or {}).items() if key in rest}

    def rank(group: tuple[Any, pd.DataFrame]) -> tuple[int, int, int, tuple[int, ...], int, int]:
        spanned = sum(group[1][axis].nunique() > 1 for axis in axes if axis in group[1])  # a single point shows no curve
        held = {key: value for key, value in zip(rest, group[0], strict=True) if not pd.isna(value)}
        whole = filled(held)
        near = sum(key in whole and whole[key] == value for key, value in wanted.items())
        unusual = sum(_is_unusual(key, held, declared.get(key), whole) for key in held.keys() - wanted.keys())
        return spanned, near, -unusual, _release(held.get(VERSION)), len(group[1]), int(group[1]["n"].sum())

    chosen, part = max(groups, key=rank)
    values: dict[str, Any] = dict(zip(rest, chosen, strict=True))
    plain = {key: None if pd.isna(value) else _plain(value) for key, value in values.items()}
    return Setting(part.reset_index(drop=True), plain, len(groups) - 1)


def _is_unusual(key: str, held: Mapping[str, Any], column: Column | None, whole: Mapping[str, Any]) -> bool:
    """True if a network's key differs from the default that its network or training declares. A key without such a default counts
    as different if it is of LEFT_OUT: rows hold those only if they differ from the task's default."""
    default = _default(column, whole)
    return key in LEFT_OUT if default is None else bool(held[key] != default)


def _default(column: Column | None, whole: Mapping[str, Any]) -> Value:
    """The default that the network or the training of a network with these keys declares for a key; None if it has none."""
    return column.default if isinstance(column, Key) and whole.get(column.part) in column.of else None


def unusual(values: Mapping[str, Any], declared: Mapping[str, Column] = KEYS) -> dict[str, Any]:
    """The keys of a setting that have a value other than the default that its network or training declares."""
    held = {key: value for key, value in values.items() if value is not None}
    whole = filled(held)
    return {key: value for key, value in held.items() if value != _default(declared.get(key), whole)}


def not_default(held: Mapping[str, Any], declared: Mapping[str, Column] = KEYS) -> list[str]:
    """The keys of a setting, all with a value, that differ from the default of their network or training, where they have one."""
    whole = filled(held)
    return [key for key in held if isinstance(declared.get(key), Key) and _is_unusual(key, held, declared.get(key), whole)]


def _release(version: object) -> tuple[int, ...]:
    """The numbers in a version such as `3` or `langevin 2, 3+1f0a`. Digests of files have no order, and are left out."""
    releases = (re.fullmatch(r"(?:.* )?(\d{1,7})", part.partition("+")[0]) for part in str(version).split(", "))
    return tuple(int(found[1]) for found in releases if found)


def _plain(value: Any) -> Value:
    return value.item() if isinstance(value, np.generic) else value


def described(values: Mapping[str, Any], only: Iterable[str] | None = None) -> str:
    """Words such as `d = 256, gamma = lazy`; keys without a value are left out, and the number of a gamma that has a label."""
    names = [name for name in (values if only is None else only) if name in values and values[name] is not None]
    return ", ".join(f"{spoken(name)} = {value_of(name, values[name])}" for name in names if f"{name}_label" not in names)


def n_seeds(frame: pd.DataFrame) -> str:
    """Words such as `6 seeds`, `3 to 6 seeds` or `1 seed`, for the seeds of a point."""
    least, most = int(frame["n"].min()), int(frame["n"].max())
    return counted(least, "seed") if least == most else f"{least} to {most} seeds"


def unmixed(points: pd.DataFrame, told: Points) -> str:
    """Words such as `3 of which did not mix`, about the networks of points; empty if all of them mixed or are not at equilibrium.

    told: the points of the measure `unmixed`.
    """
    keys = [key for key in told.keys if key in points]
    if told.frame.empty or not keys:
        return ""
    found = points[keys].drop_duplicates().merge(told.frame, on=keys)
    n = round(float((found["mean"] * found["n"]).sum()))
    return f"{n} of which did not mix" if n else ""


def averaged(data: pd.DataFrame, centre: str = "mean", intervals: bool = True) -> str:
    """Words for each point, such as `mean over 6 seeds per point with its 95% interval`; a single network has no interval."""
    if data["n"].max() == 1:
        return "1 seed per point, without an interval" if intervals else "1 seed per point"
    return f"{centre} over {n_seeds(data)} per point" + (
        " with its 95% interval" if intervals and data["low"].notna().any() else ""
    )


def task_of(frame: pd.DataFrame) -> str | None:
    """The task of some points; None if they have several."""
    tasks: Sequence[Any] = list(frame["task"].dropna().unique()) if "task" in frame else []
    return str(tasks[0]) if len(tasks) == 1 else None


def least_accuracy(frame: pd.DataFrame) -> float:
    """The low end of a range of accuracies: chance where it is known, else 1/2 or the least mean, if that is less."""
    return 0.5 if task_of(frame) in LABELS else min(0.5, float(frame["mean"].min()))


def settings_of(frame: pd.DataFrame) -> dict[str, Any]:
    """The settings of the task of some networks that are preferred."""
    return settings(task_of(frame), are_at_equilibrium(frame))


def means_of(results: str, cell_ids: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Interval]:
    """Mean and interval over some networks, by measure; measures without a value are left out."""
    known = measures(results)
    values = [finite("list", known[name].sql) for name in names]
    sql = f"SELECT {', '.join(values)} FROM cells WHERE cell_id IN ({', '.join('?' * len(cell_ids))})"
    row = run(results, lambda connection: connection.execute(sql, list(cell_ids)).fetchone()) or ()
    return {
        name: mean_interval(values, bounds=(known[name].low, known[name].high))
        for name, values in zip(names, row, strict=False)
        if values
    }
