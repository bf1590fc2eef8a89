"""Figures of laws of training (docs/science/laws.md)."""

from analysis.figures.training.balance import BALANCE
from analysis.figures.training.edge import EDGE
from analysis.figures.training.lazy_to_rich import LAZY_TO_RICH
from analysis.figures.training.one_third import ONE_THIRD
from analysis.figures.training.rates import RATES

TRAINING_FIGURES = [RATES, BALANCE, EDGE, ONE_THIRD, LAZY_TO_RICH]
