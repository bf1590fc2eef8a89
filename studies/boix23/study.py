"""[Boix23]: relations on symbols never seen, and copying."""

from analysis.study import Page, Study

STUDY = Study(
    title="Relations on strings of templates",
    shows="transformers learn relations on symbols they never saw; identities in attention make it cheap",
    source="[Boix23]",
    tag="Boix23",
    paper="Boix-Adsera et al. 2023, When can transformers reason with abstract symbols?",
    came_out=(
        "transformers learn templates on symbols that they never saw. Identities lower the strings that this takes "
        "24-fold where they learn at 30 times the rate of the weights, which was fitted; at the rate that the text names "
        "5.8-fold, less than the 8 stated, and copying fails."
    ),
    order=4,
    grids=("templates_quick", "templates_more"),
    pages=(
        Page(
            name="relations",
            title="Relations",
            meaning="Strings of templates: how many each network needs to tell relations on symbols it never saw",
            where={"task": ["template", "symbolic_template"]},
            varying=("P",),
            networks="networks on strings of templates (task `template` or `symbolic_template`) at two numbers of training "
            "strings P",
            grid="templates_quick",
            takes="an hour",
        ),
    ),
    evidence=(
        "templates_quick",
        "templates_quick seed=range(12) --only network=one_hot",
        "templates_more",
        "templates_more seed=range(6) --only network=rnn,lstm",
        "templates_more seed=range(6) --only task=symbolic_template --only identity_vo=True --only P=16",
        "templates_rate",
        "templates_more seed=range(48) --only template=copy --only embedding=256 --only identity_vo=True --only P=16",
        "templates_more seed=range(16) "
        "--only template=aba/abb --only network=transformer --only attention_init=gaussian --only identity_qk=True",
        "templates_more seed=range(8) "
        "--only template=aba/abb --only network=transformer --only attention_init=gaussian --only identity_qk=False "
        "--only base_lr=0.001",
    ),
    pictures={"relations": ("Relations",)},
)
