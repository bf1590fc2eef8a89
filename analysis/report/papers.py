"""The part of a report about the papers: claims and figures that the networks have data for, and those that have none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from analysis.claims.board import Statement, statements_of
from analysis.claims.check import load_claims, unmeasured
from analysis.claims.networks_used import NONE_HERE, with_networks
from analysis.claims.verdict import VERDICTS, Checked, Measured, Verdict
from analysis.claims.verdict_cache import checked
from analysis.data.measures import measures
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.figures.registry import FIGURES
from analysis.overlays.overlays import Compute
from analysis.report.pictures import Picture, picture
from sweepkit.console.errors import PlainError, own_line
from sweepkit.console.words import in_a_line


class Claims(NamedTuple):
    """The claims of a report: by topic the statements with data, and the claims of those without."""

    by_topic: dict[str, list[Statement]]
    counts: dict[Verdict, int]
    """Verdicts on statements with data that rest on networks."""
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


def claims(results: str, sweeps: Sequence[str] | None, study: str | None = None) -> Claims:
    """The claims about networks of these sweeps (None: of any), of all studies or of one, judged by all networks of the store.
    Only a report of a whole store, or of a study, holds claims on simulations."""
    every = load_claims(known_measures=measures(results), study=study)
    if sweeps is not None:
        every = [claim for claim in every if claim.grid is not None]
    concerned = with_networks(results, [claim for claim in every if claim.measure], sweeps)
    measurable = [claim for claim in every if claim.id in concerned or (claim.grid is None and not claim.not_measured)]
    verdicts = {one.claim.id: one for one in checked(results, measurable, None)}
    found = [verdicts.get(claim.id) or unmeasured(claim, NONE_HERE) for claim in every]
    # A statement is shown whole: its verdict is that of all its instances.
    shown = [of for of in statements_of(found) if any(isinstance(one.measured, Measured) for one in of.claims)]
    with_data = [one for of in shown for one in of.claims]
    ids = {one.claim.id for one in with_data}
    topics = dict.fromkeys(of.topic for of in shown)
    return Claims(
        {topic: [of for of in shown if of.topic == topic] for topic in topics},
        _counts(one for one in with_data if one.claim.grid is not None),
        _counts(one for one in with_data if one.claim.grid is None),
        [one for one in found if one.claim.id not in ids],
    )


def _counts(checked: Iterator[Checked]) -> dict[Verdict, int]:
    verdicts = [one.verdict for one in statements_of(checked)]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict in verdicts}


def figures(
    results: str,
    sweeps: Sequence[str] | None,
    compute: Compute,
    say: Callable[[str], None],
    among: Iterable[Figure] | None = None,
) -> Figures:
    """The figures (by default all), from the networks of each of these sweeps, or from those of the whole store."""
    drawn: list[OfPaper] = []
    of_theory: list[OfPaper] = []
    without: list[tuple[Figure, str]] = []
    for figure in FIGURES.values() if among is None else among:
        if sweeps is not None and not figure.grids:
            continue
        lost = ""
        for sweep in [None] if sweeps is None else sweeps:
            try:
                found = figure.draw_in_full(results, sweep, compute)
            except PlainError:
                raise
            except Exception as error:  # noqa: BLE001 - a figure of a person's own; the others are drawn all the same
                found = Missing(f"drawing it raised {in_a_line(error)}{f' ({line})' if (line := own_line(error)) else ''}")
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
