"""The figure of two-layer linear networks from lazy to rich, beside their closed form
(studies/nam26/theory/two_layer_linear.py)."""

from analysis.charts.curves import Look
from analysis.figures.drawn import Figure

from ...tong25.figures.curves import CurveFigure

_CURVES = CurveFigure(
    Look("gamma", "d", log_x=True, residual=True), "d_lr", {"task": "linear", "activation": "linear"}, "true",
    along=("width", "init_scale"),
)  # fmt: skip

LINEAR = Figure(
    "Linear", "Two-layer linear networks: D_LR from lazy to rich, beside its closed form", "docs/science/richness.md",
    ("richness_linear",), _CURVES.draw,
)  # fmt: skip
