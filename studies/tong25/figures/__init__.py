"""Figures of same-different on symbols and images [Tong25]."""

from .curves import CURVE_FIGURES
from .errors import ERROR_FIGURES
from .laws import LAW_FIGURES
from .looks import LOOK_FIGURES
from .maps import MAP_FIGURES
from .max_margin import MAX_MARGIN_FIGURES
from .noisy import NOISE_FIGURES
from .order import ORDER_FIGURES
from .seen import SEEN_FIGURES
from .structure import STRUCTURE_FIGURES

FIGURES = (
    *STRUCTURE_FIGURES, *MAP_FIGURES, *CURVE_FIGURES, *SEEN_FIGURES, *MAX_MARGIN_FIGURES, *LAW_FIGURES, *LOOK_FIGURES,
    *ORDER_FIGURES, *ERROR_FIGURES, *NOISE_FIGURES,
)  # fmt: skip
