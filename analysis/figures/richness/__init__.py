"""Figures of how rich networks are [Nam26]."""

from analysis.figures.richness.grokking import GROKKING
from analysis.figures.richness.symbols import SYMBOLS

RICHNESS_FIGURES = [SYMBOLS, GROKKING]
