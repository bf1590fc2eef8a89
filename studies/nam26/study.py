"""[Nam26]: how rich training was, apart from how well networks represent."""

from analysis.study import Page, Study

STUDY = Study(
    title="How rich training was",
    shows="D_LR measures richness without reference to accuracy or to an initial network",
    source="[Nam26]",
    tag="Nam26",
    paper="Nam et al. 2026, Decoupling dynamical richness from representation learning",
    came_out=(
        "D_LR orders networks from rich to lazy on a label code, on clusters and as x + y mod 13 groks, where norms do "
        "not on clusters; our small networks on digits do not reach the rich end of the paper's residual ones."
    ),
    order=3,
    grids=("richness", "richness_codes"),
    needs=("tong25",),
    meanings={
        "d_lr": "0: features vary along the outputs alone, as in the richest training; near 1: outputs use weak features",
        "d_lr_test": "the same on examples that training did not show",
        "d_lr_proj": "the same for the span of the outputs [Nam26 Eq. 4]",
        "s_init": "1: features have not changed since initialisation",
        "d_eff_rho": "directions along which features vary; in the richest training as many as outputs, two for one output",
        "d_eff_util": "directions that the output uses",
        "pi_hat_C": "height of the output's curve at the dashed line; 1 in the richest training",
        "pi_target_C": "height of the target's curve there; 1: the leading eigenfunctions suffice for the target",
        "const_overlap": "above 0.95 the first eigenfunction is the constant, which effective dimensions leave out",
        "nc1": "0: features of a class are a single point",
    },
    pages=(
        Page(
            name="richness",
            title="Richness",
            meaning="How rich one network is: the spectrum of its features, D_LR, and both along training",
            saved="richness",
            networks="networks whose grid has `save: [richness]`",
            grid="richness",
            takes="half a minute",
        ),
    ),
    evidence=(
        "richness",
        "richness_codes",
        "richness_grokking",
        "richness_grokking_tokens",
        "richness_decay",
        "richness_symbols",
        "richness_transition",
        "richness_spectra",
        "richness_linear",
        "richness_conv",
    ),
    pictures={
        "codes": ("Codes richness_codes",),
        "richness": ("Richness richness_symbols",),
        "linear": ("Linear richness_linear",),
        "nc1": ("NC1 richness_codes",),
    },
)
