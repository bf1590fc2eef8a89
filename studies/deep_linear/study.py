"""Deep linear networks."""

from analysis.study import Study

STUDY = Study(
    title="Deep linear networks",
    shows="deep linear networks learn a mode at a time",
    source="[Saxe14], [Atanasov22]",
    order=50,
    grids=("deep_linear_quick", "deep_linear"),
    evidence=("deep_linear_quick",),
    pictures={"deep-linear": ("DeepLinear",)},
)
