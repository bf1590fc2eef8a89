"""The part of a report about the papers: claims and figures that the networks have data for, and those that have none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from analysis.claims.check import check, load_claims
from analysis.claims.entries import Claim
from analysis.claims.verdict import VERDICTS, Checked, Measured, NotMeasured, Verdict
from analysis.data.measures import measures
from analysis.data.selection import Selection, grid_keys
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.figures.registry import FIGURES
from analysis.overlays.overlays import Compute
from analysis.report.pictures import Picture, picture
from store.sql import literal, quoted
from store.views import run

NONE_HERE = "no finished networks of this kind in the store"


class Claims(NamedTuple):
    """The claims of a report: by topic those with data, and those without."""

    by_topic: dict[str, list[Checked]]
    counts: dict[Verdict, int]
    """Verdicts on claims with data that rest on networks."""
    simulated: dict[Verdict, int]
    """Verdicts on the theory's own models."""
    without: list[Checked]


class OfPaper(NamedTuple):
    """A figure of a paper that was drawn. `of`: the sweep whose networks it shows alone; None for the whole store."""

    figure: Figure
    picture: Picture
    of: str | None = None


class Figures(NamedTuple):
    """The figures of the papers: drawn from networks, from theory alone, and those without data with what they need."""

    drawn: list[OfPaper]
    of_theory: list[OfPaper]
    without: list[tuple[Figure, str]]


def claims(results: str, sweeps: Sequence[str] | None) -> Claims:
    """The claims about networks of these sweeps (None: of any), judged by all networks of the store. Only a report of a whole
    store holds claims on simulations."""
    every = load_claims(known_measures=measures(results))
    if sweeps is not None:
        every = [claim for claim in every if claim.grid is not None]
    concerned = _concerned(results, every, sweeps)
    measurable = [claim for claim in every if claim.id in concerned or (claim.grid is None and not claim.not_measured)]
    verdicts = {one.claim.id: one for one in check(results, measurable)}
    checked = [verdicts.get(claim.id) or _without(claim) for claim in every]
    with_data = [one for one in checked if isinstance(one.measured, Measured)]
    topics = list(dict.fromkeys(one.claim.topic for one in with_data))
    return Claims(
        {topic: [one for one in with_data if one.claim.topic == topic] for topic in topics},
        _counts(one for one in with_data if one.claim.grid is not None),
        _counts(one for one in with_data if one.claim.grid is None),
        [one for one in checked if not isinstance(one.measured, Measured)],
    )


def _without(claim: Claim) -> Checked:
    verdict: Verdict = "not measured" if claim.not_measured else "not enough data"
    why = claim.not_measured or NONE_HERE
    return Checked(claim, verdict, NotMeasured(why), why)


def _counts(checked: Iterator[Checked]) -> dict[Verdict, int]:
    verdicts = [one.verdict for one in checked]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict in verdicts}


def _concerned(results: str, every: Sequence[Claim], sweeps: Sequence[str] | None) -> set[str]:
    """Ids of the claims about a kind of network that these sweeps have. The others need no measurement: it would find nothing."""
    keys = set(grid_keys(results))
    tests = {claim.id: [_condition(where, keys) for where in _wheres(claim.measure)] for claim in every if claim.measure}
    told = {name: conditions for name, conditions in tests.items() if conditions}
    one_of = [" OR ".join(f"({condition})" for condition in conditions) for conditions in told.values()]
    limits = "true" if sweeps is None else f"sweep IN ({', '.join(map(literal, sweeps))})"
    source = Selection(None if sweeps is None else sweeps[0]).source
    columns = ", ".join(f"bool_or({condition})" for condition in one_of) or "true"
    sql = f"SELECT {columns} FROM {source} WHERE {limits} AND status = 'ok'"
    answers = run(results, lambda connection: connection.execute(sql).fetchone()) or ()
    found = {name for name, has in zip(told, answers, strict=False) if has}
    return found | {name for name, conditions in tests.items() if not conditions}


def _wheres(measure: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The kinds of networks that a measurement names: mappings with a task, at any depth."""
    for value in measure.values():
        if isinstance(value, Mapping):
            if "task" in value:
                yield value
            else:
                yield from _wheres(value)


def _condition(where: Mapping[str, Any], keys: set[str]) -> str:
    """SQL that holds for networks of a kind."""
    limits = []
    for key, value in where.items():
        if key not in keys:
            return "false"
        if isinstance(value, Mapping):
            signs = {"at_least": ">=", "at_most": "<="}
            limits += [f"{quoted(key)} {signs[end]} {literal(value[end])}" for end in signs if end in value]
        else:
            several = value if isinstance(value, list | tuple) else [value]
            held = [one for one in several if one is not None]
            null = [f"{quoted(key)} IS NULL"] if len(held) < len(several) else []
            limits.append(" OR ".join([*([f"{quoted(key)} IN ({', '.join(map(literal, held))})"] if held else []), *null]))
    return " AND ".join(f"({limit})" for limit in limits) or "true"


def figures(results: str, sweeps: Sequence[str] | None, compute: Compute, say: Callable[[str], None]) -> Figures:
    """The figures of the papers, from the networks of each of these sweeps, or from those of the whole store."""
    drawn: list[OfPaper] = []
    of_theory: list[OfPaper] = []
    without: list[tuple[Figure, str]] = []
    for figure in FIGURES.values():
        if sweeps is not None and not figure.grids:
            continue
        lost = ""
        for sweep in [None] if sweeps is None else sweeps:
            found = figure.draw_in_full(results, sweep, compute)
            if isinstance(found, Missing):
                lost = lost or found.needs
                continue
            say(f"drawing figure {figure.name} ...")
            (drawn if figure.grids else of_theory).append(OfPaper(figure, _picture(figure, found), sweep))
            lost = ""
            break
        if lost:
            without.append((figure, lost))
    return Figures(drawn, of_theory, without)


def _picture(figure: Figure, drawn: Drawn) -> Picture:
    title = f"Figure {figure.name}. {figure.title}"
    return picture(title, drawn.chart, drawn.frame, drawn.caption, figure.name, drawn.sql)
