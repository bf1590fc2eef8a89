"""Values that the theory of all studies has for one network, by measure."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from analysis.studies.gathered import Gathered
from analysis.studies.loading import of_each, part


class Expected(NamedTuple):
    """The theory's value for a measure of a network, and its source."""

    value: float
    source: str


def expected(cell: Mapping[str, Any]) -> dict[str, Expected]:
    """The theory's values for a network, a row of `cells`, by measure: those of `EXPECTED`, a function of a study's module
    `theory`. Empty if no theory applies to it."""
    return {measure: value for of_study in _EXPECTED.values() for measure, value in of_study(cell).items()}


def _all() -> dict[str, Callable[[Mapping[str, Any]], dict[str, Expected]]]:
    found = of_each(lambda study: getattr(part(study.folder, "theory"), "EXPECTED", None))
    return {study.name: function for study, function in found if function}


_EXPECTED = Gathered(_all)
"""By study, its function."""
