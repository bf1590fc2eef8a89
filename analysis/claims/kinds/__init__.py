"""Kinds of measurement that a claim may name."""

from collections.abc import Callable, Mapping
from typing import Any

from analysis.claims.kinds.along import (
    at_first,
    curve_exponent,
    steps_ratio,
)
from analysis.claims.kinds.declared import is_kind
from analysis.claims.kinds.measuring import (
    beside_theory,
    difference_of_measures,
    error_beside_theory,
    mean,
    slope,
    threshold_exponent,
    threshold_ratio,
)
from analysis.claims.kinds.optimum import optimum_exponent, peak_ratio
from analysis.claims.kinds.pairs import difference, largest_difference, turn
from analysis.claims.kinds.ratios import ratio_to_theory
from analysis.claims.kinds.times import time_exponent
from analysis.claims.verdict import Measured, NotMeasured
from analysis.studies.declared import Declared
from analysis.studies.gathered import Gathered
from analysis.studies.loading import of_each, part
from sweepkit.studies import StudyError

_CORE: tuple[Callable[..., Measured | NotMeasured], ...] = (
    mean, slope, difference, largest_difference, turn, difference_of_measures, at_first, steps_ratio,
    curve_exponent, time_exponent,
    beside_theory, error_beside_theory, ratio_to_theory, threshold_ratio, threshold_exponent, optimum_exponent, peak_ratio,
)  # fmt: skip
OF_ANY = {function.__name__: function for function in _CORE}
"""The functions that measure and belong to no study, by name."""


def _all() -> dict[str, Callable[..., Measured | NotMeasured]]:
    found = dict(OF_ANY)

    def gather(study: Declared) -> None:
        module = part(study.folder, "kinds")
        own = {value.__name__: value for value in vars(module).values() if is_kind(value)} if module else {}
        for name, function in own.items():
            if found.get(name, function) is not function:
                raise StudyError(f"study {study.name}: kind {name!r} is there already: give it another name")
        found.update(own)

    of_each(gather)
    return found


KINDS = Gathered(_all)
"""The functions that measure, by name."""

_EVENTS = ("when", "since", "before")
"""Arguments that bound metrics along training."""


def measures_of(measure: Mapping[str, Any]) -> list[str]:
    """The metrics that a claim's measurement names."""
    named = [measure[argument] for argument in ("measure", "minus_measure") if argument in measure]
    return [*named, *(name for event in _EVENTS for name in measure.get(event, ()))]


def is_along(measure: Mapping[str, Any]) -> bool:
    """True if a claim's measurement names metrics along training."""
    return any(event in measure for event in (*_EVENTS, "first", "reaches"))
