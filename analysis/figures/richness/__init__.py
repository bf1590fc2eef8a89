"""Figures of how rich networks are [Nam26]."""

from analysis.figures.richness.forms import FORMS
from analysis.figures.richness.grokking import GROKKING
from analysis.figures.richness.linear import LINEAR
from analysis.figures.richness.spectra import SPECTRA
from analysis.figures.richness.symbols import SYMBOLS

RICHNESS_FIGURES = [SYMBOLS, *SPECTRA, GROKKING, LINEAR, FORMS]
