"""Samples and leaps."""

from analysis.study import Study

STUDY = Study(
    title="Samples and leaps",
    shows="samples grow with the leap of the target",
    order=70,
    grids=("samples_quick", "samples"),
    needs=("rubin25",),
    evidence=("samples_quick",),
    pictures={"leaps": ("Leaps",), "samples": ("Samples",)},
)
