"""The edge of stability."""

from analysis.study import Study

STUDY = Study(
    title="The edge of stability",
    shows="the edge of stability",
    source="[Cohen21]",
    order=30,
    grids=("edge_of_stability_quick", "edge_of_stability"),
    evidence=(
        "edge_of_stability_quick",
        "edge_of_stability --only momentum=0.5 --only base_lr=0.3,0.4",
    ),
    pictures={"edge": ("Edge",)},
)
