"""[Boix23]: relations on symbols never seen, and copying."""

from analysis.study import Study

STUDY = Study(
    title="Relations on strings of templates",
    shows="transformers learn relations on symbols they never saw; identities in attention make it cheap",
    source="[Boix23]",
    tag="Boix23",
    paper="Boix-Adsera et al. 2023, When can transformers reason with abstract symbols?",
    order=4,
    grids=("templates_quick", "templates_more"),
)
