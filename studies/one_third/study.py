"""The one-third law."""

from analysis.study import Along, Case, Study

AT_ONE = {"task": "halfspace", "batch": 256, "base_lr": 1.0}

STUDY = Study(
    title="The one-third law",
    shows="cross entropy falls as t^(-1/3)",
    order=40,
    grids=("one_third_quick", "one_third"),
    figures=(
        Along(
            "OneThird",
            "train_loss",
            x="base_lr * step",
            x_title="t = rate x steps",
            slopes_from=100,
            title="The one-third law: cross entropy where inputs lie at the boundary between labels, and where they do not",
            cases=(
                Case("cross entropy", AT_ONE | {"margin": 0.0}, by="d", theory="loss"),
                Case("cross entropy, margin 0.5", AT_ONE | {"margin": 0.5}, by="d", theory="loss"),
                Case("squared error", {"task": "halfspace", "batch": 256, "margin": 0.0, "loss": "mse"}),
            ),
        ),
    ),
    evidence=("one_third_quick",),
    pictures={"one-third": ("OneThird",)},
)
