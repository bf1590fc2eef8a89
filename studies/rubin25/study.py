"""[Rubin25]: at which sizes networks at equilibrium learn features."""

from analysis.study import Study

STUDY = Study(
    title="The curse of detail",
    shows="how many samples feature learning needs, by the pattern of least energy",
    source="[Rubin25]",
    tag="Rubin25",
    paper="Rubin et al. 2025, Mitigating the curse of detail: scaling arguments for feature learning and sample complexity",
    order=2,
    grids=("nstar_he3_quick", "nstar_he3"),
)
