"""Spread over initial weights."""

from analysis.study import Study

STUDY = Study(
    title="Spread over initial weights",
    shows="outputs vary as 1/width",
    source="[Bordelon23]",
    order=130,
    grids=("fluctuations_quick", "fluctuations"),
    evidence=("fluctuations_quick",),
    pictures={"fluctuations": ("Fluctuations",)},
)
