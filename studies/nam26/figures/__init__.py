"""Figures of how rich networks are [Nam26]."""

from .collapse import COLLAPSE
from .forms import FORMS
from .grokking import GROKKING
from .linear import LINEAR
from .spectra import SPECTRA
from .symbols import SYMBOLS

FIGURES = (SYMBOLS, *SPECTRA, GROKKING, LINEAR, COLLAPSE, FORMS)
