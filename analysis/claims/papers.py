"""The papers whose statements are put to the test, and where in a paper a statement stands."""

import re
from typing import NamedTuple

from analysis.studies.gathered import Gathered
from analysis.studies.loading import studies

PAPERS = Gathered(lambda: {study.tag: study.paper for study in studies() if study.tag})
"""Authors, year and title by the tag with which the source of a claim begins."""
FIELD = "laws of the field"
"""Stands in place of the tag for laws that other papers have, and whose networks are this project's."""
OURS = "this project"
"""Stands in place of the tag for what is derived here."""
NAMES = {FIELD: "Laws of the field", OURS: "Derived here"}
"""Headings for these two."""


def rank(paper: str) -> int:
    """The place of a paper in every list of papers: the order of PAPERS, then FIELD and OURS, then any other."""
    known = [*PAPERS, FIELD, OURS]
    return known.index(paper) if paper in known else len(known)


_KINDS = {"S": "Section", "Sec": "Section", "Eq": "Equation", "Theorem": "Theorem", "Table": "Table", "Fig": "Figure"}
_ORDER = list(dict.fromkeys(_KINDS.values()))
_PLACE = re.compile(
    r"\b(?:(?P<kind>Fig|Eq|App|Sec)\. ?|(?P<word>Theorem|Table) |(?P<s>S)(?=\d))(?P<letter>[A-Z]?)(?P<number>\d*)"
)


class Place(NamedTuple):
    """A part of a paper. Places sort as a reader looks for them: the main text by kind and number, then appendices."""

    rank: tuple[int, str, int, int]
    heading: str


ELSEWHERE = Place((2, "", 0, 0), "Elsewhere in the text")


def place(source: str) -> Place:
    """The first place that a source names, by its main number: `Fig. 1b` is in Figure 1, `App. C.4`, `Eq. C.18` and `Fig. C3` in
    Appendix C."""
    found = _PLACE.search(source)
    if found is None or not (found["letter"] or found["number"]):
        return ELSEWHERE
    if found["letter"]:
        return Place((1, found["letter"], 0, 0), f"Appendix {found['letter']}")
    kind = _KINDS[found["kind"] or found["word"] or found["s"]]
    return Place((0, "", _ORDER.index(kind), int(found["number"])), f"{kind} {found['number']}")
