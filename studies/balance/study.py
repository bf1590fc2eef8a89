"""Conservation."""

from analysis.study import Along, Case, Study

STUDY = Study(
    title="Conservation",
    shows="balances are conserved",
    source="[Du18]",
    order=20,
    grids=("balance_quick", "balance"),
    figures=(
        Along(
            "Balance",
            "balance_drift",
            x="base_lr",
            x_title="learning rate, at one product of rate and steps",
            y_title="largest drift of a neuron's balance",
            slopes_from=0,
            guide=1,
            title="Conserved balances: their drift is proportional to the rate of SGD",
            cases=(
                Case("SGD, gamma = 1", {"task": "same_different", "gamma": 1.0}, ("steps",)),
                Case("SGD, gamma = 0.1", {"task": "same_different", "gamma": 0.1}, ("steps",)),
                Case("gradient descent, three hidden layers", {"task": "clusters", "training": "gd"}, ("steps",)),
                Case("Adam, three hidden layers", {"task": "clusters", "training": "adam"}, ("steps",)),
            ),
        ),
    ),
    evidence=("balance_quick",),
    pictures={"balance": ("Balance",)},
)
