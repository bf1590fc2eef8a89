"""How much of a linear target a few examples teach."""

from analysis.study import Along, Case, Study

LEAST_SQUARES = {"task": "hermite", "degree": 1, "network": "linear1"}

STUDY = Study(
    title="Least squares with few examples",
    shows="P examples in d dimensions leave the share 1 - P/d",
    grids=("my_law", "my_law_full"),  # the quick one first
    figures=(
        Along(
            "MyLaw",
            metric="test_mse",
            x="P",
            title="Test error of least squares against the number of examples",
            cases=(Case("least squares", LEAST_SQUARES, by="d", theory="error"),),
        ),
    ),
)
