"""Conservation."""

from analysis.study import Study

STUDY = Study(
    title="Conservation",
    shows="balances are conserved",
    source="[Du18]",
    order=20,
    grids=("balance_quick", "balance"),
    evidence=("balance_quick",),
    pictures={"balance": ("Balance",)},
)
