"""Power laws."""

from analysis.study import Study

STUDY = Study(
    title="Power laws",
    shows="errors fall as powers of time, features, examples, compute",
    source="[Bordelon24b], [Bordelon25]",
    order=90,
    grids=("power_law_quick", "power_law"),
    evidence=("power_law_quick",),
    pictures={"power-laws": ("PowerLaws power-law-quick",)},
)
