"""Figures of same-different on symbols and images [Tong25]."""

from analysis.figures.symbols.curves import CURVE_FIGURES
from analysis.figures.symbols.laws import LAW_FIGURES
from analysis.figures.symbols.looks import LOOK_FIGURES
from analysis.figures.symbols.maps import MAP_FIGURES
from analysis.figures.symbols.max_margin import MAX_MARGIN_FIGURES
from analysis.figures.symbols.seen import SEEN_FIGURES
from analysis.figures.symbols.structure import STRUCTURE_FIGURES

SYMBOL_FIGURES = [
    *STRUCTURE_FIGURES, *MAP_FIGURES, *CURVE_FIGURES, *SEEN_FIGURES, *MAX_MARGIN_FIGURES, *LAW_FIGURES, *LOOK_FIGURES,
]  # fmt: skip
