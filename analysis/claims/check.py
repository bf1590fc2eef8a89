"""The check of all claims on one store, and the commands that may decide claims that are left open."""

import inspect
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pandas as pd

from analysis.claims.entries import Claim, read_claims
from analysis.claims.kinds import KINDS, is_along, measures_of
from analysis.claims.networks_used import noting_networks
from analysis.claims.verdict import Checked, Measured, NotMeasured, Verdict, distance, verdict_on
from analysis.data.measures import MEASURES, measures
from analysis.data.progress.coverage import sweeps_with
from analysis.data.selection import values_of
from analysis.overlays.registry import THEORIES
from analysis.studies.loading import load
from sweepkit.console.commands import sweep_command
from sweepkit.console.words import listed, nearest
from sweepkit.console.yaml_lines import read_yaml
from sweepkit.declarations.metrics import METRICS
from sweepkit.shipped import grid_file, grid_path
from sweepkit.stats import Interval, after_looks
from sweepkit.store.views import declared
from sweepkit.studies import StudyError, folders, leave_out

_ALONG = frozenset(name for name, metric in METRICS.items() if metric.per == "evaluation")
"""The metrics along training that every store has."""


_BOUNDS = {"at_least", "at_most"}
_CHOICES = {"of", "a", "b", "minus"}
"""Arguments that choose networks by their keys."""


def load_claims(*paths: Path, known_measures: Collection[str] = MEASURES, study: str | None = None) -> list[Claim]:
    """All entries. Each measurement is checked: its kind is known and gets the arguments it needs. ValueError with the entry's id
    for a mistake.

    known_measures: the measures of the store that the claims are checked on; by default those that every store has. study: the
    entries of this study alone.
    """
    KINDS.values(), THEORIES.values()  # a mistake in a module of a study is not one of the first entry
    claims, left_out = [claim for claim in read_claims(*paths) if study in (None, claim.study)], set()
    for claim in claims:
        if claim.study in left_out:
            continue
        try:
            _check_measure(claim, known_measures)
        except ValueError as error:
            if not claim.study:
                raise
            leave_out(folders()[claim.study], StudyError(str(error)))
            left_out.add(claim.study)
    return [claim for claim in claims if claim.study not in left_out]


def _check_measure(claim: Claim, known_measures: Collection[str]) -> None:
    if claim.not_measured:
        return
    if claim.study and claim.grid and not (grid_file(claim.grid) or Path(claim.grid).is_file()):
        there = [file.stem for file in sorted((folders()[claim.study] / "grids").glob("*.yaml"))]
        raise ValueError(f"claim {claim.id}: no grid {claim.grid!r}{nearest(claim.grid, there) or ';'} there are {listed(there)}")
    arguments = dict(claim.measure)
    kind = arguments.pop("kind", None)
    try:
        if kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r}; there are {', '.join(KINDS)}")
        inspect.signature(KINDS[kind]).bind("", **arguments)
        for choice in _CHOICES & arguments.keys():
            if not isinstance(arguments[choice], dict):
                raise ValueError(f"{choice}: must be a mapping of keys of networks to their values")
            for key, wanted in arguments[choice].items():
                if isinstance(wanted, dict) and (wrong := sorted(wanted.keys() - _BOUNDS)):
                    told = "a range is {at_least: 1, at_most: 2}, or one of the two"
                    raise ValueError(f"{choice}: {key}: unknown {wrong[0]!r}; {told}")
        known = _ALONG if is_along(arguments) else known_measures
        named = [] if claim.on_request else [("measure", name, known) for name in measures_of(arguments)]
        named += [("theory", arguments["theory"], {one.name for one in THEORIES.values()})] if "theory" in arguments else []
        given = _choices_of(KINDS[kind])
        named += [(name, arguments[name], given[name]) for name in given.keys() & arguments.keys()]
        for what, name, legal in named:
            if name not in legal:
                raise ValueError(f"unknown {what} {name!r}; there are {', '.join(sorted(legal))}")
    except (TypeError, ValueError) as error:
        raise ValueError(f"claim {claim.id}: measure: {error}") from error


@cache
def _choices_of(kind: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """The arguments of a kind whose annotation lists their legal values, with these."""
    return {name: get_args(hint) for name, hint in get_type_hints(kind).items() if get_origin(hint) is Literal}


def check(results: str, claims: Iterable[Claim] | None = None) -> list[Checked]:
    """Verdicts on the claims (by default all) from the networks of a store, whichever sweeps trained them."""
    return [_checked(results, claim) for claim in (load_claims(known_measures=measures(results)) if claims is None else claims)]


def _checked(results: str, claim: Claim) -> Checked:
    if claim.expected is None:
        return unmeasured(claim)
    arguments = dict(claim.measure)
    if claim.on_request and (lacking := [name for name in measures_of(arguments) if name not in declared(results)]):
        return unmeasured(claim, f"no network of the store has {lacking[0]}, which its grid asks for by `save:`")
    with noting_networks() as used:
        found: Measured | NotMeasured = KINDS[arguments.pop("kind")](results, **arguments)
    if isinstance(found, NotMeasured):
        return unmeasured(claim, found.why, there=bool(used.ids))
    interval = of_networks(after_looks(found.interval, claim.looks), used.seeds)
    added = f"; at {1 - 0.05 / claim.looks:.1%}, as seeds were added until it was decided" if claim.looks > 1 else ""
    found = found._replace(interval=interval, what=found.what + added)
    verdict, why = verdict_on(claim, claim.expected, found.interval)
    return Checked(claim, verdict, found, why, sweeps_with(results, used.ids))


def of_networks(interval: Interval, seeds: Collection[int]) -> Interval:
    """The interval with n the number of networks that it rests on: of one setting, where it is a fit's through many; and no more
    than its values. A threshold's n is that already, and an interval of no networks stays as it is."""
    if not seeds or interval.counts == "seeds":
        return interval
    return interval._replace(n=min([*seeds, *([interval.n] if interval.counts == "values" else [])]))


def unmeasured(claim: Claim, why: str = "", there: bool = False) -> Checked:
    """The verdict on a claim without a value, for this reason or for that of its entry. Files are asked for unless some of its
    networks are `there`."""
    verdict: Verdict = "formulas lost" if claim.formulas_lost else "not measured"
    needs = "" if there else claim.needs
    if not claim.not_measured:
        verdict = "needs files" if needs else "open"
    why = claim.not_measured or "; ".join(filter(None, (why, needs)))
    return Checked(claim, verdict, NotMeasured(why), why)


def advice(one: Checked, results: str) -> list[str]:
    """Commands that may decide a claim that the data leave open: a sweep of as many seeds again, or the grid of more sizes and
    seeds; if nothing could be measured, the grids that train the networks, the quick one first if it may hold some."""
    if one.verdict not in ("open", "needs files") or one.claim.grid is None:
        return []
    if isinstance(one.measured, Measured) and one.measured.again:
        again = one.measured.again
        kept = _kept_by_grid(one.claim.grid) | ({"save"} if one.claim.on_request else set())
        replaced = [f"{key}={values}" for key, values in again.replaced.items() if key not in kept]
        only = shlex.join(f"{key}={values}" for key, values in again.only.items())
        return [sweep_command(one.claim.grid, results, *replaced, *(("--only", only) if only else ()))]
    whole = one.claim.grid.replace("_quick", "")
    if isinstance(one.measured, Measured) and whole != one.claim.grid and grid_file(whole):
        return [sweep_command(whole, results)]
    of = one.claim.measure.get("of", {})
    # No quick grid pays for the many fresh examples that small errors take.
    quick = None if "final_test_size" in of else _quick(one.claim.study, of)
    return [sweep_command(grid, results) for grid in dict.fromkeys([*([quick] if quick else []), one.claim.grid])]


def _quick(study: str, of: Mapping[str, Any]) -> str | None:
    """The first quick grid of a study that trains networks of this task and network, else of this task; None if none does."""
    if study not in folders():
        return None
    quick = [(stem, _blocks(stem)) for stem in load(study).grids if stem.endswith("quick")]
    for keys in ("task", "network"), ("task",):
        asked = [(key, of[key]) for key in keys if key in of]
        if not asked:
            return None
        for stem, blocks in quick:
            if any(all(value in values_of(block.get(key)) for key, value in asked) for block in blocks):
                return stem
    return None


def _kept_by_grid(grid: str) -> frozenset[str]:
    """Keys that the command line cannot replace in this grid: the axes of its searches (`find`) and keys that move together
    (`zip`)."""
    try:
        searched = {block["find"]["axis"] for block in _blocks(grid) if "find" in block}
        return frozenset(searched | {key for block in _blocks(grid) for group in block.get("zip") or () for key in group})
    except (LookupError, TypeError):  # the command itself will say what is wrong with it
        return frozenset()


@cache
def _blocks(grid: str) -> list[dict[str, Any]]:
    """The blocks of a grid, each with the defaults; none of a grid that cannot be read: the command that takes it says why."""
    try:  # as the command would find it
        whole = read_yaml(grid_path(grid))
        return [{**whole.get("defaults", {}), **block} for block in whole["grids"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def claims_frame(checked: Iterable[Checked]) -> pd.DataFrame:
    """One row per claim, for tables and CSV."""
    return pd.DataFrame([_row(one) for one in checked], columns=list(COLUMNS))


COLUMNS = (
    "id", "statement", "topic", "source", "says", "verdict", "measured", "low", "high", "n", "expected", "distance", "because",
    "of", "why", "grid", "identity", "fitted", "after_look", "note",
)  # fmt: skip


def _row(one: Checked) -> dict[str, Any]:
    claim, interval = one.claim, one.measured.interval if isinstance(one.measured, Measured) else None
    return {
        "id": claim.id, "statement": claim.entry, "topic": claim.topic, "source": claim.source, "says": claim.says,
        "verdict": one.verdict,
        "measured": interval.value if interval else None, "low": interval.low if interval else None,
        "high": interval.high if interval else None, "n": interval.n if interval else 0,
        "expected": str(claim.expected or ""), "distance": distance(one),
        "because": claim.because, "of": one.measured.what if isinstance(one.measured, Measured) else "", "why": one.why,
        "grid": claim.grid or ("" if claim.not_measured else "simulated here"),
        "identity": claim.identity, "fitted": claim.fitted, "after_look": claim.after_look, "note": claim.note,
    }  # fmt: skip
