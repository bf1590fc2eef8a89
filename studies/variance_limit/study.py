"""The onset of variance."""

from analysis.study import Study

STUDY = Study(
    title="The onset of variance",
    shows="narrow networks fall behind wide ones as examples grow",
    source="[Atanasov23]",
    order=140,
    grids=("variance_limit_quick", "variance_limit"),
    needs=("fluctuations",),
    evidence=("variance_limit_quick",),
    pictures={"variance-limit": ("VarianceLimit",), "onset-powers": ("OnsetPowers",)},
)
