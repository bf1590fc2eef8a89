"""The edge of stability."""

from analysis.study import Study

STUDY = Study(
    title="The edge of stability",
    shows="the edge of stability",
    source="[Cohen21]",
    order=30,
    grids=("edge_of_stability_quick", "edge_of_stability"),
)
