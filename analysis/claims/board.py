"""The scoreboard of claims: each with its verdict, by paper and section; statements that differ in numbers share a line."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from analysis.claims.chart import EDGE, positions
from analysis.claims.entries import Claim
from analysis.claims.networks_used import with_networks
from analysis.claims.papers import PAPERS, rank
from analysis.claims.verdict import Checked, Measured, Verdict

MARKS: dict[Verdict, str] = {"confirmed": "✓", "contradicted": "✗", "not enough data": "?", "not measured": "–"}
"""A mark for each verdict."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def has_data(one: Checked) -> bool:
    """True if some networks say something about a claim, if only an open verdict."""
    return isinstance(one.measured, Measured)


class Strip(NamedTuple):
    """An interval beside the expected region, in per cent of a strip's width."""

    low: float
    at: float
    high: float
    region: tuple[float, float]


class Line(NamedTuple):
    """Claims that say the same of different numbers, in words for all of them."""

    says: str
    claims: list[Checked]

    @property
    def counts(self) -> "Counter[Verdict]":
        """The number of its claims with each verdict."""
        return Counter(one.verdict for one in self.claims)


class Section(NamedTuple):
    """The lines of one part of a paper."""

    paper: str
    title: str
    """The paper's authors, year and title."""
    heading: str
    lines: list[Line]

    @property
    def counts(self) -> "Counter[Verdict]":
        """The number of its claims with each verdict."""
        return sum((line.counts for line in self.lines), Counter())


def board(checked: Iterable[Checked]) -> list[Section]:
    """The claims by paper and section, in the order of the papers; those of this project come last."""

    def place(one: Checked) -> tuple[int, object]:
        return rank(one.claim.paper), one.claim.place

    found = []
    for _, part in groupby(sorted(checked, key=place), key=place):
        claims = list(part)
        paper, where = claims[0].claim.paper, claims[0].claim.place
        found.append(Section(paper, PAPERS.get(paper, "Statements of this project"), where.heading, lines_of(claims)))
    return found


def lines_of(claims: Sequence[Checked]) -> list[Line]:
    """The claims with those together that differ in nothing but numbers, in the order of the first of each."""
    alike: dict[tuple[str, str], list[Checked]] = {}
    for one in claims:
        alike.setdefault((one.claim.topic, _NUMBER.sub("#", one.claim.says)), []).append(one)
    return [Line(_merged([one.claim.says for one in same]), same) for same in alike.values()]


def _merged(texts: Sequence[str]) -> str:
    """One text for several that differ in numbers: `Trained on 3 to 12 symbols, networks of gamma = 1, 10, 100 have ...`."""
    columns = iter(zip(*(_NUMBER.findall(text) for text in texts), strict=True))
    return _NUMBER.sub(lambda _: _listed(list(dict.fromkeys(next(columns)))), texts[0])


def _listed(numbers: Sequence[str]) -> str:
    if len(numbers) < 3:
        return " and ".join(numbers)
    numbers = sorted(numbers, key=float)
    is_run = all(n.isdigit() for n in numbers) and int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1
    return f"{numbers[0]} to {numbers[-1]}" if is_run or len(numbers) > 4 else ", ".join(numbers)


def strips(checked: Iterable[Checked]) -> dict[str, Strip]:
    """The intervals of the measured claims by id, each on a strip on which the region expected has a fixed place."""
    rows = positions(checked)
    if rows.empty:
        return {}
    ends = rows.set_index("id")[["low", "at", "high", "region_low", "region_high"]].clip(-EDGE, EDGE)
    shares = 100 * (ends + EDGE) / (2 * EDGE)
    return {str(name): Strip(low, at, high, (left, right)) for name, low, at, high, left, right in shares.itertuples()}


def likely_first(results: str, claims: Sequence[Claim]) -> list[Claim]:
    """The claims in another order: those `with_networks` come first, and those that nothing measures last."""
    there = with_networks(results, [claim for claim in claims if claim.measure])
    return sorted(claims, key=lambda claim: 2 if not claim.measure else claim.id not in there)


def found_in(one: Checked, text: str) -> bool:
    """True if all words of a text occur in what a claim says, its id, topic or source."""
    claim = one.claim
    where = f"{claim.says} {claim.id} {claim.topic} {claim.source} {claim.grid or ''}".lower()
    return all(word in where for word in text.lower().split())


def by_command(checked: Iterable[Checked], commands: dict[str, str]) -> Iterator[tuple[str, list[Checked]]]:
    """Claims without data by the command that yields their networks, the command that decides most claims first."""
    rows = pd.DataFrame([(commands[one.claim.id], one) for one in checked], columns=["command", "one"])
    for command in rows["command"].value_counts().index:
        yield str(command), rows.loc[rows["command"] == command, "one"].tolist()
