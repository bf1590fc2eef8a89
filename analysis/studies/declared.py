"""A study as its folder declares it. This is data: to read it imports no theory, no figure and no chart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from analysis.studies.along import Along
from analysis.studies.page import Page
from sweepkit.console.commands import name_here
from sweepkit.studies import OURS

LAST = 100
"""The place of a study that says none."""


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Declared:
    """The fields of `analysis.study.Study`."""

    title: str
    shows: str = ""
    """A few words for the result: `balances are conserved`."""
    source: str = "derived here"
    """The tags of papers in brackets, or words."""
    grids: tuple[str, ...] = ()
    """Stems of its grids: the quickest first, which `sweep study run` trains; the last is trained with `--full`."""
    tag: str = ""
    """The tag with which the sources of its statements begin, such as `Saxe14`, if they are those of one paper."""
    paper: str = ""
    """Authors, year and title of that paper."""
    came_out: str = ""
    """One sentence: what came out when its statements were put to the test. Stands below the table of verdicts."""
    figures: tuple[Along, ...] = ()
    """Figures that are declared; others are functions of `figures.py`."""
    pages: tuple[Page, ...] = ()
    """Its pages of the app: `pages/NAME.py` of each has `show(results)`."""
    settings: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """By task, the values of keys that its source's networks have: where a store has networks of several, these are shown and
    judged first."""
    first: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """By task, keys of the network that the app shows first."""
    labels: Mapping[str, tuple[str, str]] = Field(default_factory=dict)
    """By task of two labels, each of half of all examples, the words for labels above 0 and for the others."""
    levels: Mapping[str, float] = Field(default_factory=dict)
    """By metric, the level that tells where networks begin to learn, or have learnt."""
    meanings: Mapping[str, str] = Field(default_factory=dict)
    """The meanings of the values of metrics on request, the main metric first."""
    evidence: tuple[str, ...] = ()
    """The sweeps whose networks are kept with the project: a grid, and the keys that thin it."""
    pictures: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """By name, a picture of the documentation: figures, side by side, each with the sweep that it shows, if not all: `Nstar
    nstar-he3-quick`."""
    needs: tuple[str, ...] = ()
    """Names of the studies whose modules those of this one import."""
    order: int = LAST
    """Its place in lists; those of one place stand by name."""
    folder: Path = Field(default=Path(), repr=False)
    """Set when the study is loaded."""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def claims_file(self) -> Path | None:
        """Its file of claims, if it has one."""
        file = self.folder / "claims.yaml"
        return file if file.is_file() else None

    def grid_word(self, stem: str) -> str:
        """The word by which commands take one of its grids: the name if the study is of the project, else the path; of a grid of
        another study its name."""
        file = self.grid_file(stem)
        return stem if self.folder.parent == OURS or not file.is_file() else name_here(file)

    def grid_file(self, stem: str) -> Path:
        """The file of the grid with this stem."""
        return self.folder / "grids" / f"{stem}.yaml"
