"""The edge of stability."""

from analysis.study import Along, Case, Study

STUDY = Study(
    title="The edge of stability",
    shows="the edge of stability",
    source="[Cohen21]",
    order=30,
    grids=("edge_of_stability_quick", "edge_of_stability"),
    figures=(
        Along(
            "Edge",
            "curve_edge",
            y_title="sharpness / stable sharpness",
            level=1.0,
            panels=True,
            title="The edge of stability: sharpness rises to what the learning rate allows, and stays",
            cases=(
                Case("gradient descent", {"training": "gd", "parametrisation": "standard"}, by="base_lr"),
                Case("momentum 0.5", {"training": "sgd", "momentum": 0.5, "parametrisation": "standard"}, by="base_lr"),
            ),
        ),
    ),
    evidence=(
        "edge_of_stability_quick",
        "edge_of_stability_quick seed=range(12) --only base_lr=0.2",
        "edge_of_stability --only momentum=0.5 --only base_lr=0.3,0.4",
    ),
    pictures={"edge": ("Edge",)},
)
