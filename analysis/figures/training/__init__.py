"""Figures of laws of training (docs/science/laws.md)."""

from analysis.figures.training.balance import BALANCE
from analysis.figures.training.deep_linear import DEEP_LINEAR
from analysis.figures.training.denoising import DENOISING
from analysis.figures.training.edge import EDGE
from analysis.figures.training.fluctuations import FLUCTUATIONS
from analysis.figures.training.in_context import IN_CONTEXT
from analysis.figures.training.in_context_mlp import IN_CONTEXT_MLP
from analysis.figures.training.lazy_to_rich import LAZY_TO_RICH
from analysis.figures.training.one_third import ONE_THIRD
from analysis.figures.training.power_laws import POWER_LAWS
from analysis.figures.training.rates import RATES
from analysis.figures.training.ridge import RIDGE
from analysis.figures.training.samples import SAMPLE_FIGURES
from analysis.figures.training.variance_limit import VARIANCE_LIMIT

TRAINING_FIGURES = [
    RATES, BALANCE, EDGE, ONE_THIRD, DEEP_LINEAR, LAZY_TO_RICH, POWER_LAWS, RIDGE, FLUCTUATIONS, VARIANCE_LIMIT, *SAMPLE_FIGURES,
    IN_CONTEXT, IN_CONTEXT_MLP, DENOISING,
]  # fmt: skip
