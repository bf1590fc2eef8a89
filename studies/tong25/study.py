"""[Tong25]: rich networks learn same and different, lazy ones need L ~ d^2 symbols."""

from analysis.study import Page, Study

from .paper import SETTINGS

STUDY = Study(
    title="Equality",
    shows="rich networks learn same and different from few symbols, lazy ones need some d^2 of them",
    source="[Tong25]",
    tag="Tong25",
    paper="Tong & Pehlevan 2025, Learning richness modulates equality reasoning in neural networks",
    came_out=(
        "rich networks learn from few symbols, at any input dimension; at gamma = 1 they err 1.4 times as often as Eq. 3 "
        "says with 3 symbols, 1.9 times with 5, 6.6 times with 8. Lazy ones need more symbols the larger d, with an "
        "exponent near 1.1 over these d, where the bound is 2. Richer is not always better: not on PSVRT at gamma = 0.1, "
        "nor in much noise."
    ),
    order=1,
    grids=("quick", "psvrt_quick", "pentomino_quick", "lstar_quick", "acceptance", "acceptance_images", "eq3"),
    settings=SETTINGS,
    first={"same_different": {"gamma_label": "1", "L": 32}},  # the network of Fig. 1a
    labels=dict.fromkeys(SETTINGS, ("same", "different")),
    pages=(
        Page(
            name="dimension",
            title="Dimension",
            meaning="Accuracy over L and d, the L that suffices and its exponent",
            where={"chains": None},
            varying=("L", "d"),
            networks="networks of one task at two numbers of training symbols L and two input dimensions d, three for an "
            "exponent",
            others="an exponent takes three values of d: `fig1e_lazy` (lazy) and `fig1b_rich` (rich) train more",
            grid="quick",
            takes="a quarter of an hour",
        ),
        Page(
            name="noise",
            title="Noise",
            meaning="Noisy symbols beside the Bayes classifiers",
            where={"sigma2": {"above": 0}},
            varying=("L",),
            networks="networks with noisy symbols (sigma2 above 0) at two numbers of training symbols L",
            others="`fig2` trains more",
            grid="quick",
            takes="a quarter of an hour",
        ),
    ),
    evidence=(
        "authors",
        "eq3",
        "acceptance",
        "acceptance_images",
        "lstar_measures gamma=lazy",
        "figc3",
        "quick",
        "lstar_quick",
        "figa1",
        "figf1",
        "fig1c_1f L=16",
        "fig1c_1f d=256 L=2,4,8,16,32,64,128,256",
        "fig2 sigma2=1,2 L=4,16,64,512,4096 gamma=lazy,0.1,1 seed=range(3)",
        "fig2 sigma2=4 L=4,16,64,512,4096 gamma=lazy,0.1,1 seed=range(6)",
        "fig3e",
        "fig3f L=16 patches=2,4,8 gamma=lazy,0.1,1 seed=range(3)",
        "fig3b",
        "fig3c",
    ),
    pictures={
        "lstar": ("Lstar lstar-quick",),
        "looks": ("Looks lstar-measures",),
        "order": ("Order",),
        "errors": ("Errors eq3-errors",),
        "noise": ("Noise fig2",),
    },
)
