"""A study as its folder declares it. This is data: to read it imports no theory, no figure and no chart."""

from pathlib import Path

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from analysis.studies.along import Along

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
    """The tag with which the sources of its statements begin, such as `Tong25`, if they are those of one paper."""
    paper: str = ""
    """Authors, year and title of that paper."""
    figures: tuple[Along, ...] = ()
    """Figures that are declared; others are functions of `figures.py`."""
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

    def grid_file(self, stem: str) -> Path:
        """The file of the grid with this stem."""
        return self.folder / "grids" / f"{stem}.yaml"
