"""The scoreboard: statements by paper and section. A statement is an entry of a file of claims, with its instances."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby
from math import prod
from typing import NamedTuple

import pandas as pd

from analysis.claims.chart import EDGE, positions
from analysis.claims.entries import Claim, filled_in
from analysis.claims.networks_used import with_networks
from analysis.claims.papers import NAMES, PAPERS, rank
from analysis.claims.verdict import VERDICTS, Checked, Measured, Verdict, marks
from sweepkit.console.words import listed

MARKS: dict[Verdict, str] = dict(zip(VERDICTS, "✓±✗≠?…∅–=", strict=True))
"""A mark for each verdict."""

MOST_NAMED = 6
"""Most instances of a statement that are named one by one."""


def has_data(one: Checked) -> bool:
    """True if some networks say something about a claim, if only an open verdict."""
    return isinstance(one.measured, Measured)


class Strip(NamedTuple):
    """An interval beside the expected region, in per cent of a strip's width."""

    low: float
    at: float
    high: float
    region: tuple[float, float]


class Statement(NamedTuple):
    """A statement of a source in words for all its instances, with the verdicts on these."""

    says: str
    claims: list[Checked]

    @property
    def paper(self) -> str:
        """The tag of the paper that states it, FIELD or OURS."""
        return self.claims[0].claim.paper

    @property
    def topic(self) -> str:
        """The topic of its first instance."""
        return self.claims[0].claim.topic

    @property
    def counts(self) -> "Counter[Verdict]":
        """The number of its instances with each verdict."""
        return Counter(one.verdict for one in self.claims)

    @property
    def verdict(self) -> Verdict:
        """That of all instances, if they have one. In part, where some are confirmed and others are not; else the first that some
        have, in the order of VERDICTS. Identities, and files that are not here, weigh nothing beside others."""
        found = {one.verdict for one in self.claims}
        found = found - {"needs files", "identity"} or found
        if len(found) > 1 and "confirmed" in found:
            return "in part"
        return next(verdict for verdict in VERDICTS if verdict in found)

    @property
    def where(self) -> str:
        """For which values the instances have which verdict; no words where all have one."""
        if len(self.counts) < 2:
            return ""
        return "; ".join(
            f"{verdict} {_instances([one for one in self.claims if one.verdict == verdict], self.claims)}"
            for verdict in VERDICTS
            if self.counts[verdict]
        )

    @property
    def marks(self) -> list[str]:
        """The words that weaken the verdict on any of its instances, such as *fitted*."""
        return list(dict.fromkeys(mark for one in self.claims for mark in marks(one.claim) if mark != "identity"))


class Section(NamedTuple):
    """The statements of one part of a paper."""

    paper: str
    title: str
    """The paper's authors, year and title."""
    heading: str
    statements: list[Statement]

    @property
    def counts(self) -> "Counter[Verdict]":
        """The number of its statements with each verdict."""
        return Counter(one.verdict for one in self.statements)


def board(checked: Iterable[Checked]) -> list[Section]:
    """The claims by paper and section, in the order of the papers; laws of the field and what is derived here come last."""

    def place(one: Checked) -> tuple[int, object]:
        return rank(one.claim.paper), one.claim.place

    found = []
    for _, part in groupby(sorted(checked, key=place), key=place):
        claims = list(part)
        paper, where = claims[0].claim.paper, claims[0].claim.place
        found.append(Section(paper, title(paper), where.heading, statements_of(claims)))
    return found


def title(paper: str) -> str:
    """Authors, year and title of a paper; a heading for what belongs to no paper that is a study."""
    return PAPERS.get(paper) or NAMES.get(paper, paper)


def statements_of(checked: Iterable[Checked]) -> list[Statement]:
    """The statements that these claims are instances of, in the order of the first of each."""
    of: dict[tuple[str, str, str], list[Checked]] = {}
    for one in checked:
        of.setdefault((one.claim.study, one.claim.entry or one.claim.id, one.claim.source), []).append(one)
    return [Statement(_says([one.claim for one in same]), same) for same in of.values()]


def _says(claims: Sequence[Claim]) -> str:
    """The words of an entry with all values of its instances: `Trained on 3 to 5 symbols, networks of gamma = 1, 10, 100 ...`."""
    if len(claims) == 1:
        return claims[0].says
    values = {name: _values(claims, name) for name in dict.fromkeys(name for claim in claims for name in claim.values)}
    all_pairs = prod(map(len, values.values())) == len(claims)  # else they go together, and their order says which with which
    return str(filled_in(claims[0].template, {name: (_range if all_pairs else _listed)(of) for name, of in values.items()}))


def _values(claims: Iterable[Claim], name: str) -> list[str]:
    return list(dict.fromkeys(str(claim.values[name]) for claim in claims if name in claim.values))


def _listed(values: Sequence[str]) -> str:
    """The values as a list, the middle ones of many left out."""
    if len(values) < 3:
        return " and ".join(values)
    return listed(values if len(values) <= MOST_NAMED else [*values[:2], "...", values[-1]])


def _range(values: Sequence[str]) -> str:
    """The values as a list; many numbers as their range."""
    try:
        numbers = sorted(values, key=float)
    except ValueError:
        return _listed(values)
    is_run = all(n.isdigit() for n in numbers) and int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1
    if len(numbers) < 3:
        return " and ".join(numbers)
    return f"{numbers[0]} to {numbers[-1]}" if is_run or len(numbers) > 4 else listed(numbers)


def _instances(checked: Sequence[Checked], among: Sequence[Checked]) -> str:
    """The values that tell these instances from the others of their statement; of many, how many they are and what those span."""
    claims, every = [one.claim for one in checked], [one.claim for one in among]
    if len(checked) <= MOST_NAMED:
        labels = instances(every)
        return "at " + "; ".join(labels[claim.id] for claim in claims)
    spans = ", ".join(f"{name} = {_range(_values(claims, name))}" for name in _telling_apart(every))
    return f"at {len(checked)} of {len(among)}" + (f" ({spans})" if spans else "")


def instances(claims: Sequence[Claim]) -> dict[str, str]:
    """By id, the fewest values that tell the instances of a statement apart, such as `gamma = 1, L = 3`; its id where none do."""
    names = _telling_apart(claims)
    if not names:
        return {claim.id: claim.id for claim in claims}
    return {claim.id: ", ".join(f"{name} = {claim.values.get(name)}" for name in names) for claim in claims}


def _telling_apart(claims: Sequence[Claim]) -> tuple[str, ...]:
    """The fewest names of which the instances of a statement have different values; none if no short values differ."""
    values = {
        name: [claim.values.get(name) for claim in claims] for name in dict.fromkeys(n for one in claims for n in one.values)
    }
    short = [name for name, of in values.items() if all(isinstance(v, int | float | str) and 0 < len(str(v)) < 16 for v in of)]
    first = claims[0]

    def place_of(name: str) -> tuple[bool, ...]:
        """Names that the id holds come first, then those that the statement says; numbers tell more than words."""
        return f"{{{name}}}" not in first.entry, f"{{{name}}}" not in first.template, isinstance(values[name][0], str)

    short.sort(key=place_of)
    for n in range(1, len(short) + 1):
        for names in combinations(short, n):
            if len(set(zip(*(values[name] for name in names), strict=True))) == len(claims):
                return names
    return ()


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
