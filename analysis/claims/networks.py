"""The networks that a claim is about: raw values, all of one setting."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from analysis.measures import MEASURES
from analysis.paper import settings
from analysis.points import described, one_setting, seeds, shown, varying
from analysis.selection import Selection, grid_keys


class Networks(NamedTuple):
    """One row a network: its keys, `seed` and `value`."""

    frame: pd.DataFrame
    what: str
    """Of which networks, for a person."""
    again: tuple[str, ...] = ()
    """Arguments of a sweep that trains as many seeds again of them."""


def networks(
    results: str, of: Mapping[str, Any], measure: str, axes: Iterable[str] = (), prefer: Mapping[str, Any] | None = None
) -> Networks:
    """Networks that are as `of` says (a value, a list, or a range {at_least, at_most} for each key) and vary in `axes` only.

    Of several settings of the other keys the one nearest to `prefer` is taken. The frame may be empty.
    """
    ranges = {key: value for key, value in of.items() if isinstance(value, Mapping)}
    selection = Selection().only({key: value for key, value in of.items() if key not in ranges})
    keys = grid_keys(results)
    if unknown := {*of, *axes} - {*keys}:
        return Networks(pd.DataFrame(columns=[*keys, "seed", "value"]), f"no networks have a key {', '.join(sorted(unknown))}")
    frame = seeds(results, selection, measure, keys).assign(n=1)
    for key, limits in ranges.items():
        frame = frame[(frame[key] >= limits.get("at_least", -float("inf"))) & (frame[key] <= limits.get("at_most", float("inf")))]
    if frame.empty:
        return Networks(frame, "no finished networks of this kind in the store")
    fixed = [key for key, value in of.items() if not isinstance(value, list | Mapping)]
    # A key with several allowed values is an axis or fixed to one of them by the setting.
    paper = settings(of.get("task"))
    setting = one_setting(frame, keys, axes, paper | dict(prefer or {}))
    shown = {key: setting.values.get(key) for key in ("L", "d", "sigma2", "width", "steps") if key not in fixed}
    differing = {key for key in paper if key not in {*fixed, *shown} and setting.values.get(key) not in (None, paper[key])}
    parts = [described(shown), *(f"{key} = {_range(setting.frame[key])}" for key in varying(setting.frame, axes))]
    parts += [f"{key} = {value} where the paper has {paper[key]}" for key, value in setting.values.items() if key in differing]
    return Networks(
        setting.frame,
        f"{MEASURES[measure].title}; {', '.join(filter(None, parts))}; {len(setting.frame)} networks",
        _again(setting.frame),
    )


def _again(frame: pd.DataFrame) -> tuple[str, ...]:
    columns = ("L", "d", "sigma2", "patches", "layer", "width", "gamma_label", "prefactor", "steps")
    told = {column.removesuffix("_label"): frame[column].dropna().unique() for column in columns if column in frame}
    seeds_ = 2 * (int(frame["seed"].max()) + 1)
    return (*(f"{key}={','.join(map(shown, values))}" for key, values in told.items() if len(values)), f"seed=range({seeds_})")


def _range(values: "pd.Series[Any]") -> str:
    if pd.api.types.is_numeric_dtype(values):
        return f"{values.min():.6g} to {values.max():.6g}"
    return ", ".join(map(str, values.unique()))
