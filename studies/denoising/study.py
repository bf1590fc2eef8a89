"""Linear denoisers."""

from analysis.study import Study

STUDY = Study(
    title="Linear denoisers",
    shows="linear denoisers learn by variance and noise",
    source="derived here, [Saxe14]",
    order=60,
    grids=("denoising_quick", "denoising"),
    needs=("deep_linear",),
    evidence=("denoising_quick",),
    pictures={"denoising": ("Denoising",)},
)
