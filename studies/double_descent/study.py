"""Test error of linear regression rises to P = d and falls beyond; a ridge tames it."""

from analysis.study import Along, Case, Study

MISFIT = {"task": "hermite", "degree": 2, "network": "linear1"}
SIGNAL = {"task": "staircase", "degree": 2, "network": "linear1", "d": 64}

STUDY = Study(
    title="Double descent of linear regression",
    shows="the test error peaks where there are as many examples as inputs; a ridge tames the peak",
    source="[Hastie22], [Simon21]",
    order=140,
    grids=("double_descent", "double_descent_full"),  # the quick one first
    evidence=("double_descent",),
    pictures={"double-descent": ("DoubleDescent",)},
    figures=(
        Along(
            "DoubleDescent",
            metric="test_mse",
            x="P",
            panels=True,
            title="Test error of linear regression against the number of examples",
            cases=(
                Case("no ridge", {**MISFIT, "ridge": 1e-9}, by="d", theory="no_ridge"),
                Case("a ridge, d = 64", {**MISFIT, "d": 64, "ridge": [1, 10]}, by="ridge", theory="with_ridge"),
                Case("half the target is linear, d = 64", SIGNAL, by="ridge", theory="with_signal"),
            ),
        ),
    ),
)
