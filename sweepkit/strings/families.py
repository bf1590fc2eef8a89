"""Sets of templates with labels: written by hand, or a named family of [Boix23 Sec. 1, App. A, B].

real       a label is a number: which kind of string is this?
symbolic   a label is a token of the template, mostly a wildcard: which symbol is the answer?

A string has its template drawn uniformly from the set. Templates of a set have one length, and no two make the same strings.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from sweepkit.strings.patterns import Pattern, Token, numbered, parsed, spelled, wildcards

REAL_PROGRAM = ("A=1;B=-1;print(A)", "A=1;B=-1;print(B)")
SYMBOLIC_PROGRAM = ('A="C";B="D";print(A)', 'A="C";B="D";print(B)')
"""Programs letter by letter; capital letters are the wildcards [Boix23 Eqs. 1, 2; restored, their formulas are lost]."""


MOST_TEMPLATES = 4096
"""More templates than that make a set too large to go through."""


TRIES = 1000
"""Draws for each random template: rarer ones are not waited for."""


class Labelled(NamedTuple):
    """A template with its label: a number, or a token of it."""

    pattern: Pattern
    label: float | Token


def written(text: str, symbolic: bool = False) -> tuple[Labelled, ...]:
    """Templates written letter by letter with labels, `aa:1/ab:-1` or `aXb:a/aYb:b`: see templates.patterns.parsed.

    Two templates without labels have 1 and -1. ValueError if a label is missing, is no number, or is no letter of its template,
    and see `checked`.
    """
    parts = [part.split(":") for part in text.split("/")]
    bare = [part[0] for part in parts if len(part) == 1]
    if bare and (symbolic or len(parts) != 2 or len(bare) != 2):
        example = "aXb:a/aYb:b" if symbolic else "aab:1/aba:0/abb:-1"
        raise ValueError(f"each template takes a label, as in {example}" + ("" if symbolic else ", unless there are two"))
    if bare:
        return checked([Labelled(parsed(bare[0]), 1.0), Labelled(parsed(bare[1]), -1.0)])
    return checked([_symbolic(*part) if symbolic else _real(*part) for part in parts])


def _real(text: str, *labels: str) -> Labelled:
    try:
        (label,) = map(float, labels)
    except ValueError:
        raise ValueError(f"the label of {text} must be one number, and it is {':'.join(labels)!r}") from None
    if not np.isfinite(label):
        raise ValueError(f"the label of {text} must be finite, and it is {labels[0]}")
    return Labelled(parsed(text), label)


def _symbolic(text: str, *labels: str) -> Labelled:
    label = ":".join(labels)
    if len(label) != 1 or label not in text:
        raise ValueError(f"the label of {text} must be one of its letters, and it is {label!r}")
    return Labelled(parsed(text), parsed(text)[text.index(label)])


def checked(templates: Sequence[Labelled]) -> tuple[Labelled, ...]:
    """These templates. ValueError if they differ in length, or if two make the same strings [Boix23 Def. 1]."""
    found: dict[Pattern, Pattern] = {}
    for pattern, _ in templates:
        if not pattern:
            raise ValueError("a template has at least one letter")
        if len(pattern) != len(templates[0].pattern):
            lengths = ", ".join(f"{spelled(one)} {len(one)}" for one, _ in templates)
            raise ValueError(f"templates must have one length, and these have {lengths}")
        if numbered(pattern) in found:
            raise ValueError(f"{spelled(pattern)} is there twice: a template with its wildcards renamed is the same")
        found[numbered(pattern)] = pattern
    return tuple(templates)


@cache
def majority(length: int) -> tuple[Labelled, ...]:
    """a{a,b}^length: 1 if a is more than half of what follows the first token, else -1 (2^length templates). ValueError if these
    are more than MOST_TEMPLATES."""
    if 2**length > MOST_TEMPLATES:
        raise ValueError(f"majority of length {length} has more than {MOST_TEMPLATES} templates")
    tails = product((0, 1), repeat=length)
    return checked([Labelled((0, *tail), 1.0 if 2 * tail.count(0) > length else -1.0) for tail in tails])


@cache
def program() -> tuple[Labelled, ...]:
    """Two programs that print 1 or -1."""
    return checked([Labelled(_program(text), label) for text, label in zip(REAL_PROGRAM, (1.0, -1.0), strict=True)])


@cache
def symbolic_program() -> tuple[Labelled, ...]:
    """Two programs that print one of two symbols: a knowledge of both symbols alone is right half the time."""
    first, second = map(_program, SYMBOLIC_PROGRAM)
    return checked([Labelled(first, first[3]), Labelled(second, second[9])])


def _program(text: str) -> Pattern:
    return numbered(tuple(ord(letter) if letter.isupper() else letter for letter in text))


@cache
def copy() -> tuple[Labelled, ...]:
    """One symbol, which is the label."""
    return (Labelled((0,), 0),)


@cache
def distribution_of_3() -> tuple[Labelled, ...]:
    """Symbols a b c, two of them in any order, and four to choose from in any order, one of them new. The label is the place,
    1 to 4, of the one that the second row lacks: 6 x 24 = 144 templates."""
    found = []
    for row, choice in product(permutations(range(3)), permutations(range(4))):
        found.append(Labelled((0, 1, 2, *row[:2], *choice), 1.0 + choice.index(row[2])))
    return checked(found)


@cache
def match_to_sample() -> tuple[Labelled, ...]:
    """Three symbols, and two further triples of other symbols, one of which has the pattern of the first: 1 if that is the one in
    the middle, else -1. 5 patterns, 2 places, 4 other patterns: 40 templates."""
    triples = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    found = []
    for sample, is_first, other in product(triples, (True, False), triples):
        if other != sample:
            middle, last = (sample, other) if is_first else (other, sample)
            tokens = (*sample, *(3 + token for token in middle), *(6 + token for token in last))
            found.append(Labelled(numbered(tokens), 1.0 if is_first else -1.0))
    return checked(found)


@cache
def raven() -> tuple[Labelled, ...]:
    """One attribute of a matrix of 3 x 3 without its last entry, which is the label: rows hold the same three values, a b c in
    the first and any order in the others, or one value each. 36 + 1 = 37 templates."""
    orders = list(permutations(range(3)))
    found = [Labelled((0, 1, 2, *second, *third[:2]), third[2]) for second, third in product(orders, orders)]
    return checked([*found, Labelled((0, 0, 0, 1, 1, 1, 2, 2), 2)])


def drawn(rng: np.random.Generator, length: int, n_templates: int, n_wildcards: int, n_regular: int) -> tuple[Labelled, ...]:
    """Templates drawn uniformly from (W u R)^length, no two of which make the same strings; labels are normal numbers, centred
    and scaled so that their mean square is 1. [Boix23 App. B, "Random template task"]

    Regular tokens are those of `regular_tokens`. ValueError if there are fewer than `n_templates` such templates
    (`n_patterns`), or if the last of them are too rare to be drawn.
    """
    told = f"templates of length {length} over {n_wildcards} wildcards and {n_regular} regular tokens"
    if n_templates > (most := n_patterns(length, n_wildcards, n_regular)):
        raise ValueError(f"there are {most} {told}")
    found: dict[Pattern, None] = {}
    names, tries = regular_tokens(n_regular), 0
    while len(found) < n_templates:
        if (tries := tries + 1) > TRIES * n_templates:
            raise ValueError(f"{tries - 1} draws found {len(found)} of {n_templates} {told}: ask for fewer")
        tokens = rng.integers(0, n_wildcards + n_regular, length).tolist()
        found[numbered(tuple(token if token < n_wildcards else names[token - n_wildcards] for token in tokens))] = None
    labels = rng.standard_normal(n_templates)
    labels -= labels.mean()
    labels /= np.sqrt(np.mean(labels**2)) or 1.0  # one template has the label 0
    return tuple(Labelled(pattern, float(label)) for pattern, label in zip(found, labels, strict=True))


def regular_tokens(n: int) -> list[str]:
    """Names of the regular tokens of random templates, in the order of sorting."""
    return [f"R{place:03d}" for place in range(n)]


def place_of(token: str) -> int:
    """The place of a name among `regular_tokens`."""
    return int(token[1:])


def n_patterns(length: int, n_wildcards: int, n_regular: int) -> int:
    """Number of templates of this length over so many wildcards and regular tokens, no two of which make the same strings."""
    by_used = {0: 1}  # wildcards in use: templates
    for _ in range(length):
        longer: dict[int, int] = {}
        for used, n in by_used.items():
            longer[used] = longer.get(used, 0) + n * (used + n_regular)
            if used < n_wildcards:
                longer[used + 1] = longer.get(used + 1, 0) + n
        by_used = longer
    return sum(by_used.values())


REAL: dict[str, Callable[[], tuple[Labelled, ...]]] = {
    "program": program, "distribution_of_3": distribution_of_3, "match_to_sample": match_to_sample,
}  # fmt: skip
"""Families with real labels that have no parameters."""
SYMBOLIC: dict[str, Callable[[], tuple[Labelled, ...]]] = {"copy": copy, "program": symbolic_program, "raven": raven}
"""Families with symbolic labels."""
MAJORITY = "majority"
"""The family with a parameter, its length."""


def named(name: str, length: int | None = None) -> tuple[Labelled, ...]:
    """The templates with real labels that a text names: a family, with its `length` if it has one, or what `written` reads."""
    if name == MAJORITY:
        return majority(length or 0)
    return REAL[name]() if name in REAL else written(name)


def trivial_mse(templates: Sequence[Labelled]) -> float:
    """Mean squared error of the mean label: the least that any function has which does not see the template."""
    labels = np.array([float(label) for _, label in templates])
    return float(labels.var())


def most_wildcards(templates: Sequence[Labelled]) -> int:
    """The greatest number of wildcards of a template: an alphabet needs as many tokens."""
    return max(len(wildcards(pattern)) for pattern, _ in templates)
