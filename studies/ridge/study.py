"""Ridge regression."""

from analysis.study import Study

STUDY = Study(
    title="Ridge regression",
    shows="kernel regression learns step by step",
    source="[Simon21], [Canatar21], [Bordelon20]",
    order=100,
    grids=("ridge_quick", "ridge"),
    evidence=("ridge_quick",),
    pictures={"ridge": ("RidgeCurves",)},
)
