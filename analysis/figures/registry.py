"""All figures, in the paper's order, and then those of no paper."""

from analysis.figures.curves import CURVE_FIGURES
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.figures.equilibrium import EQUILIBRIUM_FIGURES
from analysis.figures.laws import LAW_FIGURES
from analysis.figures.maps import MAP_FIGURES
from analysis.figures.max_margin import C1
from analysis.figures.seen import SEEN_FIGURES
from analysis.figures.specialising import SPECIALISING_FIGURES
from analysis.figures.structure import STRUCTURE_FIGURES

ORDER = ("1a", "1b", "1c", "1d", "1e", "1f", "2", "3a", "3b", "3c", "3d", "3e", "3f", "3g", "3h", "A1", "C1", "C2", "C3", "F1",
         "G1", "Lstar", "Nstar", "Collapse", "Outliers", "Layers", "Magnitude", "Phases")  # fmt: skip

_ALL = (
    *STRUCTURE_FIGURES,
    *MAP_FIGURES,
    *CURVE_FIGURES,
    *SEEN_FIGURES,
    C1,
    *LAW_FIGURES,
    *EQUILIBRIUM_FIGURES,
    *SPECIALISING_FIGURES,
)
FIGURES = {f.name: f for name in ORDER for f in _ALL if f.name == name}
"""By name, of a figure of the paper by the paper's."""

__all__ = ["FIGURES", "ORDER", "Drawn", "Figure", "Missing"]
