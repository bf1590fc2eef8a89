"""Entries of the files of claims, those of studies among them, read and checked."""

import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from analysis.claims.papers import FIELD, OURS, Place, place, rank
from analysis.studies.loading import studies
from sweepkit.console.commands import name_here
from sweepkit.console.words import pydantic_reason
from sweepkit.console.yaml_lines import read_yaml
from sweepkit.shipped import ROOT
from sweepkit.studies import StudyError, folders, leave_out


def claims_files() -> dict[Path, str]:
    """The files of claims, each with the name of the study that it belongs to."""
    return {study.claims_file: study.name for study in studies() if study.claims_file}


class Frozen(BaseModel):
    """A model that refuses unknown fields and cannot be changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Expected(Frozen):
    """The values that confirm a claim: `equal` within a tolerance, or one side of a bound."""

    equal: float | None = None
    within: float | None = Field(default=None, gt=0)
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> "Expected":
        if (self.equal is None) != (self.within is None):
            raise ValueError("`equal` and `within` go together")
        if self.equal is None and self.at_least is None and self.at_most is None:
            raise ValueError("say `equal` and `within`, `at_least` or `at_most`")
        if self.equal is not None and (self.at_least is not None or self.at_most is not None):
            raise ValueError("either `equal` or bounds")
        return self

    @property
    def region(self) -> tuple[float, float]:
        """Least and largest confirming value."""
        if self.equal is not None and self.within is not None:
            return self.equal - self.within, self.equal + self.within
        low, high = self.at_least, self.at_most
        return (-np.inf if low is None else low), (np.inf if high is None else high)

    def __str__(self) -> str:
        if self.equal is not None:
            return f"{self.equal:.4g} ± {self.within:g}"
        parts = [f"{sign} {value:g}" for sign, value in (("≥", self.at_least), ("≤", self.at_most)) if value is not None]
        return " and ".join(parts)


_WITH_EXPECTED = ("law", "rivals", "identity", "fitted", "after_look", "other_setting")


class Claim(Frozen):
    """One statement of a paper, and how it is put to the test or why it is not."""

    id: str
    topic: str
    source: str
    says: str
    """The statement in our words."""
    grid: str | None = None
    """The grid that yields its networks; None if it needs none from the store."""
    measure: dict[str, Any] = {}
    """`kind` names a function of `kinds.KINDS`; the rest are its arguments. Empty if nothing measures the statement."""
    on_request: bool = False
    """True if the grid asks for the measure by `save:`. A store need not know such a measure."""
    expected: Expected | None = None
    because: str = ""
    """Why this tolerance."""
    law: float | None = None
    """The value that the statement's law has for the measure, where `expected` has bounds around it in place of `equal`."""
    rivals: tuple[float, ...] = ()
    """The values that the measure has by the other laws that the entry names."""
    identity: str = ""
    """Why the measure can be nothing but what is expected: the verdict *identity* stands in place of *confirmed*."""
    fitted: str = ""
    """A number of ours that was chosen by the quantity judged, and among which values. It marks the verdict as *fitted*."""
    after_look: str = ""
    """Parts of the entry (tolerance, level, reading) that were set after a look at the networks. They mark the verdict."""
    looks: int = Field(default=1, ge=1)
    """At how many numbers of seeds the verdict was taken, if seeds were added until it was decided: its interval is at
    1 - 0.05/looks."""
    other_setting: str = ""
    """A difference of our setting from the source's that may be why: *not reproduced* stands in place of *contradicted*."""
    not_measured: str = ""
    """Why nothing measures the statement; stands in place of `measure`, `expected` and `because`."""
    formulas_lost: bool = False
    """True if nothing measures it because the text that we have lacks the formula."""
    needs: str = ""
    """Files that the networks of its grid take and only their user can supply; said while there are no such networks."""
    note: str = ""
    """An explanation of a disagreement, as far as it is known."""
    study: str = Field(default="", exclude=True)
    """The study whose file holds the entry."""
    entry: str = Field(default="", exclude=True)
    """The id as the entry has it, before the values of `for` are filled in: that of the statement."""
    template: str = Field(default="", exclude=True)
    """`says` as the entry has it."""
    values: dict[str, Any] = Field(default={}, exclude=True)
    """The values of `for`: they tell the statement's instances apart."""

    @model_validator(mode="after")
    def _is_measured_or_says_why_not(self) -> "Claim":
        tested = {"measure": bool(self.measure), "expected": self.expected is not None, "because": bool(self.because)}
        if self.not_measured:
            if given := [name for name in (*tested, "grid") if tested.get(name, self.grid is not None)]:
                raise ValueError(f"`not_measured` stands in place of {', '.join(given)}")
        elif self.formulas_lost:
            raise ValueError("`formulas_lost` goes with `not_measured`")
        elif missing := [name for name, there in tested.items() if not there]:
            raise ValueError(f"say {', '.join(missing)}, or `not_measured` and why")
        return self

    @model_validator(mode="after")
    def _tells_its_law_from_rivals(self) -> "Claim":
        """The region that confirms a law ends halfway to each rival at the latest; for a ratio, halfway between logarithms."""
        if self.expected is None:
            if given := [name for name in _WITH_EXPECTED if getattr(self, name)]:
                raise ValueError(f"{given[0]} goes with `expected`")
            return self
        if self.law is not None and self.expected.equal is not None:
            raise ValueError("either `law` or `equal`")
        low, high = self.expected.region
        law = self.expected.equal if self.law is None else self.law
        scale = np.log if str(self.measure.get("kind", "")).endswith("_ratio") else float
        for rival in self.rivals:
            if law is None:
                if low <= rival <= high:
                    raise ValueError(f"{self.expected} lets in the rival {rival:g}")
                continue
            end, middle = (high if rival > law else low), (scale(law) + scale(rival)) / 2
            if not np.isfinite(end) or (scale(end) - middle) * np.sign(rival - law) > 1e-9:
                raise ValueError(f"{self.expected} reaches more than halfway from {law:g} to the rival {rival:g}")
        return self

    @property
    def paper(self) -> str:
        """The tag in brackets with which `source` begins, such as `Saxe14`. If there is none: FIELD for a law of a paper that it
        names, OURS for what is derived here."""
        if tag := re.match(r"\[(\w+)\]", self.source):
            return tag[1]
        return FIELD if "[" in self.source and "derived" not in self.source else OURS

    @property
    def place(self) -> Place:
        """The part of the paper that makes the statement; of a law of the field or of this project, its topic."""
        return Place((0, self.topic, 0, 0), self.topic) if self.paper in (FIELD, OURS) else place(self.source)


def read_claims(*paths: Path) -> list[Claim]:
    """All entries of these files, by default of all studies: by paper, those that nothing measures last, else by file.

    An entry with `for` stands once for each set of its values. ValueError with the entry's id for a mistake.
    """
    files = dict.fromkeys(paths, "") if paths else claims_files()
    claims: list[Claim] = []
    # Ids of the project's studies are theirs, wherever another study stands in lists.
    for path, study in sorted(files.items(), key=lambda one: not one[0].is_relative_to(ROOT)):
        try:
            found = _entries(path, study)
            counts = Counter(claim.id for claim in (*claims, *found))
            if twice := sorted({claim.id for claim in found if counts[claim.id] > 1}):
                raise ValueError(f"{_named(path)}: ids used twice: {', '.join(twice)}")
        except ValueError as error:
            if not study:
                raise
            leave_out(folders()[study], StudyError(str(error)))
        else:
            claims += found
    return sorted(claims, key=lambda claim: (rank(claim.paper), bool(claim.not_measured)))


def _named(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _entries(path: Path, study: str) -> list[Claim]:
    claims: list[Claim] = []
    found = read_yaml(path, quick=True)  # a page waits for the claims
    entries = found.get("claims") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{_named(path)}: not a file of claims: it must hold the key `claims`, a list of mappings")
    for entry in entries:
        each = entry.pop("for", {})
        sets = each if isinstance(each, list) else [dict(zip(each, v, strict=True)) for v in itertools.product(*each.values())]
        for values in sets:
            whole = {"study": study, "entry": entry.get("id", ""), "template": entry.get("says", ""), "values": values}
            filled = filled_in(entry, values) | whole
            filled["grid"] = _grid_of(path, filled.get("grid"))
            try:
                claims.append(Claim.model_validate(filled))
            except ValidationError as error:
                raise ValueError(f"{_named(path)}: claim {filled.get('id')}: {pydantic_reason(error)}") from error
    return claims


def _grid_of(path: Path, grid: Any) -> Any:
    """The word for an entry's grid: the path of its file, if that lies in `grids` beside claims that are not the project's."""
    file = path.parent / "grids" / f"{grid}.yaml"
    if not isinstance(grid, str) or path.is_relative_to(ROOT) or not file.is_file():
        return grid
    return name_here(file)


def filled_in(value: Any, names: dict[str, Any]) -> Any:
    """The value with `{L}` in its texts replaced by the value of L. A text that is only `{L}` becomes the value itself, so that
    a number stays a number."""
    if isinstance(value, dict):
        return {key: filled_in(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled_in(inner, names) for inner in value]
    if isinstance(value, str):
        if (whole := re.fullmatch(r"\{(\w+)\}", value)) and whole[1] in names:
            return names[whole[1]]
        return re.sub(r"\{(\w+)\}", lambda found: str(names.get(found[1], found[0])), value)
    return value
