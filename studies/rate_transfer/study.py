"""Rates and sizes."""

from analysis.study import Study

STUDY = Study(
    title="Rates and sizes",
    shows="rates carry over in width and depth",
    source="[Yang22], [Bordelon24]",
    order=10,
    grids=("rate_transfer_quick", "rate_transfer"),
    evidence=(
        "rate_transfer_quick",
        "rate_transfer_quick seed=range(10) --only network=residual",
    ),
    pictures={"rates": ("Rates",)},
)
