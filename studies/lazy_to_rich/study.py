"""Grokking from lazy to rich."""

from analysis.study import Study

STUDY = Study(
    title="Grokking from lazy to rich",
    shows="lazy networks generalise late",
    source="[Kumar23]",
    order=80,
    grids=("lazy_to_rich_quick", "lazy_to_rich"),
    evidence=("lazy_to_rich_quick",),
    pictures={"lazy-to-rich": ("LazyToRich",)},
)
