"""Names that a study's files import: `Study`, `Along`, `Case` and `Page` for study.py; `theory` and `Estimate` for theory.py;
`Figure`, `Drawn` and `Missing` for figures.py; `kind`, `networks`, `Measured` and `NotMeasured` for kinds.py. All but the first
four are imported when they are asked for: study.py is light."""

from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from analysis.studies.along import Along as Along
from analysis.studies.along import Case as Case
from analysis.studies.declared import Declared
from analysis.studies.page import Page as Page

if TYPE_CHECKING:
    import pandas as pd

    from analysis.claims.kinds.declared import kind as kind
    from analysis.claims.networks_used import networks as networks
    from analysis.claims.verdict import Measured as Measured
    from analysis.claims.verdict import NotMeasured as NotMeasured
    from analysis.figures.drawn import Drawn as Drawn
    from analysis.figures.drawn import Figure as Figure
    from analysis.figures.drawn import Missing as Missing
    from analysis.overlays.declared import theory as theory
    from analysis.theory.estimate import Estimate as Estimate

_HOMES = {
    "theory": "overlays.declared", "Estimate": "theory.estimate", "kind": "claims.kinds.declared", "Measured": "claims.verdict",
    "NotMeasured": "claims.verdict", "networks": "claims.networks_used",
    "Figure": "figures.drawn", "Drawn": "figures.drawn", "Missing": "figures.drawn",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"analysis.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Study(Declared):
    """A law or a paper as one folder, which `study.py` in it declares:

    ```python
    from analysis.study import Study

    STUDY = Study(title="My law", source="derived here", grids=("my_law_quick", "my_law"))
    ```

    The folder's name is the study's. Beside `study.py` may lie `theory.py` (curves), `figures.py`, `kinds.py` (its own
    measurements for claims), `claims.yaml`, `README.md`, the folder `grids`, and tests.
    """

    @classmethod
    def load(cls, name_or_folder: str | PathLike[str]) -> Self:
        """The study of this name, or that in this folder: `Study.load("my_law")`. StudyError in words for a mistake."""
        from analysis.studies.loading import load

        return load(Path(name_or_folder))  # type: ignore[return-value]

    @property
    def theory(self) -> ModuleType:
        """Its module `theory`. StudyError if it has none."""
        return self._part("theory")

    def _part(self, name: str) -> ModuleType:
        from analysis.studies.loading import part
        from sweepkit.studies import StudyError

        found = part(self.folder, name)
        if found is None:
            raise StudyError(f"study {self.name} has no {name}.py in {self.folder}")
        return found

    def judge(self, results: str | PathLike[str] = "results") -> "pd.DataFrame":
        """One row for each of its statements: the verdict of the networks in `results`, as `Results.claims` gives them."""
        from analysis.claims.check import claims_frame, load_claims
        from analysis.claims.verdict_cache import checked
        from analysis.data.measures import measures
        from analysis.data.source import existing, location

        place = location(results)
        existing(place)
        return claims_frame(checked(place, load_claims(known_measures=measures(place), study=self.name)))

    def report(self, results: str | PathLike[str] = "results", out: str | PathLike[str] | None = None) -> Path:
        """Write its words, figures and verdicts as one HTML file: `out`, by default `report.html` in its folder. The file."""
        from analysis.data.source import existing, location
        from analysis.overlays.waiting import computed
        from analysis.report.study import build
        from sweepkit.console.writing import write_whole

        place, file = location(results), Path(out or self.folder / "report.html")
        existing(place)
        write_whole(file, build(self, place, computed))
        return file
