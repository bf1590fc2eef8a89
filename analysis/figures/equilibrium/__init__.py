"""Figures of networks at equilibrium [Rubin25]."""

from analysis.figures.equilibrium.alignment import ALIGNMENT_FIGURES
from analysis.figures.equilibrium.attention import ATTENTION_FIGURES
from analysis.figures.equilibrium.phases import PHASE_FIGURES
from analysis.figures.equilibrium.specialising import SPECIALISING_FIGURES

EQUILIBRIUM_FIGURES = [*ALIGNMENT_FIGURES, *SPECIALISING_FIGURES, *ATTENTION_FIGURES, *PHASE_FIGURES]
