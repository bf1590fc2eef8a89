"""What a study's folder says of itself. It is data: to read it imports no theory, no figure and no chart."""

from dataclasses import dataclass, field
from pathlib import Path

LAST = 100
"""The place of a study that says none."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The fields of `analysis.Study`."""

    title: str
    source: str = "derived here"
    """The tags of papers in brackets, or words."""
    grids: tuple[str, ...] = ()
    """Stems of its grids: the quickest first, which `sweep study run` trains; the last is trained with `--full`."""
    tag: str = ""
    """The tag with which the sources of its statements begin, such as `Tong25`, if they are those of one paper."""
    paper: str = ""
    """Authors, year and title of that paper."""
    needs: tuple[str, ...] = ()
    """Names of the studies whose modules those of this one import."""
    order: int = LAST
    """Its place in lists; those of one place stand by name."""
    folder: Path = field(default=Path(), repr=False)
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
