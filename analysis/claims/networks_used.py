"""The networks that a claim is about: raw values, all of one setting."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.claims.entries import Claim
from analysis.claims.verdict import Again
from analysis.data.keys import captioned, spoken
from analysis.data.measures import measures
from analysis.data.parts import are_at_equilibrium
from analysis.data.points import described, one_setting, seeds, unusual, varying
from analysis.data.selection import SEED, VERSION, Selection, fits, grid_keys, trained_here
from analysis.data.usual import OF_STUDIES, settings
from sweepkit.console.words import counted, shown
from sweepkit.declarations.columns import Column, Key
from sweepkit.declarations.keys import KEYS
from sweepkit.store.sql import literal, quoted
from sweepkit.store.views import declared, fetch

Where = Mapping[str, Any]
"""Conditions on networks: a value, a list or a range {at_least, at_most} for each key."""


class Used(NamedTuple):
    """The networks that a measurement rests on."""

    ids: set[str]
    """Their ids."""
    seeds: list[int]
    """The number of networks that differ in nothing but their seeds, the median over points, for each choice of networks."""


_USED: ContextVar[Used | None] = ContextVar("_USED", default=None)


@contextmanager
def noting_networks() -> Iterator[Used]:
    """Yield what the measurements made meanwhile rest on; it is filled as they choose their networks."""
    used = Used(set(), [])
    token = _USED.set(used)
    try:
        with trained_here():
            yield used
    finally:
        _USED.reset(token)


class Networks(NamedTuple):
    """Networks of one setting. A claim is judged by `frame`."""

    every: pd.DataFrame
    """One row for each network, with its keys, `seed` and `value`."""
    told: str
    """Words that say which networks these are, or why there are none."""
    again: Again | None = None
    """A sweep that trains as many seeds again; if most networks did not mix, one that runs the same seeds four times as long."""
    unmixed: frozenset[str] = frozenset()
    """Ids of the networks at equilibrium whose chains disagree."""
    declared: Mapping[str, Column] = KEYS
    """The columns of their store."""

    @property
    def frame(self) -> pd.DataFrame:
        """The networks without those that did not mix: their values depend on where the chains started."""
        return self.every[~self.every["cell_id"].isin(self.unmixed)] if self.unmixed else self.every

    @property
    def what(self) -> str:
        """Words that name the networks, count them, and count those that were left out as they did not mix."""
        if self.every.empty:
            return self.told
        n, lost = len(self.frame), len(self.every) - len(self.frame)
        return f"{self.told}; {counted(n, 'network')}{f', {lost} more left out that did not mix' if lost else ''}"

    def narrowed(self, every: pd.DataFrame, to: str) -> "Networks":
        """The networks of these rows of `every`; `to` says in words what they have in common."""
        return self._replace(every=every, told=f"no networks with {to}" if every.empty else f"{self.told}; those with {to}")


def kinds_of(measure: Where) -> Iterator[Where]:
    """The kinds of networks that a claim's measurement names: mappings with a task, at any depth."""
    for value in measure.values():
        if isinstance(value, Mapping):
            if "task" in value:
                yield value
            else:
                yield from kinds_of(value)


_SIGNS = {"at_least": ">=", "at_most": "<="}


def condition_of(where: Where, keys: Collection[str]) -> str:
    """SQL that holds for networks of a kind, in a store with columns for these keys."""
    if not where.keys() <= {*keys}:
        return "false"
    ranges = {key: value for key, value in where.items() if isinstance(value, Mapping)}
    limits = [f"{quoted(key)} {_SIGNS[end]} {literal(bound)}" for key, ends in ranges.items() for end, bound in ends.items()]
    held = Selection(limits=" AND ".join(limits)).only({key: value for key, value in where.items() if key not in ranges})
    return held.condition


def with_networks(results: str, claims: Iterable[Claim], sweeps: Sequence[str] | None = None) -> set[str]:
    """Ids of the claims about some kind of network that these sweeps (None: the whole store) have finished, as far as conditions
    on networks tell, and of those that name no kind. Of the others a measurement would find nothing."""
    known = grid_keys(results)
    kinds = {claim.id: list(kinds_of(claim.measure)) for claim in claims}
    named = {name: " OR ".join(f"({condition_of(where, known)})" for where in of) for name, of in kinds.items() if of}
    found = {name for name, of in kinds.items() if not of}
    if not named:
        return found
    used = sorted({key for of in kinds.values() for where in of for key in where} & {*known})
    limits = "true" if sweeps is None else f"sweep IN ({', '.join(map(literal, sweeps)) or 'NULL'})"
    source = Selection(None if sweeps is None else "").source
    sql = f"""SELECT {", ".join(f"bool_or({condition})" for condition in named.values())}
FROM (SELECT DISTINCT {", ".join(map(quoted, used)) or "1"} FROM {source} WHERE {limits} AND status = 'ok')"""
    (answers,) = fetch(results, sql)
    return found | {name for name, there in zip(named, answers, strict=True) if there}


def networks(
    results: str,
    of: Mapping[str, Any],
    measure: str | None,
    axes: Iterable[str] = (),
    prefer: Mapping[str, Any] | None = None,
    among: Collection[str] | None = None,
    with_diverged: bool = False,
) -> Networks:
    """Networks that fit `of` (a value, a list, or a range {at_least, at_most} for each key) and vary in `axes` only. Without a
    measure `value` is 0; networks that diverged are left out, or have the value inf.

    If there are several settings of the other keys, the one nearest to `prefer` is taken. `among` are the ids of the networks
    to choose from, by default all. The frame may be empty.
    """
    keys = grid_keys(results)
    frame = _finished(results, of, measure, keys, axes, among, with_diverged)
    return frame if isinstance(frame, Networks) else _one_setting(results, frame, keys, of, measure, axes, prefer)


def both_sides(
    results: str,
    of: Mapping[str, Any],
    minus: Mapping[str, Any],
    measure: str | None,
    axes: Iterable[str] = (),
    prefer: Mapping[str, Any] | None = None,
    among: Collection[str] | None = None,
) -> tuple[Networks, Networks]:
    """Networks that fit `of`, and networks that fit `minus`, as in `networks`. Both share one setting of all keys except `axes`
    and the keys in which `of` and `minus` differ."""
    keys, axes = grid_keys(results), list(axes)
    shared = {key: value for key, value in of.items() if key in minus and minus[key] == value}
    frame = _finished(results, shared, measure, keys, [*axes, *of, *minus], among)
    if isinstance(frame, Networks):
        return frame, frame
    sides = [_held(frame, side) for side in (of, minus)]
    told_apart = ({*of} | {*minus}) - {*shared}
    of_both = frame[frame["cell_id"].isin([*sides[0]["cell_id"], *sides[1]["cell_id"]])]
    if any(side.empty for side in sides):
        found = Networks(of_both[:0], NONE_HERE if of_both.empty else ONE_SIDE)
        return found, found
    chosen = _one_setting(results, of_both, keys, shared, measure, [*axes, *told_apart], prefer)

    def of_side(side: pd.DataFrame, keyed: Mapping[str, Any]) -> Networks:
        part = side[side["cell_id"].isin(chosen.every["cell_id"])]
        # If a side lists values of a key, one of them is chosen, as in `networks`.
        found = Networks(part, ONE_SIDE) if part.empty else _one_setting(results, part, keys, keyed, measure, axes, prefer)
        return found._replace(again=chosen.again)

    return of_side(sides[0], of), of_side(sides[1], minus)


NONE_HERE = "no finished networks of this kind in the store"
ONE_SIDE = "no configuration of the other parameters has networks of both sides"


def _finished(
    results: str,
    of: Mapping[str, Any],
    measure: str | None,
    keys: list[str],
    axes: Iterable[str],
    among: Collection[str] | None,
    with_diverged: bool = False,
) -> "pd.DataFrame | Networks":
    """All finished networks of `among` that fit `of`; if there are none, empty Networks that say why."""
    ranges = {key: value for key, value in of.items() if isinstance(value, Mapping)}
    if unknown := {*of, *axes} - {*keys}:
        return Networks(pd.DataFrame(columns=[*keys, "seed", "value"]), f"no networks have a key {', '.join(sorted(unknown))}")
    selection = Selection().only({key: value for key, value in of.items() if key not in ranges})
    frame = _of_present_files(results, _held(seeds(results, selection, measure, keys, with_diverged).assign(n=1), ranges))
    if among is not None:
        frame = frame[frame["cell_id"].isin(among)]
    return Networks(frame, NONE_HERE) if frame.empty else frame


def _of_present_files(results: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The networks without those that a user's own file, or data, made as it was before: of equal parameters and seeds whose
    version has a digest, the one that ended last counts, be it one that failed."""
    if VERSION not in frame:
        return frame
    digested = frame[VERSION].str.contains("+", regex=False).fillna(False)
    if frame.loc[digested.astype(bool), VERSION].nunique() < 2:
        return frame
    alike = ", ".join(quoted(key) for key in [*grid_keys(results), SEED] if key != VERSION)
    newest = f"arg_max({VERSION}, finished_at) OVER (PARTITION BY {alike})"
    sql = f"SELECT cell_id FROM cells WHERE contains({VERSION}, '+') QUALIFY {VERSION} <> {newest}"
    return frame[~frame["cell_id"].isin([cell_id for (cell_id,) in fetch(results, sql)])]


def _held(frame: pd.DataFrame, of: Mapping[str, Any]) -> pd.DataFrame:
    for key, value in of.items():
        frame = frame[fits(frame[key], value)]
    return frame


def _one_setting(
    results: str,
    frame: pd.DataFrame,
    keys: list[str],
    of: Mapping[str, Any],
    measure: str | None,
    axes: Iterable[str],
    prefer: Mapping[str, Any] | None,
) -> Networks:
    axes = list(axes)
    fixed = [key for key, value in of.items() if not isinstance(value, list | Mapping)]
    # A key with several allowed values is an axis, or the setting fixes it to one of them.
    task = of.get("task")
    is_known = task is None or (isinstance(task, str) and task in OF_STUDIES)
    paper = settings(task, are_at_equilibrium(frame)) if is_known else {}
    known = declared(results)
    setting = one_setting(frame, keys, axes, paper | dict(prefer or {}), known)
    told = [key for key in captioned(unusual(setting.values, known), known) if key not in fixed]
    parts = [described({key: setting.values[key] for key in told if key not in paper})]
    unmixed = _unmixed(results, setting.frame)
    judged = setting.frame[~setting.frame["cell_id"].isin(unmixed)]
    if (used := _USED.get()) is not None:
        used.ids.update(setting.frame["cell_id"])
        if len(judged):
            used.seeds.append(_seeds_at_a_point(judged))
    parts += [f"{spoken(key)} = {_range(judged[key])}" for key in varying(judged, axes)]
    parts += [
        f"{spoken(key)} = {setting.values[key]} where the paper has {paper[key]}"
        for key in told
        if key in paper and setting.values[key] != paper[key]
    ]
    title = measures(results)[measure].title if measure else ""
    what = "; ".join(filter(None, [title, ", ".join(filter(None, parts))]))
    again = _again(setting.frame, known, longer=2 * len(unmixed) > len(setting.frame))
    return Networks(setting.frame, what, again, unmixed, known)


def _seeds_at_a_point(frame: pd.DataFrame) -> int:
    """The median over points of the number of networks that differ in their seeds alone, or of their data sets where these have
    seeds of their own. Kinds that need as many at each point say so by `note_seeds`."""
    own = ("cell_id", "seed", "data_seed", "value", "n")
    keys = [key for key in frame if key not in own and frame[key].nunique(dropna=False) > 1]
    several = "data_seed" in frame and frame["data_seed"].nunique() > 1
    unit = frame["data_seed" if several else "cell_id"]
    return int(unit.groupby([frame[key] for key in keys], dropna=False).nunique().median()) if keys else unit.nunique()


def note_seeds(n: int) -> None:
    """Say that the measurement rests on no more than n independent networks at one of its points."""
    if (used := _USED.get()) is not None:
        used.seeds.append(n)


def _unmixed(results: str, frame: pd.DataFrame) -> frozenset[str]:
    if not are_at_equilibrium(frame):
        return frozenset()
    ids = ", ".join(map(literal, frame["cell_id"]))
    return frozenset(
        cell_id for (cell_id,) in fetch(results, f"SELECT cell_id FROM cells WHERE NOT mixed AND cell_id IN ({ids})")
    )


def _again(frame: pd.DataFrame, known: Mapping[str, Column], longer: bool) -> Again | None:
    """A sweep of these networks with more seeds, or longer. Numbers replace those of the grid, which may lack them; words such as
    a template choose among its blocks, as a block of another template may have other keys. None where each data set has seeds of
    its own: the grid's conditions say which."""
    if "data_seed" in frame and frame["data_seed"].nunique() > 1:
        return None
    keys = [key for key in captioned(map(str, frame), known) if isinstance(known.get(key), Key) and key != "seed"]
    told = {key: [value for value in frame[key].unique() if not pd.isna(value)] for key in keys}
    replaced: dict[str, str] = {}
    only: dict[str, str] = {}
    for key, values in told.items():
        if values:
            chosen = key != "gamma_label" and any(isinstance(value, str | bool | np.bool_) for value in values)
            (only if chosen else replaced)[spoken(key)] = ",".join(map(shown, values))
    if longer:
        replaced["steps"] = ",".join(shown(4 * steps) for steps in told["steps"])
    seeds_ = (1 if longer else 2) * (int(frame["seed"].max()) + 1)
    # Only curves: for anything more, networks that are already there would be trained again.
    return Again({**replaced, "seed": f"range({seeds_})", "save": "curves"}, only)


def _range(values: "pd.Series[Any]") -> str:
    if pd.api.types.is_numeric_dtype(values):
        return f"{values.min():.6g} to {values.max():.6g}"
    return ", ".join(map(str, values.unique()))


def either(a: Where, b: Where) -> dict[str, Any]:
    """The values of both sides by key, so that one setting of all other keys is chosen for both. ValueError if their keys
    differ."""
    if a.keys() != b.keys():
        raise ValueError(f"sides that differ in {sorted(a)} and in {sorted(b)}")
    return {key: [a[key], b[key]] for key in a}


def like(frame: pd.DataFrame, side: Where) -> pd.DataFrame:
    """The rows that have a side's values."""
    for key, value in side.items():
        frame = frame[frame[key] == value]
    return frame
