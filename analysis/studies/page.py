"""A page of the app that a study brings, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from sweepkit.studies import StudyError

Saved = Literal["weights", "neurons", "richness"]
"""Kinds of things that networks may save besides their numbers and curves."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page, and the networks that it shows:

    ```python
    Page(name="noise", title="Noise", meaning="Noisy symbols beside the Bayes classifiers", varying=("L",),
         where={"sigma2": {"above": 0}}, networks="networks with noisy symbols (sigma2 above 0) at two L", grid="quick")
    ```

    The module `pages/NAME.py` of the study has `show(results)`, which Streamlit runs.
    """

    name: str
    """Its address."""
    title: str
    meaning: str
    """One line: what it shows."""
    networks: str
    """The networks that it needs, in words."""
    grid: str
    """A grid that trains some, and how long that takes on two cores."""
    takes: str
    where: Mapping[str, Any] = field(default_factory=dict)
    """The keys of these networks: a value, None for no value, a list, or a bound {above: number}."""
    varying: tuple[str, ...] = ()
    """Keys that have at least two values among them, within one sweep and task."""
    saved: Saved | Literal[""] = ""
    """The name of what they must have saved besides their numbers, such as `richness`."""
    others: str = ""
    """Words about further grids that train more."""

    def __post_init__(self) -> None:
        """StudyError for a condition that is none."""
        for key, wanted in self.where.items():
            if isinstance(wanted, Mapping) and wanted.keys() != {"above"}:
                raise StudyError(f"page {self.name!r}: where: {key}: a bound is {{'above': number}}")
        if self.saved not in ("", *get_args(Saved)):
            raise StudyError(f"page {self.name!r}: saved = {self.saved!r}: must be one of {', '.join(get_args(Saved))}")
