"""Figures of networks at equilibrium [Rubin25]."""

from .alignment import ALIGNMENT_FIGURES
from .attention import ATTENTION_FIGURES
from .phases import PHASE_FIGURES
from .specialising import SPECIALISING_FIGURES

FIGURES = (*ALIGNMENT_FIGURES, *SPECIALISING_FIGURES, *ATTENTION_FIGURES, *PHASE_FIGURES)
