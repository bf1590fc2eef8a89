"""[Rubin25]: at which sizes networks at equilibrium learn features."""

from analysis.study import Page, Study

STUDY = Study(
    title="The curse of detail",
    shows="how many samples feature learning needs, by the pattern of least energy",
    source="[Rubin25]",
    tag="Rubin25",
    paper="Rubin et al. 2025, Mitigating the curse of detail: scaling arguments for feature learning and sample complexity",
    came_out=(
        "the samples that convolutional networks need grow more slowly with d than lazy theory says, and heads specialise; "
        "three layers of width 512 do not as theory says, and the rest is open: few of the networks mix at these sizes, "
        "fewer than six where a verdict would be made."
    ),
    order=2,
    grids=(
        "nstar_he3_quick",
        "overlaps_he3_quick",
        "parity_quick",
        "layers_he3_quick",
        "attention_quick",
        "nstar_cnn",
        "nstar_ridge_quick",
        "mean_field_quick",
        "nstar_he3",
    ),  # fmt: skip,
    levels={"alignment_f": 0.1},  # where networks begin to learn: nstar_he3_quick searches for it and says why
    pages=(
        Page(
            name="specialisation",
            title="Specialisation",
            meaning="At equilibrium: which pattern of feature learning wins, and neurons that turn to the target",
            where={"chains": {"above": 0}},
            networks="networks at equilibrium, drawn from the posterior of their weights",
            grid="overlaps_he3_quick",
            takes="two minutes",
        ),
    ),
    evidence=(
        "nstar_he3_quick",
        "nstar_ridge_quick",
        "mean_field_quick",
        "parity_quick",
        "layers_he3_quick",
        "nstar_cnn",
        "attention_quick",
        "attention_quick seed=range(8) --only d=6,12",
        "attention_quick seed=range(10) --only d=6,12 --only context=16",
    ),
    pictures={
        "nstar": ("Nstar nstar-he3-quick",),
        "collapse": ("Collapse nstar-he3-quick",),
        "layers": ("Layers layers-he3-quick",),
        "attention": ("Attention attention-quick",),
        "neurons": ("Outliers nstar-he3-quick", "Magnitude parity-quick"),
    },
)
