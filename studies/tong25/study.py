"""[Tong25]: rich networks learn same and different, lazy ones need L ~ d^2 symbols."""

from analysis.study import Study

STUDY = Study(
    title="Equality",
    shows="rich networks learn same and different from few symbols, lazy ones need some d^2 of them",
    source="[Tong25]",
    tag="Tong25",
    paper="Tong & Pehlevan 2025, Learning richness modulates equality reasoning in neural networks",
    order=1,
    grids=("quick", "eq3"),
)
