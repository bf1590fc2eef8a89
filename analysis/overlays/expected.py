"""Values that the theory of all studies has for one network, by measure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from analysis.studies.loading import of_each, part


class Expected(NamedTuple):
    """The theory's value for a measure of a network, and its source."""

    value: float
    source: str


def expected(cell: Mapping[str, Any]) -> dict[str, Expected]:
    """The theory's values for a network, a row of `cells`, by measure: those of `EXPECTED`, a function of a study's module
    `theory`. Empty if no theory applies to it."""
    found: dict[str, Expected] = {}
    for _, of_study in of_each(lambda study: getattr(part(study.folder, "theory"), "EXPECTED", None)):
        found |= of_study(cell) if of_study else {}
    return found
