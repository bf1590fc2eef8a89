"""[Nam26]: how rich training was, apart from how well networks represent."""

from analysis.study import Study

STUDY = Study(
    title="How rich training was",
    shows="D_LR measures richness without reference to accuracy or to an initial network",
    source="[Nam26]",
    tag="Nam26",
    paper="Nam et al. 2026, Decoupling dynamical richness from representation learning",
    order=3,
    grids=("richness", "richness_codes"),
    needs=("tong25",),
)
